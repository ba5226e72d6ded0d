#!/usr/bin/env python3
"""Makes packets.txt: IP packets with the flow that each belongs to, the ICMP answer to each that is too long, and
checksums before and after their completion. It shares nothing with the Rust code: checksums are remainders of one long
integer. Run it in its folder: python3 make_packets.py > packets.txt

Lines are words, packets in hexadecimal digits:
    flow NAME SOURCE>DESTINATION/PROTOCOL/PORTS TRANSPORT-START PACKET
    big NAME MTU PACKET ANSWER-or-minus
    partial NAME START OFFSET PARTIAL-PACKET COMPLETE-PACKET
"""

import ipaddress
import struct

ROUTER4, ROUTER6 = "192.0.2.254", "2001:db8::fe"
A4, B4 = "192.0.2.1", "198.51.100.2"
A6, B6 = "2001:db8:1::1", "2001:db8:2::2"
ICMP, TCP, UDP, ESP, AH, ICMP6, NONE, SCTP, UDPLITE = 1, 6, 17, 50, 51, 58, 59, 132, 136
HOP, ROUTING, FRAGMENT, DESTINATION = 0, 43, 44, 60


def address(text):
    return ipaddress.ip_address(text).packed


def remainder(data):
    """The one's complement sum of 16-bit words is the number that they make up, modulo 65535; of anything but zeros
    it is never 0."""
    value = int.from_bytes(data + b"\0" * (len(data) % 2), "big")
    return 0 if value == 0 else (value - 1) % 65535 + 1


def checksum(data):
    return 65535 - remainder(data)


