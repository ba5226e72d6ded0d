"""An independent STAMP Session-Sender (RFC 8762, with the session identifier and TLVs of RFC 8972), from the RFCs
alone and with Python's standard library alone.

Sends packets one by one and prints, as JSON, every field of every answer, with what must hold of it.

    stamp_sender.py HOST PORT [--key-file FILE] [--count N] [--ssid N] [--ttl N] [--spoil WHAT] [--tlvs]
"""

import argparse
import hashlib
import hmac
import json
import socket
import struct
import time

NTP_TO_UNIX = 2_208_988_800
PADDING, UNKNOWN = 1, 200


def ntp(unix_ns):
    seconds, rest = divmod(unix_ns, 1_000_000_000)
    return struct.pack("!II", seconds + NTP_TO_UNIX, (rest << 32) // 1_000_000_000)


def unix_ns(timestamp):
    seconds, fraction = struct.unpack("!II", timestamp)
    return (seconds - NTP_TO_UNIX) * 1_000_000_000 + (fraction * 1_000_000_000 >> 32)


def mac(key, covered):
    return hmac.new(key, covered, hashlib.sha256).digest()[:16]


def request(sequence, timestamp, error, ssid, key):
    if key is None:
        return struct.pack("!I8sHH28x", sequence, timestamp, error, ssid)
    covered = struct.pack("!I12x8sHH68x", sequence, timestamp, error, ssid)
    assert len(covered) == 96
    return covered + mac(key, covered)


def parse(reply, key):
    """Sections 4.3.1 and 4.3.2 of RFC 8762; where they say MBZ, what is there must be zero."""
    if key is None:
        fields = struct.unpack("!I8sHH8sI8sH2sB3s", reply[:44])
        zeros = fields[8] + fields[10]
        sequence, sent, error, ssid, received, their, theirs, their_error, _, ttl, _ = fields
    else:
        fields = struct.unpack("!I12s8sHH4s8s8sI12s8sH6sB15s16s", reply[:112])
        zeros = fields[1] + fields[5] + fields[7] + fields[9] + fields[12] + fields[14]
        sequence, _, sent, error, ssid, _, received, _, their, _, theirs, their_error, _, ttl, _, _ = fields
    return {
        "sequence": sequence,
        "sent_ns": unix_ns(sent),
        "error_synchronised": error >> 15,
        "error_is_ptp": error >> 14 & 1,
        "error_multiplier": error & 0xFF,
        "ssid": ssid,
        "received_ns": unix_ns(received),
        "sender_sequence": their,
        "sender_timestamp": theirs.hex(),
        "sender_error": their_error,
        "sender_ttl": ttl,
        "zeros_are_zero": not any(zeros),
        "hmac_is_right": key is None or hmac.compare_digest(reply[96:112], mac(key, reply[:96])),
    }


def parse_tlvs(rest):
    tlvs = []
    while rest:
        flags, kind, length = struct.unpack("!BBH", rest[:4])
        tlvs.append({"flags": flags, "type": kind, "value": rest[4 : 4 + length].hex()})
        rest = rest[4 + length :]
    return tlvs


def spoil(packet, what):
    if what == "hmac":
        return packet[:-1] + bytes([packet[-1] ^ 1])
    if what == "covered":
        return bytes([packet[0] ^ 0x80]) + packet[1:]
    if what == "short":
        return packet[:-1]
    return packet


def main():
    options = argparse.ArgumentParser()
    options.add_argument("host")
    options.add_argument("port", type=int)
    options.add_argument("--key-file")
    options.add_argument("--count", type=int, default=5)
    options.add_argument("--ssid", type=int, default=0)
    options.add_argument("--ttl", type=int, default=255)
    options.add_argument("--spoil", default="")
    options.add_argument("--tlvs", action="store_true")
    given = options.parse_args()
    key = open(given.key_file, "rb").read().strip() if given.key_file else None

    family = socket.AF_INET6 if ":" in given.host else socket.AF_INET
    sender = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, given.ttl)
    else:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, given.ttl)
    sender.connect((given.host, given.port))
    sender.settimeout(0.3 if given.spoil else 3)

    base = 44 if key is None else 112
    answers = []
    for number in range(given.count):
        # Numbers near the wrap, a clock that claims to be synchronised within 5 * 2^-20 s.
        sequence = (0xFFFF_FFFE + number) & 0xFFFF_FFFF
        error = 1 << 15 | 12 << 8 | 5
        before = time.time_ns()
        timestamp = ntp(before)
        packet = spoil(request(sequence, timestamp, error, given.ssid, key), given.spoil)
        if given.tlvs:
            # A sender sets U (0x80) in all; a reflector clears it in those that it knows.
            packet += struct.pack("!BBH", 0x80, UNKNOWN, 6) + b"abcdef"
            packet += struct.pack("!BBH", 0x80, PADDING, 30) + bytes(30)
        sender.send(packet)
        try:
            reply = sender.recv(65536)
        except (TimeoutError, ConnectionRefusedError):
            continue
        after = time.time_ns()
        answer = parse(reply, key)
        answer |= {
            "length": len(reply),
            "length_asked": len(packet),
            "sequence_asked": sequence,
            "timestamp_asked": timestamp.hex(),
            "error_asked": error,
            # All on one host, so on one clock; NTP's fraction loses less than a nanosecond.
            "times_are_in_order": before - 1 <= answer["received_ns"] <= answer["sent_ns"] + 1 <= after + 2,
            "tlvs": parse_tlvs(reply[base:]),
        }
        answers.append(answer)
    print(json.dumps(answers))


main()
