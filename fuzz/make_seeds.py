#!/usr/bin/env python3
"""Makes the seed inputs in seeds/ from weir-wire's test vectors. Run it in its folder."""

import pathlib

VECTORS = pathlib.Path("../crates/weir-wire/tests/data/vectors.txt")
SEEDS = pathlib.Path("seeds")


def seed(target, name, data):
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


for line in VECTORS.read_text().splitlines():
    name, digits = line.split(" ", 1)
    if name.startswith("spread-"):
        continue
    data = bytes.fromhex(digits)
    if name.startswith(("rtt-", "flow-", "hello", "mtu-")):
        seed("udp_packets", name, b"\1" + data)
    elif name.startswith("stamp-"):
        authenticated = "-auth" in name
        seed("stamp", name, bytes([authenticated]) + data)
        tlvs = data[112 if authenticated else 44:]
        if tlvs:
            seed("stamp", name + "-mended", bytes([6 + authenticated]) + tlvs)
    elif name == "control-hello":
        seed("handshake", "replaced-hello", b"\0\1" + data)

for purpose in range(3):
    seed("handshake", f"unchanged-{purpose}", bytes([purpose]))
    for message in range(4):
        seed("handshake", f"changed-{purpose}-{message}", bytes([purpose]) + bytes(message) + b"\2\5\1")

seed("frames", "sealed", bytes([5 << 2]) + b"hello" + bytes([0]) + bytes([2 << 2]) + b"ok")
seed("frames", "again", bytes([5 << 2]) + b"hello" + bytes([1]))
seed("frames", "changed", bytes([5 << 2 | 2]) + b"hello" + bytes([7, 1]))
seed("frames", "forged", bytes([4 << 2 | 3]) + bytes([0, 0, 0, 4]) + bytes(16) + b"four")
