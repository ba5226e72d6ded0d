#!/usr/bin/env python3
"""Gives transports of others something to carry, at an even rate, and counts what comes out at their other end.

    peer_traffic.py feed-bytes RATE SECONDS CHUNK            to standard output, a whole number of chunks
    peer_traffic.py feed-udp RATE SECONDS LENGTH HOST PORT   datagrams
    peer_traffic.py count-bytes                              from standard input, until it ends
    peer_traffic.py count-udp PORT QUIET                     datagrams, until none has come for QUIET seconds

RATE is Mbit/s. Prints how many bytes went or came, to standard error where standard output carries them.
"""

import os
import socket
import sys
import time

TICK = 0.0005
SO_RCVBUFFORCE = 33


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


def feed_bytes(rate, seconds, chunk):
    block = os.urandom(chunk) * 1024
    sent = 0
    for count in ticks(rate, seconds, chunk):
        left = count * chunk
        while left:
            gone = os.write(1, memoryview(block)[: min(left, len(block))])
            left -= gone
            sent += gone
    print(sent, file=sys.stderr)


def feed_udp(rate, seconds, length, host, port):
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.connect((host, port))
    datagram = os.urandom(length)
    sent = 0
    for count in ticks(rate, seconds, length):
        for _ in range(count):
            try:
                sent += out.send(datagram)
            except ConnectionRefusedError:
                pass
    print(sent)


def count_bytes():
    came = 0
    while piece := os.read(0, 1 << 20):
        came += len(piece)
    print(came)


def count_udp(port, quiet):
    incoming = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        incoming.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
    except PermissionError:
        incoming.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 20)
    incoming.bind(("127.0.0.1", port))
    # The first may take its time.
    incoming.settimeout(30)
    buffer = bytearray(65536)
    came = 0
    try:
        while True:
            came += incoming.recv_into(buffer)
            incoming.settimeout(quiet)
    except TimeoutError:
        print(came)


def main():
    what, *rest = sys.argv[1:]
    if what == "feed-bytes":
        feed_bytes(float(rest[0]), float(rest[1]), int(rest[2]))
    elif what == "feed-udp":
        feed_udp(float(rest[0]), float(rest[1]), int(rest[2]), rest[3], int(rest[4]))
    elif what == "count-bytes":
        count_bytes()
    elif what == "count-udp":
        count_udp(int(rest[0]), float(rest[1]))
    else:
        sys.exit(f"unknown: {what}")


main()
