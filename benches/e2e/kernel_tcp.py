#!/usr/bin/env python3
"""The kernel's TCP as such: connections that send as much as they can, and what the kernel says of the first.

    kernel_tcp.py sink               reads all that connections bring, until it is killed
    kernel_tcp.py send HOST CONTROL CONNECTIONS SECONDS
                                     prints the bytes that were acknowledged and the RTTs, each 100 ms in us, as JSON

iperf3 is not used for it: on the same link its CUBIC leaves slow start late and loses eight times as many packets as that
of a program that does nothing but send.
"""

import json
import socket
import struct
import sys
import threading
import time

PORT = 5201
INTERVAL = 0.1
# Seconds between the beginnings of connections. With none it is chance which one leaves slow start first: the kernel's CUBIC
# lost 29 to 188 packets in the first seconds of equal runs.
APART = 0.25
# Offsets in struct tcp_info (linux/tcp.h): tcpi_rtt and tcpi_bytes_acked.
RTT_AT, BYTES_ACKED_AT, INFO_LENGTH = 68, 120, 232


def sink():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", PORT))
    listener.listen(64)

    def drain(connection):
        while connection.recv(1 << 20):
            pass

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=drain, args=(connection,), daemon=True).start()


def fill(connection):
    block = b"x" * 131072
    try:
        while True:
            connection.sendall(block)
    except OSError:
        # Closed at the end of the run.
        return


def send(host, control, connections, seconds):
    opened = []
    for _ in range(int(connections)):
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        connection.connect((host, PORT))
        opened.append(connection)
    for number, connection in enumerate(opened):
        start = threading.Timer(number * APART, fill, args=(connection,))
        start.daemon = True
        start.start()

    def info(connection):
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_LENGTH)

    began, rtts = time.monotonic(), []
    while len(rtts) < float(seconds) / INTERVAL:
        time.sleep(max(0, began + (len(rtts) + 1) * INTERVAL - time.monotonic()))
        rtts.append(struct.unpack_from("I", info(opened[0]), RTT_AT)[0])
    took = time.monotonic() - began
    acked = sum(struct.unpack_from("Q", info(connection), BYTES_ACKED_AT)[0] for connection in opened)
    for connection in opened:
        # Reset: what the queue still holds is no part of the run.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    print(json.dumps({"bytes": acked, "seconds": took, "rtts_us": rtts}))


def main(arguments):
    commands = {"sink": sink, "send": send}
    if not arguments or arguments[0] not in commands:
        sys.exit(__doc__)
    commands[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
