"""Many clients that read slowly: how much memory a server takes for them.

    slow_clients.py URL CLIENTS SECONDS PID [--http2]

Each asks for URL on a connection of its own with a small receive buffer, and takes some kilobytes a second, so that whatever stands
between it and the storage is full. After SECONDS all of them must still be served. Prints one line of JSON: what process PID held
at most meanwhile, in bytes, beside what it held before. The certificate is not looked at.
"""

import json
import resource
import socket
import ssl
import sys
import time
import urllib.parse

PIECE = 2048
RECEIVE_BUFFER = 32768
# From one read of a client to its next.
EVERY = 0.5
# For all of them to have got something, on a busy machine.
LONGEST = 40


def resident(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))


def http2_request(url):
    """Preface, settings, and a request that is not compressed; the window of a stream is what HTTP/2 begins with."""
    path = url.path.encode()
    block = b"\x82\x87\x04" + bytes([len(path)]) + path + b"\x01" + bytes([len(url.netloc)]) + url.netloc.encode()
    headers = len(block).to_bytes(3, "big") + b"\x01\x05\x00\x00\x00\x01" + block
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0" + headers


def http1_request(url):
    return f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode()


def connect(url, context, is_http2):
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    plain.settimeout(30)
    plain.connect((url.hostname, url.port))
    client = context.wrap_socket(plain, server_hostname=url.hostname) if context else plain
    client.sendall(http2_request(url) if is_http2 else http1_request(url))
    return client


def main():
    url, count, seconds, pid = urllib.parse.urlparse(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    is_http2 = "--http2" in sys.argv
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    context = None
    if url.scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2" if is_http2 else "http/1.1"])
    before = resident(pid, "VmRSS")
    clients = [connect(url, context, is_http2) for _ in range(count)]
    got = [0] * count
    until, limit = time.monotonic() + seconds, time.monotonic() + LONGEST
    while time.monotonic() < (until if all(got) else limit):
        began = time.monotonic()
        for number, client in enumerate(clients):
            # One of HTTP/2 has got all that its window allows before long, and a record of TLS takes a while.
            client.settimeout(0.0)
            try:
                piece = client.recv(PIECE)
            except (BlockingIOError, ssl.SSLWantReadError):
                continue
            assert piece, f"client {number} was cut off after {got[number]} bytes"
            got[number] += len(piece)
        time.sleep(max(0.0, EVERY - (time.monotonic() - began)))
    assert all(got), f"{got.count(0)} clients got nothing"
    told = {
        "clients": count,
        "before_bytes": before,
        "most_bytes": resident(pid, "VmHWM"),
        "each_bytes": (resident(pid, "VmHWM") - before) // count,
        "read_bytes": sum(got),
    }
    print(json.dumps(told))


main()
