#!/usr/bin/env python3
"""Gives transports of others something to carry, at an even rate, and counts what comes out at their other end.

    peer_traffic.py feed-bytes RATE SECONDS CHUNK            to standard output, a whole number of chunks
    peer_traffic.py feed-udp RATE SECONDS LENGTH HOST PORT   datagrams
    peer_traffic.py count-bytes CHUNK QUIET                  from standard input, until none has come for QUIET seconds
    peer_traffic.py hold-udp PORT                            has the port, but reads nothing

RATE is Mbit/s. Feeders print how many pieces they fed and the seconds it took, to standard error where standard output
carries the pieces; the counter prints how many came. Each takes as little CPU as it can, which the peers need.
"""

import fcntl
import os
import select
import socket
import sys
import time

TICK = 0.0005
UDP_SEGMENT = 103
PIPE = 1 << 20


def ticks(rate, seconds, length):
    """How many pieces of that length are due, tick by tick."""
    total = int(rate * 1e6 / 8 * seconds / length)
    began = time.monotonic()
    gone = 0
    while gone < total:
        due = min(total, int((time.monotonic() - began) * rate * 1e6 / 8 / length) + 1)
        yield due - gone
        gone = due
        time.sleep(TICK)


def write_all(data):
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]


def feed_bytes(rate, seconds, chunk):
    fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, PIPE)
    # What counts begins with a 1.
    block = (b"\1" + b"\2" * (chunk - 1)) * 1024
    began = time.monotonic()
    sent = 0
    for count in ticks(rate, seconds, chunk):
        sent += count
        while count:
            now = min(count, 1024)
            write_all(memoryview(block)[: now * chunk])
            count -= now
    print(sent, round(time.monotonic() - began, 3), file=sys.stderr, flush=True)
    while True:
        write_all(bytes(chunk))
        time.sleep(0.005)


def waiting(port):
    """Bytes of memory that wait to be read at a UDP port of this host."""
    with open("/proc/net/udp") as table:
        next(table)
        for line in table:
            fields = line.split()
            if int(fields[1].split(":")[1], 16) == port:
                return int(fields[4].split(":")[1], 16)
    raise SystemExit(f"nobody listens on port {port}")


def feed_udp(rate, seconds, length, host, port):
    """Waits for a reader whose socket buffer (often 208 KiB) fills: a datagram lost there was never the reader's."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.connect((host, port))
    out.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, length)
    most = max(1, 40_000 // length)
    block = os.urandom(length * most)
    began = time.monotonic()
    sent = 0
    for count in ticks(rate, seconds, length):
        while count:
            while waiting(port) > 80_000:
                time.sleep(0.0001)
            now = min(count, most)
            out.send(memoryview(block)[: now * length])
            count -= now
            sent += now
    print(sent, round(time.monotonic() - began, 3), flush=True)


def count_bytes(chunk, quiet):
    fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, PIPE)
    # The first may take its time.
    patience = 60
    total = came = 0
    while select.select([0], [], [], patience)[0]:
        patience = quiet
        piece = os.read(0, PIPE)
        came += piece[-total % chunk :: chunk].count(1)
        total += len(piece)
        # Few reads of much.
        time.sleep(0.001)
    print(came)


def hold_udp(port):
    incoming = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    incoming.bind(("127.0.0.1", port))
    while True:
        time.sleep(60)


def main():
    what, *rest = sys.argv[1:]
    if what == "feed-bytes":
        feed_bytes(float(rest[0]), float(rest[1]), int(rest[2]))
    elif what == "feed-udp":
        feed_udp(float(rest[0]), float(rest[1]), int(rest[2]), rest[3], int(rest[4]))
    elif what == "count-bytes":
        count_bytes(int(rest[0]), float(rest[1]))
    elif what == "hold-udp":
        hold_udp(int(rest[0]))
    else:
        sys.exit(f"unknown: {what}")


main()