def ipv4(source, target, protocol, payload, df=False, more=False, offset=0, options=b"", tos=0, ident=7):
    words = (5 + len(options) // 4) | 0x40
    flags = (0x4000 if df else 0) | (0x2000 if more else 0) | offset
    head = struct.pack("!BBHHHBBH4s4s", words, tos, 20 + len(options) + len(payload), ident, flags, 64, protocol, 0,
                       address(source), address(target)) + options
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ipv6(source, target, following, payload):
    return struct.pack("!IHBB16s16s", 6 << 28, len(payload), following, 64, address(source), address(target)) + payload


def pseudo(source, target, protocol, length):
    if ":" in source:
        return address(source) + address(target) + struct.pack("!IxxxB", length, protocol)
    return address(source) + address(target) + struct.pack("!xBH", protocol, length)


def udp(source, target, ports, data, checksum_field=None):
    bare = struct.pack("!HHHH", *ports, 8 + len(data), 0) + data
    value = checksum(pseudo(source, target, UDP, len(bare)) + bare) or 0xFFFF
    if checksum_field is not None:
        value = checksum_field
    return bare[:6] + struct.pack("!H", value) + bare[8:]


def tcp(source, target, ports, data, checksum_field=None, options=b""):
    words = 5 + len(options) // 4
    bare = struct.pack("!HHIIBBHHH", *ports, 1000, 2000, words << 4, 0x18, 512, 0, 0) + options + data
    value = checksum(pseudo(source, target, TCP, len(bare)) + bare)
    if checksum_field is not None:
        value = checksum_field
    return bare[:16] + struct.pack("!H", value) + bare[18:]


def icmp4(kind, code, rest, data):
    bare = struct.pack("!BBHI", kind, code, 0, rest) + data
    return bare[:2] + struct.pack("!H", checksum(bare)) + bare[4:]


def icmp6(source, target, kind, code, rest, data):
    bare = struct.pack("!BBHI", kind, code, 0, rest) + data
    return bare[:2] + struct.pack("!H", checksum(pseudo(source, target, ICMP6, len(bare)) + bare)) + bare[4:]


def extension(following, words=0):
    """An options header of 8 bytes and more: PadN fills it."""
    fill = 6 + 8 * words - 2
    return struct.pack("!BBBB", following, words, 1, fill) + bytes(fill)


def fragment6(following, offset, more):
    return struct.pack("!BxHI", following, offset << 3 | more, 0x1234)


def ah(following):
    return struct.pack("!BBxxII", following, 4, 9, 1) + bytes(12)


def flow(name, packet, start, source, target, protocol, ports=None):
    ports = "{}>{}".format(*ports) if ports else "-"
    print(f"flow {name} {source}>{target}/{protocol}/{ports} {start} {packet.hex()}")


def flows():
    ports, data = (5000, 6000), b"media"
    for source, target, here in ((A4, B4, "there"), (B4, A4, "back")):
        body = udp(source, target, ports, data)
        flow(f"udp4-{here}", ipv4(source, target, UDP, body), 20, source, target, UDP, ports)
    for other in ((5000, 6001), (5001, 6000), (6000, 5000)):
        flow("udp4-{}-{}".format(*other), ipv4(A4, B4, UDP, udp(A4, B4, other, data)), 20, A4, B4, UDP, other)
    body = udp(A4, B4, ports, data)
    flow("udp4-other-host", ipv4(A4, "198.51.100.3", UDP, body), 20, A4, "198.51.100.3", UDP, ports)
    flow("udp4-options", ipv4(A4, B4, UDP, body, options=bytes([7, 7, 4, 0, 0, 0, 0, 0])), 28, A4, B4, UDP, ports)
    flow("udp4-longer", ipv4(A4, B4, UDP, udp(A4, B4, ports, bytes(500)), tos=0x28, ident=9), 20, A4, B4, UDP, ports)
    flow("tcp4", ipv4(A4, B4, TCP, tcp(A4, B4, ports, data)), 20, A4, B4, TCP, ports)
    flow("tcp4-options", ipv4(A4, B4, TCP, tcp(A4, B4, ports, b"", options=bytes([1] * 12))), 20, A4, B4, TCP, ports)
    flow("udplite4", ipv4(A4, B4, UDPLITE, body), 20, A4, B4, UDPLITE, ports)
    flow("sctp4", ipv4(A4, B4, SCTP, struct.pack("!HHII", *ports, 1, 2)), 20, A4, B4, SCTP, ports)
    flow("icmp4", ipv4(A4, B4, ICMP, icmp4(8, 0, 0x00010002, data)), 20, A4, B4, ICMP)
    flow("icmp4-later", ipv4(A4, B4, ICMP, icmp4(8, 0, 0x00010003, data)), 20, A4, B4, ICMP)
    flow("esp4", ipv4(A4, B4, ESP, bytes(range(40))), 20, A4, B4, ESP)
    flow("udp4-first-fragment", ipv4(A4, B4, UDP, udp(A4, B4, ports, bytes(992)), more=True), 20, A4, B4, UDP)
    flow("udp4-last-fragment", ipv4(A4, B4, UDP, bytes(96), offset=125), 20, A4, B4, UDP)
    flow("udp4-cut-short", ipv4(A4, B4, UDP, b"\x13\x88\x17"), 20, A4, B4, UDP)

    body = udp(A6, B6, ports, data)
    flow("udp6", ipv6(A6, B6, UDP, body), 40, A6, B6, UDP, ports)
    flow("udp6-back", ipv6(B6, A6, UDP, body), 40, B6, A6, UDP, ports)
    flow("tcp6", ipv6(A6, B6, TCP, tcp(A6, B6, ports, data)), 40, A6, B6, TCP, ports)
    flow("udp6-other-port", ipv6(A6, B6, UDP, udp(A6, B6, (5000, 6001), data)), 40, A6, B6, UDP, (5000, 6001))
    chain = extension(DESTINATION) + extension(ROUTING, 2) + extension(UDP, 1)
    flow("udp6-extensions", ipv6(A6, B6, HOP, chain + body), 40 + len(chain), A6, B6, UDP, ports)
    flow("udp6-authenticated", ipv6(A6, B6, AH, ah(UDP) + body), 64, A6, B6, UDP, ports)
    flow("udp6-atomic-fragment", ipv6(A6, B6, FRAGMENT, fragment6(UDP, 0, 0) + body), 48, A6, B6, UDP, ports)
    flow("udp6-first-fragment", ipv6(A6, B6, FRAGMENT, fragment6(UDP, 0, 1) + body), 48, A6, B6, UDP)
    flow("udp6-last-fragment", ipv6(A6, B6, FRAGMENT, fragment6(UDP, 3, 0) + bytes(9)), 48, A6, B6, UDP)
    eight = extension(DESTINATION) * 7
    flow("udp6-eight-extensions", ipv6(A6, B6, DESTINATION, eight + extension(UDP) + body), 104, A6, B6, UDP, ports)
    flow("udp6-nine-extensions", ipv6(A6, B6, DESTINATION, eight + extension(DESTINATION) + extension(UDP) + body), 104,
         A6, B6, DESTINATION)
    flow("none6", ipv6(A6, B6, NONE, b""), 40, A6, B6, NONE)
    flow("icmp6", ipv6(A6, B6, ICMP6, icmp6(A6, B6, 128, 0, 1, data)), 40, A6, B6, ICMP6)


def big(name, mtu, packet, answered=True):
    if not answered:
        answer = "-"
    elif packet[0] >> 4 == 4:
        source = str(ipaddress.ip_address(packet[12:16]))
        message = icmp4(3, 4, mtu, packet[:576 - 28])
        answer = ipv4(ROUTER4, source, ICMP, message, df=True, tos=0xC0, ident=0).hex()
    else:
        source = str(ipaddress.ip_address(packet[8:24]))
        message = icmp6(ROUTER6, source, 2, 0, mtu, packet[:1280 - 48])
        answer = ipv6(ROUTER6, source, ICMP6, message).hex()
    print(f"big {name} {mtu} {packet.hex()} {answer}")


def too_big():
    ports = (5000, 6000)
    long4, long6 = bytes(index % 251 for index in range(1472)), bytes(index % 251 for index in range(1452))

    few = b"few"

    def of4(source=A4, target=B4, protocol=UDP, body=None, **more):
        return ipv4(source, target, protocol, udp(source, target, ports, long4) if body is None else body,
                    **{"df": True, **more})

    def of6(source=A6, target=B6, protocol=UDP, body=None):
        return ipv6(source, target, protocol, udp(source, target, ports, long6) if body is None else body)

    big("udp4", 1400, of4())
    big("udp4-odd", 576, of4(body=udp(A4, B4, ports, b"odd")))
    big("tcp4-options", 1280, of4(protocol=TCP, body=tcp(A4, B4, ports, long4), options=bytes([1] * 8)))
    big("first-fragment4", 1400, of4(more=True))
    big("echo4", 1400, of4(protocol=ICMP, body=icmp4(8, 0, 1, long4)))
    big("may-fragment4", 1400, of4(body=udp(A4, B4, ports, few), df=False), answered=False)
    big("later-fragment4", 1400, of4(body=bytes(40), offset=10), answered=False)
    for kind in (3, 4, 5, 11, 12):
        big(f"icmp4-{kind}", 1400, of4(protocol=ICMP, body=icmp4(kind, 0, 0, few)), answered=False)
    big("icmp4-empty", 1400, of4(protocol=ICMP, body=b""), answered=False)
    for source in ("0.0.0.0", "127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"):
        big(f"from-{source}", 1400, of4(source=source, body=udp(A4, B4, ports, few)), answered=False)
    for target in ("239.1.2.3", "255.255.255.255"):
        big(f"to-{target}", 1400, of4(target=target, body=udp(A4, B4, ports, few)), answered=False)

    big("udp6", 1400, of6())
    big("udp6-odd", 1280, of6(body=udp(A6, B6, ports, b"odd")))
    big("tcp6", 1280, of6(protocol=TCP, body=tcp(A6, B6, ports, long6)))
    big("echo6", 1400, of6(protocol=ICMP6, body=icmp6(A6, B6, 128, 0, 1, long6)))
    big("first-fragment6", 1400, of6(protocol=FRAGMENT, body=fragment6(UDP, 0, 1) + bytes(1440)))
    big("later-fragment6", 1400, of6(protocol=FRAGMENT, body=fragment6(UDP, 180, 0) + few), answered=False)
    for kind in (1, 2, 3, 4, 100, 127, 137):
        big(f"icmp6-{kind}", 1400, of6(protocol=ICMP6, body=icmp6(A6, B6, kind, 0, 0, few)), answered=False)
    behind = extension(ICMP6) + icmp6(A6, B6, 1, 0, 0, few)
    big("icmp6-behind-options", 1400, of6(protocol=DESTINATION, body=behind), answered=False)
    big("from-unspecified6", 1400, of6(source="::", body=udp(A6, B6, ports, few)), answered=False)
    big("from-multicast6", 1400, of6(source="ff02::1", body=udp(A6, B6, ports, few)), answered=False)
    big("from-loopback6", 1400, of6(source="::1", body=udp(A6, B6, ports, few)), answered=False)
    big("to-multicast6", 1400, of6(target="ff0e::1", body=udp(A6, B6, ports, few)), answered=False)


def partial(name, source, target, protocol, make, data):
    """What a host leaves to its network card: the field holds the sum of the pseudo-header."""
    body = make(source, target, (5000, 6000), data)
    field = remainder(pseudo(source, target, protocol, len(body)))
    left = make(source, target, (5000, 6000), data, checksum_field=field)
    wrap = ipv6 if ":" in source else ipv4
    start = 40 if ":" in source else 20
    offset = 16 if protocol == TCP else 6
    print(f"partial {name} {start} {offset} {wrap(source, target, protocol, left).hex()} "
          f"{wrap(source, target, protocol, body).hex()}")


def partials():
    for name, data in (("empty", b""), ("odd", b"odd"), ("even", b"even"), ("long", bytes(range(256)) * 5)):
        partial(f"udp4-{name}", A4, B4, UDP, udp, data)
        partial(f"tcp4-{name}", A4, B4, TCP, tcp, data)
        partial(f"udp6-{name}", A6, B6, UDP, udp, data)
        partial(f"tcp6-{name}", A6, B6, TCP, tcp, data)
    # Data that make the sum 0xffff, and so the checksum 0, which UDP writes as 0xffff.
    bare = struct.pack("!HHHH", 5000, 6000, 10, 0)
    data = struct.pack("!H", checksum(pseudo(A4, B4, UDP, 10) + bare))
    assert checksum(pseudo(A4, B4, UDP, 10) + bare + data) == 0
    partial("udp4-zero", A4, B4, UDP, udp, data)


flows()
too_big()
partials()
