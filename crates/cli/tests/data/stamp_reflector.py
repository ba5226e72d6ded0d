"""An independent STAMP Session-Reflector (RFC 8762, with the session identifier of RFC 8972), from the RFCs alone and
with Python's standard library alone.

Prints its port, answers until it has had a number of packets, leaves chosen ones unanswered and answers others twice,
and then prints as JSON what was wrong with the requests.

    stamp_reflector.py ADDRESS COUNT SSID [--key-file FILE] [--silent-to N,N] [--twice-to N,N]
"""

import argparse
import hashlib
import hmac
import json
import socket
import struct
import time

NTP_TO_UNIX = 2_208_988_800
# Linux; Python does not name it everywhere.
IP_RECVTTL = 12


def ntp(unix_ns):
    seconds, rest = divmod(unix_ns, 1_000_000_000)
    return struct.pack("!II", seconds + NTP_TO_UNIX, (rest << 32) // 1_000_000_000)


def unix_ns(timestamp):
    seconds, fraction = struct.unpack("!II", timestamp)
    return (seconds - NTP_TO_UNIX) * 1_000_000_000 + (fraction * 1_000_000_000 >> 32)


def mac(key, covered):
    return hmac.new(key, covered, hashlib.sha256).digest()[:16]


def faults(packet, key, ssid, ttl, expected_sequence):
    """What a request does not hold of sections 4.2.1 and 4.2.2 of RFC 8762, and section 3 of RFC 8972."""
    if key is None:
        sequence, timestamp, error, found_ssid, zeros = struct.unpack("!I8sHH28s", packet[:44])
        rest = packet[44:]
    else:
        sequence, zeros, timestamp, error, found_ssid, more = struct.unpack("!I12s8sHH68s", packet[:96])
        zeros += more
        rest = packet[112:]
        if packet[96:112] != mac(key, packet[:96]):
            yield "wrong HMAC"
    if any(zeros):
        yield "bytes that must be zero are not"
    if sequence != expected_sequence:
        yield f"sequence {sequence} instead of {expected_sequence}"
    if found_ssid != ssid:
        yield f"SSID {found_ssid}"
    if not error & 0xFF:
        yield "an error estimate with a multiplier of 0"
    if abs(time.time_ns() - unix_ns(timestamp)) > 20_000_000_000:
        yield f"a time that is not now: {timestamp.hex()}"
    if ttl != 255:
        yield f"TTL {ttl} instead of 255"
    if rest:
        flags, kind, length = struct.unpack("!BBH", rest[:4])
        if kind != 1 or length != len(rest) - 4:
            yield f"no Extra Padding TLV but type {kind} of {length} bytes"


def answer(packet, key, received, ttl):
    if key is None:
        sequence, timestamp, error, ssid = struct.unpack("!I8sHH", packet[:16])
        base = struct.pack(
            "!I8sHH8sI8sHxxBxxx",
            sequence, ntp(time.time_ns()), 1, ssid, ntp(received), sequence, timestamp, error, ttl,
        )
        return base + packet[44:]
    sequence, timestamp, error, ssid = struct.unpack("!I12x8sHH", packet[:28])
    base = struct.pack(
        "!I12x8sHH4x8s8xI12x8sH6xB15x",
        sequence, ntp(time.time_ns()), 1, ssid, ntp(received), sequence, timestamp, error, ttl,
    )
    return base + mac(key, base) + packet[112:]


def numbers(text):
    return {int(number) for number in text.split(",") if number}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("address")
    options.add_argument("count", type=int)
    options.add_argument("ssid", type=int)
    options.add_argument("--key-file")
    options.add_argument("--silent-to", type=numbers, default=set())
    options.add_argument("--twice-to", type=numbers, default=set())
    given = options.parse_args()
    key = open(given.key_file, "rb").read().strip() if given.key_file else None
    base = 44 if key is None else 112

    family = socket.AF_INET6 if ":" in given.address else socket.AF_INET
    reflector = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        reflector.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
    else:
        reflector.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
    reflector.bind((given.address, 0))
    reflector.settimeout(20)
    print(reflector.getsockname()[1], flush=True)

    wrong, lengths = [], []
    for number in range(given.count):
        packet, extra, _, sender = reflector.recvmsg(65536, 64)
        received = time.time_ns()
        ttl = struct.unpack("i", extra[0][2][:4])[0]
        lengths.append(len(packet))
        if len(packet) < base:
            wrong.append(f"packet {number}: {len(packet)} bytes")
            continue
        wrong += [f"packet {number}: {fault}" for fault in faults(packet, key, given.ssid, ttl, number)]
        copies = 0 if number in given.silent_to else 2 if number in given.twice_to else 1
        for _ in range(copies):
            reflector.sendto(answer(packet, key, received, ttl), sender)
    print(json.dumps({"wrong": wrong, "shortest": min(lengths), "longest": max(lengths)}))


main()
