#!/usr/bin/env python3
"""Makes segments.txt: large packets, and what the kernel itself cuts them into.

A large packet is written to one TUN device with the header that asks for segmentation; the kernel forwards it to a
second one that has no offloads, so that it has to cut it and to compute the checksums. Each line of the file is a
name, the large packet with its virtio-net header, and then the packets that came out, all in hexadecimal. Forwarding
takes one off the TTL or hop limit, so the large packet is written down with one less than it was sent with.

Runs where it may make interfaces and changes nothing outside:

    unshare --user --map-root-user --net python3 make_segments.py
"""

import fcntl
import os
import pathlib
import select
import socket
import struct
import subprocess

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
GSO_TCP4, GSO_TCP6, GSO_UDP = 1, 4, 5
FIN, PSH, ACK, ECE, CWR = 0x01, 0x08, 0x10, 0x40, 0x80
TTL = 64


def sh(*words):
    subprocess.run(words, check=True)


def tun(name, flags, offloads):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI | flags))
    fcntl.ioctl(fd, TUNSETOFFLOAD, offloads)
    return fd


def total(data):
    data += b"\0" * (len(data) % 2)
    value = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while value > 0xFFFF:
        value = (value & 0xFFFF) + (value >> 16)
    return value


def payload(length):
    return bytes((7 * i + (i >> 8)) & 0xFF for i in range(length))


def transport(protocol, pseudo, length, tcp_flags, sequence):
    """A header with a partial checksum: the sum of the pseudo-header."""
    if protocol == 17:
        header = struct.pack("!HHHH", 4751, 4752, 8 + length, 0)
        at = 6
    else:
        options = bytes([1, 1, 8, 10]) + struct.pack("!II", 111111, 222222)
        header = struct.pack("!HHIIBBHHH", 5201, 40000, sequence, 12345, (20 + len(options)) << 2, tcp_flags, 501, 0, 0)
        header += options
        at = 16
    partial = total(pseudo + struct.pack("!IxxxB", len(header) + length, protocol))
    return header[:at] + struct.pack("!H", partial) + header[at + 2:], at


def packet(version, protocol, length, segment, ttl, flags=PSH | ACK, sequence=1000, identification=7, fragment=0x4000):
    if version == 4:
        source, destination = socket.inet_aton("10.0.1.9"), socket.inet_aton("10.0.2.9")
    else:
        source, destination = (socket.inet_pton(socket.AF_INET6, a) for a in ("fd00:1::9", "fd00:2::9"))
    upper, at = transport(protocol, source + destination, length, flags, sequence)
    size = len(upper) + length
    if version == 4:
        ip = struct.pack("!BBHHHBBH", 0x45, 2, 20 + size, identification, fragment, ttl, protocol, 0)
        ip = ip[:10] + struct.pack("!H", 0xFFFF - total(ip + source + destination)) + source + destination
    else:
        ip = struct.pack("!IHBB", 0x60012345, size, protocol, ttl) + source + destination
    kind = GSO_UDP if protocol == 17 else GSO_TCP4 if version == 4 else GSO_TCP6
    virtio = struct.pack("=BBHHHH", 1, kind, len(ip) + len(upper), segment, len(ip), at)
    return virtio + ip + upper + payload(length)


CASES = {
    "tcp4": (4, 6, 350, 100, {}),
    "tcp4-even": (4, 6, 300, 100, {}),
    "tcp4-fin": (4, 6, 250, 100, {"flags": PSH | ACK | FIN}),
    "tcp4-cwr": (4, 6, 250, 100, {"flags": ACK | ECE | CWR}),
    "tcp4-wraps": (4, 6, 350, 100, {"sequence": 0xFFFFFF40, "identification": 0xFFFE}),
    "tcp4-fragmentable": (4, 6, 250, 100, {"fragment": 0}),
    "tcp4-large": (4, 6, 6000, 1448, {}),
    "tcp6": (6, 6, 350, 100, {}),
    "tcp6-fin": (6, 6, 201, 100, {"flags": PSH | ACK | FIN, "sequence": 0xFFFFFFFF}),
    "udp4": (4, 17, 350, 100, {}),
    "udp4-even": (4, 17, 300, 100, {"fragment": 0}),
    "udp4-odd": (4, 17, 301, 99, {"identification": 0xFFFF}),
    "udp6": (6, 17, 350, 100, {}),
    "udp6-large": (6, 17, 6000, 1200, {}),
}


def read_all(fd, source=b""):
    """Packets that wait, but those that the host sends by itself."""
    while select.select([fd], [], [], 0.3)[0]:
        data = os.read(fd, 70000)
        if source in data[:40]:
            yield data


def main():
    near = tun("near", IFF_VNET_HDR, 0x1 | 0x2 | 0x4 | 0x20 | 0x40)
    far = tun("far", 0, 0)
    for name, number in (("near", 1), ("far", 2)):
        pathlib.Path(f"/proc/sys/net/ipv6/conf/{name}/addr_gen_mode").write_text("1")
        sh("ip", "link", "set", name, "up")
        sh("ip", "address", "add", f"10.0.{number}.1/24", "dev", name)
        sh("ip", "address", "add", f"fd00:{number}::1/64", "dev", name, "nodad")
    for setting in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        pathlib.Path(f"/proc/sys/net/{setting}").write_text("1")
    list(read_all(far))
    lines = []
    for name, (version, protocol, length, segment, more) in CASES.items():
        os.write(near, packet(version, protocol, length, segment, TTL + 1, **more))
        source = socket.inet_aton("10.0.1.9") if version == 4 else socket.inet_pton(socket.AF_INET6, "fd00:1::9")
        came_out = list(read_all(far, source))
        assert len(came_out) == -(-length // segment), (name, len(came_out))
        large = packet(version, protocol, length, segment, TTL, **more)
        lines.append(" ".join([name, large.hex()] + [data.hex() for data in came_out]))
    pathlib.Path(__file__).with_name("segments.txt").write_text("\n".join(lines) + "\n")


main()
