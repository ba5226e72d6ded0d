#!/usr/bin/env python3
"""Test vectors for weir-wire, computed without weir-wire.

Python's standard library only (struct, hmac, hashlib); SipHash-2-4, X25519, HKDF and ChaCha20-Poly1305 are written here
from their paper and RFCs. Written from docs/wire-protocol.md. Run it in its folder to make the vectors again:

    python3 make_vectors.py > vectors.txt

Each line of the output is a name, a blank, and hexadecimal bytes (or, for spreads, decimal flow numbers).
"""

import hashlib
import hmac
import struct

MASK = (1 << 64) - 1


def rotate(value, by):
    return ((value << by) | (value >> (64 - by))) & MASK


def siphash_2_4(key, data):
    """Aumasson and Bernstein, "SipHash: a fast short-input PRF", section 2.2 to 2.4."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]

    def sip_round():
        v[0] = (v[0] + v[1]) & MASK
        v[1] = rotate(v[1], 13) ^ v[0]
        v[0] = rotate(v[0], 32)
        v[2] = (v[2] + v[3]) & MASK
        v[3] = rotate(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & MASK
        v[3] = rotate(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & MASK
        v[1] = rotate(v[1], 17) ^ v[2]
        v[2] = rotate(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        sip_round()
        sip_round()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        sip_round()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


# Appendix A of the paper.
assert siphash_2_4(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def emit(name, data):
    print(name, data.hex())


# UDP headers

UDP_KEY = bytes(range(0x10, 0x20))
SESSION = 0x1122334455667788


def udp(kind, fields):
    covered = struct.pack(">HBBQ", 0x5745, 2, kind, SESSION) + fields
    return covered + struct.pack(">Q", siphash_2_4(UDP_KEY, covered))


def udp_packets():
    rtt = (0xFFFFFFFE, 70000, 49, 50, 8100, 0)
    sent = 1767225600123456789
    emit(
        "rtt-request",
        udp(1, struct.pack(">IIHHHBBQQQQI", *rtt, 0, sent, 0, 0, 0, 0)),
    )
    emit(
        "rtt-reply",
        udp(2, struct.pack(">IIHHHBBQQQQI", *rtt, 57, sent, sent + 1, sent + 20, sent + 300, 4000)),
    )
    emit("flow-data", udp(3, struct.pack(">IIHHIIQ", 4000000000, 12345, 63, 1, 77, 5184000, sent)))
    emit("hello", udp(4, struct.pack(">HHQ", 513, 0, 0xA1B2C3D4E5F60718)))
    emit("hello-ack", udp(5, struct.pack(">HHQ", 513, 0, 0xA1B2C3D4E5F60718)))
    emit("mtu-probe", udp(6, struct.pack(">IIIQ", 9, 8973, 0, sent)))
    emit("mtu-ack", udp(7, struct.pack(">IIIQ", 9, 8973, 0, sent)))


# X25519, RFC 7748 section 5

PRIME = 2**255 - 19


def x25519(scalar, coordinate):
    k = int.from_bytes(scalar, "little") & ~7 & ~(128 << 248) | (64 << 248)
    x1 = int.from_bytes(coordinate, "little") & (2**255 - 1)
    x2, z2, x3, z3, swap = 1, 0, x1, 1, 0
    for t in range(254, -1, -1):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb, aa, bb = d * a, c * b, a * a, b * b
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % PRIME, x1 * (da - cb) ** 2 % PRIME
        x2, z2 = aa * bb % PRIME, e * (aa + 121665 * e) % PRIME
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little")


BASE = (9).to_bytes(32, "little")
# Section 5.2, after one iteration.
assert x25519(BASE, BASE).hex() == "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"


# HKDF, RFC 5869 and RFC 8446 section 7.1


def extract(salt, secret):
    return mac(salt, secret)


def expand(secret, label, context=b"", length=32):
    label = b"weir2 " + label
    info = struct.pack(">HB", length, len(label)) + label + bytes([len(context)]) + context
    assert length <= 32
    return mac(secret, info, b"\x01")[:length]


# ChaCha20-Poly1305, RFC 8439

MASK32 = (1 << 32) - 1


def chacha20_block(key, counter, nonce):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    start += struct.unpack("<8I", key) + (counter,) + struct.unpack("<3I", nonce)
    v = list(start)

    def turn(value, by):
        return (value << by | value >> (32 - by)) & MASK32

    def quarter(a, b, c, d):
        for x, y, z, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            v[x] = (v[x] + v[y]) & MASK32
            v[z] = turn(v[z] ^ v[x], by)

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        quarter(0, 5, 10, 15)
        quarter(1, 6, 11, 12)
        quarter(2, 7, 8, 13)
        quarter(3, 4, 9, 14)
    return struct.pack("<16I", *((x + y) & MASK32 for x, y in zip(v, start)))


def chacha20_poly1305(key, nonce, aad, text):
    sealed = b""
    for at in range(0, len(text), 64):
        stream = chacha20_block(key, 1 + at // 64, nonce)
        sealed += bytes(x ^ y for x, y in zip(text[at : at + 64], stream))
    one_time = chacha20_block(key, 0, nonce)
    r = int.from_bytes(one_time[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    parts = (aad, sealed)
    covered = b"".join(part + bytes(-len(part) % 16) for part in parts)
    covered += struct.pack("<QQ", *map(len, parts))
    for at in range(0, len(covered), 16):
        total = (total + int.from_bytes(covered[at : at + 16] + b"\x01", "little")) * r % (2**130 - 5)
    tag = (total + int.from_bytes(one_time[16:32], "little")) & ((1 << 128) - 1)
    return sealed, tag.to_bytes(16, "little")


# Section 2.8.2.
assert (
    chacha20_poly1305(
        bytes(range(0x80, 0xA0)),
        bytes.fromhex("070000004041424344454647"),
        bytes.fromhex("50515253c0c1c2c3c4c5c6c7"),
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
        b"sunscreen would be it.",
    )[1].hex()
    == "1ae10b594f09e26a7e902ecbd0600691"
)


# Media packets, with ChaCha20-Poly1305

SENDER_SECRET = bytes(range(0x20, 0x40))
RECEIVER_SECRET = bytes(range(0x60, 0x80))
PAYLOAD = b"the payload of a source packet, or a repair symbol"


def seal(secret, lane, number, context, payload):
    iv = expand(secret, b"iv", length=12)
    nonce = bytes(x ^ y for x, y in zip(iv, struct.pack(">B3xQ", lane, number)))
    return chacha20_poly1305(expand(secret, b"key"), nonce, context, payload)


def header_tag(secret, covered):
    return struct.pack(">Q", siphash_2_4(expand(secret, b"header", length=16), covered))


def media_packets():
    def start(kind):
        return struct.pack(">HBBQ", 0x5745, 2, kind, SESSION)

    sent, symbol, session = 1767225600123456789, 4000000000, struct.pack(">Q", SESSION)
    framing = struct.pack(">IIIHHQ", 77, 5176000, 5184000, 2, 3, 1284616666)
    sealed, tag = seal(SENDER_SECRET, 0, symbol, session + framing, PAYLOAD)
    header = start(8) + struct.pack(">IIHBBQ", symbol, 12345, 15, 1, 0, sent) + framing + tag
    emit("media-data", header + header_tag(SENDER_SECRET, header) + sealed)

    payload_id = struct.pack(">HHI", 0xBEEF, 0xF060, 3999999904)
    sealed, tag = seal(SENDER_SECRET, 1, 500, session + payload_id, PAYLOAD)
    header = start(9) + struct.pack(">IHBBQ8sI", 12346, 14, 0, 0, sent, payload_id, 500) + tag
    emit("media-repair", header + header_tag(SENDER_SECRET, header) + sealed)

    counts = (3999999990, 4000000, 10, 1)
    flows = ((12345, 7, 120), (12340, 0, 0xFFFFFFFF))
    ranges = ((3999999995, 2), (4000000010, 1))
    content = struct.pack(
        ">IIIIIQIHHI", 4000000020, *counts, sent, 250000, len(flows), len(ranges), 5
    )
    content += b"".join(struct.pack(">III", *flow) for flow in flows)
    content += b"".join(struct.pack(">IH", *missing) for missing in ranges)
    context = start(10) + struct.pack(">I", 41)
    sealed, tag = seal(RECEIVER_SECRET, 2, 41, context, content)
    covered = context + bytes(4) + sealed + tag
    emit("media-feedback", covered + header_tag(RECEIVER_SECRET, covered))

    second = expand(SENDER_SECRET, b"next epoch")
    sealed, tag = seal(second, 0, 1, b"context", PAYLOAD)
    emit("second-epoch", b"\x01" + sealed + tag + header_tag(second, b"weir"))


# Handshake

CLIENT_PRIVATE = bytes(range(0x40, 0x60))
AGENT_PRIVATE = bytes(range(0x80, 0xA0))


def handshake(name, known, purpose, session, stream, open_mode=False, protection=0):
    hello_session = session if purpose == "data" else 0
    number = {"control": 1, "data": 2}[purpose]
    client_public, agent_public = (x25519(key, BASE) for key in (CLIENT_PRIVATE, AGENT_PRIVATE))
    offer = 1 << protection
    hello = struct.pack(
        ">4sBBBBQII32s", b"WEIR", 2, number, offer, 0, hello_session, stream, 0, client_public
    )
    emit(name + "-hello", hello)
    challenge = struct.pack(">4sBBB17x32s", b"WEIR", 2, 1 if open_mode else 0, protection, agent_public)
    emit(name + "-challenge", challenge)

    early = extract(bytes(32), known)
    secret = extract(expand(early, b"derived"), x25519(CLIENT_PRIVATE, agent_public))
    messages = hello + challenge

    def finished(side):
        return mac(expand(secret, side + b" finished"), hashlib.sha256(messages).digest())

    proof = struct.pack(">32s24x", finished(b"client"))
    emit(name + "-proof", proof)
    messages += proof
    before = messages
    messages += struct.pack(">B7xQ32s8x", 0, session, bytes(32))
    welcome = struct.pack(">B7xQ32s8x", 0, session, finished(b"agent"))
    emit(name + "-welcome", welcome)
    messages = before + welcome
    master = extract(expand(secret, b"derived"), bytes(32))
    digest = hashlib.sha256(messages).digest()
    control_key = expand(master, b"control", digest)
    emit(name + "-control-key", control_key)
    udp_key = expand(master, b"udp", digest, 16)
    emit(name + "-udp-tag", struct.pack(">Q", siphash_2_4(udp_key, b"weir")))
    emit(name + "-protection", bytes([protection]))
    emit(name + "-client-media", expand(master, b"client media", digest))
    emit(name + "-agent-media", expand(master, b"agent media", digest))
    return control_key


def handshakes():
    token = b"correct horse battery staple"
    control_key = handshake("control", token, "control", SESSION, 0)
    handshake("data", expand(control_key, b"join"), "data", SESSION, 3)
    handshake("open", b"", "control", SESSION, 0, open_mode=True)
    long_token = bytes(range(200))
    handshake("long", long_token, "control", SESSION, 0, protection=4)


# Control frames


def frames():
    key = bytes(range(0xC0, 0xE0))
    for name, side, counter, payload in [
        ("frame-client-0", b"client", 0, b'{"hello":1}'),
        ("frame-client-1", b"client", 1, b""),
        ("frame-agent-0", b"agent", 0, bytes(range(256)) * 20),
    ]:
        length = struct.pack(">I", len(payload))
        secret = expand(key, side + b" frames")
        iv = expand(secret, b"iv", length=12)
        nonce = bytes(x ^ y for x, y in zip(iv, struct.pack(">4xQ", counter)))
        sealed, tag = chacha20_poly1305(expand(secret, b"key"), nonce, length, payload)
        emit(name, length + tag + sealed)


# Spread

STEP = 0x9E3779B97F4A7C15


class SplitMix64:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + STEP) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


def spreads():
    flows, seed = 11, 20260101
    random = SplitMix64(seed)
    print("spread-random", *[random.next() % flows for _ in range(44)])
    rounds = SplitMix64(seed)
    permuted = []
    for _ in range(4):
        draws = SplitMix64(rounds.next())
        order = list(range(flows))
        for place in range(flows - 1, 0, -1):
            other = draws.next() % (place + 1)
            order[place], order[other] = order[other], order[place]
        permuted += order
    print("spread-permuted", *permuted)


# STAMP

STAMP_KEY = b"stamp key of the test"
SENT = 0xE8D4A51012345678
RECEIVED = 0xE8D4A51023456789
TRANSMITTED = 0xE8D4A5103456789A
SENDER_ERROR = 0x9F2A  # S, scale 31, multiplier 42
REFLECTOR_ERROR = 0x0A05  # scale 10, multiplier 5
SEQUENCE, SSID, TTL = 0x01020304, 0xBEEF, 61


def tlv(flags, kind, value):
    return struct.pack(">BBH", flags, kind, len(value)) + value


def hmac_tlv(flags, tlvs):
    return tlv(flags, 8, mac(STAMP_KEY, struct.pack(">I", SEQUENCE), tlvs)[:16])


def authenticated(covered):
    assert len(covered) == 96
    return covered + mac(STAMP_KEY, covered)[:16]


def stamp():
    # RFC 8762 section 4.2.1, 4.3.1; SSID of RFC 8972 section 3.
    sender = struct.pack(">IQHH28x", SEQUENCE, SENT, SENDER_ERROR, SSID)
    reflector = struct.pack(
        ">IQHHQIQH2xB3x",
        SEQUENCE, TRANSMITTED, REFLECTOR_ERROR, SSID, RECEIVED, SEQUENCE, SENT, SENDER_ERROR, TTL,
    )
    assert len(sender) == len(reflector) == 44
    emit("stamp-sender", sender)
    emit("stamp-reflector", reflector)
    padding = bytes(30)
    emit("stamp-sender-padded", sender + tlv(0x80, 1, padding))
    emit("stamp-reflector-padded", reflector + tlv(0, 1, padding))
    # An unknown TLV is echoed with U, the cut one after it with U and M.
    unknown = b"\x00\x01\x02\x03\x04"
    cut = struct.pack(">BBH", 0x80, 3, 100) + b"short"
    emit("stamp-sender-tlvs", sender + tlv(0x80, 200, unknown) + cut)
    emit("stamp-reflector-tlvs", reflector + tlv(0x80, 200, unknown) + b"\xc0" + cut[1:])

    # RFC 8762 section 4.2.2, 4.3.2.
    sender = authenticated(struct.pack(">I12xQHH68x", SEQUENCE, SENT, SENDER_ERROR, SSID))
    reflector = authenticated(
        struct.pack(
            ">I12xQHH4xQ8xI12xQH6xB15x",
            SEQUENCE, TRANSMITTED, REFLECTOR_ERROR, SSID, RECEIVED, SEQUENCE, SENT, SENDER_ERROR, TTL,
        )
    )
    assert len(sender) == len(reflector) == 112
    emit("stamp-sender-auth", sender)
    emit("stamp-reflector-auth", reflector)
    # RFC 8972 section 4.8: the HMAC TLV covers the sequence number and the TLVs before it; padding may follow.
    before = tlv(0x80, 200, unknown) + tlv(0x80, 1, padding)
    emit("stamp-sender-auth-tlvs", sender + before + hmac_tlv(0x80, before) + tlv(0x80, 1, bytes(7)))
    after = tlv(0x80, 200, unknown) + tlv(0, 1, padding)
    emit("stamp-reflector-auth-tlvs", reflector + after + hmac_tlv(0, after) + tlv(0, 1, bytes(7)))
    # A wrong HMAC TLV: I in every TLV, nothing else changed but U.
    wrong = tlv(0x80, 8, bytes(16))
    emit("stamp-sender-auth-broken", sender + before + wrong)
    emit(
        "stamp-reflector-auth-broken",
        reflector + tlv(0xA0, 200, unknown) + tlv(0x20, 1, padding) + tlv(0x20, 8, bytes(16)),
    )


udp_packets()
media_packets()
handshakes()
frames()
spreads()
stamp()
