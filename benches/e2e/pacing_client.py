"""Clients of benches/e2e/pacing.sh. Bodies are counted and not copied (MSG_TRUNC), so that most of the work is the server's.

    pacing_client.py rate HOST PORT KBITS SECONDS
        one connection that asks for a rate: prints "Mbit/s of body, bytes on the wire for each of the body"
    pacing_client.py many HOST PORT CONNECTIONS KBITS SECONDS PID paced|slow
        so many connections, paced by the server or read slowly: prints "Mbit/s in all, CPU time of PID in cores,
        busy time of the first core"
"""

import os
import select
import socket
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")
# What is not counted: until windows and buffers have settled.
SETTLING_S = 1.0
# Reads of a slow client in each second.
READS = 10


def connect(host, port, query, receive_buffer=None):
    sock = socket.socket()
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.settimeout(30)
    sock.connect((host, port))
    sock.sendall(f"GET /big{query} HTTP/1.1\r\nHost: origin\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += sock.recv(1)
    assert head.startswith(b"HTTP/1.1 200"), head
    # What was made of it is said, or not asked for.
    assert (b"\r\nweir-pace:" in head) == bool(query), head
    return sock


def asked(kbits):
    return f"?CMCD=rtp%3D{kbits}"


def drain(sock, most=1 << 20):
    got = len(sock.recv(most, socket.MSG_TRUNC))
    assert got, "the server ended a connection"
    return got


def received():
    """Bytes that all devices but loopback have received, of IP: veth counts them without Ethernet's header."""
    with open("/proc/self/net/dev", encoding="ascii") as lines:
        fields = (line.split(":") for line in lines if ":" in line)
        return sum(int(counts.split()[0]) for name, counts in fields if name.strip() != "lo")


def one_rate(host, port, kbits, seconds):
    sock = connect(host, port, asked(kbits))
    end = time.monotonic() + SETTLING_S
    while time.monotonic() < end:
        drain(sock)
    wire, body, begun = received(), 0, time.monotonic()
    while time.monotonic() < begun + seconds:
        body += drain(sock)
    took = time.monotonic() - begun
    print(body * 8 / took / 1e6, (received() - wire) / body)


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def busy_first_core():
    with open("/proc/stat", encoding="ascii") as stat:
        line = next(line for line in stat if line.startswith("cpu0 "))
    counts = [int(count) for count in line.split()[1:9]]
    return (sum(counts) - counts[3] - counts[4]) / TICKS


def read_paced(socks, until):
    """Reads what arrives."""
    epoll = select.epoll()
    by_descriptor = {sock.fileno(): sock for sock in socks}
    for descriptor in by_descriptor:
        epoll.register(descriptor, select.EPOLLIN)
    total = 0
    while time.monotonic() < until:
        total += sum(drain(by_descriptor[descriptor]) for descriptor, _ in epoll.poll(0.1))
    epoll.close()
    return total


def read_slowly(socks, until, kbits):
    """Reads so many bytes each 100 ms, the connections one after the other through that time."""
    piece = kbits * 1000 // 8 // READS
    total, turn = 0, time.monotonic()
    for sock in socks:
        sock.setblocking(False)
    while turn < until:
        for place, sock in enumerate(socks):
            ahead = turn + place / len(socks) / READS - time.monotonic()
            if ahead > 0.001:
                time.sleep(ahead)
            try:
                total += drain(sock, piece)
            except BlockingIOError:
                pass
        turn = max(turn + 1 / READS, time.monotonic() - 1 / READS)
    return total


def many(host, port, connections, kbits, seconds, pid, way):
    if way == "paced":
        socks = [connect(host, port, asked(kbits)) for _ in range(connections)]
        read = lambda until: read_paced(socks, until)
    else:
        # Half a second of it, so that the window holds the sender back.
        socks = [connect(host, port, "", kbits * 1000 // 8 // 2) for _ in range(connections)]
        read = lambda until: read_slowly(socks, until, kbits)
    read(time.monotonic() + SETTLING_S)
    cpu, busy, begun = cpu_of(pid), busy_first_core(), time.monotonic()
    total = read(begun + seconds)
    took = time.monotonic() - begun
    print(total * 8 / took / 1e6, (cpu_of(pid) - cpu) / took, (busy_first_core() - busy) / took)


def main():
    what, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if what == "rate":
        one_rate(host, port, int(sys.argv[4]), float(sys.argv[5]))
    else:
        connections, kbits = int(sys.argv[4]), int(sys.argv[5])
        many(host, port, connections, kbits, float(sys.argv[6]), int(sys.argv[7]), sys.argv[8])


main()
