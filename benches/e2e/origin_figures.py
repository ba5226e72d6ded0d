#!/usr/bin/env python3
"""Asks an origin, reads what others print about it, and draws the tables of origin.sh.

    origin_figures.py segments URL PLAYLIST...      addresses of all segments of media playlists, alternately, one a line
    origin_figures.py save URL FOLDER ADDRESS...    saves what is at these addresses, under their paths
    origin_figures.py row FILE CPU_MS               from wrk's result: requests/s, Gbit/s, CPU in us for each request, mean ms
    origin_figures.py drive URL FILE SECONDS CLIENTS   asks for the addresses in FILE, one after the other, with that many
                                                    clients that finish what they have begun: prints a line like wrk's
    origin_figures.py storage LOG FROM              what the storage's log says from that line on: GETs, other requests, bytes
    origin_figures.py first-byte RAW URL PLAYLIST   medians in ms until the first byte: of raw ranges, and of segments
    origin_figures.py herd URL PATH CLIENTS         that many clients ask for the same at once; prints how many were answered
    origin_figures.py local FILE                    table of what is served from this host
    origin_figures.py configurations FILE           table of configurations A to E
"""

import http.client
import itertools
import json
import pathlib
import statistics
import sys
import threading
import time
import urllib.parse
import urllib.request

# Static nginx's CPU for each request, times this: what nginx-vod-module takes for the same.
PEER_CPU = 2.4


def get(url, timeout=60):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read()


def segments(url, playlists):
    lists = []
    for playlist in playlists:
        folder = playlist.rsplit("/", 1)[0]
        lines = get(url + playlist).decode().splitlines()
        lists.append([f"/{folder}/{line}" for line in lines if line and not line.startswith("#")])
    for addresses in itertools.zip_longest(*lists):
        for address in addresses:
            if address:
                print(address)


def save(url, folder, addresses):
    for address in addresses:
        to = pathlib.Path(folder + address)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(get(url.rstrip("/") + address))


def wrk_result(path):
    with open(path, encoding="utf-8") as file:
        (line,) = [line for line in file if line.startswith("RESULT ")]
    return json.loads(line.removeprefix("RESULT "))


def row(path, cpu_ms):
    told = wrk_result(path)
    if told["failed"] or not told["requests"]:
        sys.exit(f"error: {told['failed']} of {told['requests']} requests failed")
    seconds = told["microseconds"] / 1e6
    each = cpu_ms * 1000 / told["requests"]
    gbits = told["bytes"] * 8 / 1e9 / seconds
    print(f"{told['requests'] / seconds:.1f} {gbits:.4f} {each:.1f} {told['mean_us'] / 1000:.2f}", told["requests"], told["bytes"])


def drive(url, path, seconds, clients):
    """wrk breaks off what is on its way when it ends, which has been read from the storage for nothing."""
    with open(path, encoding="utf-8") as file:
        addresses = itertools.cycle(file.read().split())
    host = urllib.parse.urlsplit(url).netloc
    lock = threading.Lock()
    took, received, failed = [], [], []
    began = time.perf_counter()

    def client():
        connection = http.client.HTTPConnection(host, timeout=60)
        buffer = memoryview(bytearray(256 << 10))
        while time.perf_counter() - began < seconds:
            with lock:
                address = next(addresses)
            asked = time.perf_counter()
            connection.request("GET", address)
            answer = connection.getresponse()
            count = 0
            while length := answer.readinto(buffer):
                count += length
            took.append(time.perf_counter() - asked)
            received.append(count)
            if answer.status != 200:
                failed.append(address)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result = {
        "requests": len(took),
        "bytes": sum(received),
        "microseconds": round((time.perf_counter() - began) * 1e6),
        "failed": len(failed),
        "mean_us": statistics.mean(took) * 1e6 if took else 0,
    }
    print("RESULT", json.dumps(result))


def storage(path, start):
    gets = others = total = 0
    with open(path, encoding="utf-8") as file:
        for line in itertools.islice(file, start, None):
            method, _, _, bytes_sent, _ = line.split(" ", 4)
            if method == "GET":
                gets += 1
            else:
                others += 1
            total += int(bytes_sent)
    print(gets, others, total)


def first_byte(connection, path, headers):
    began = time.perf_counter()
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read(1)
    took = (time.perf_counter() - began) * 1000
    answer.read()
    return took


def compare_first_bytes(raw, url, playlist):
    """Alternately, over connections that are open, for segments of which nobody has asked before."""
    folder = playlist.rsplit("/", 1)[0]
    names = [line for line in get(url + playlist).decode().splitlines() if line.endswith(".m4s")]
    hosts = [urllib.parse.urlsplit(address) for address in (raw, url)]
    connections = [http.client.HTTPConnection(host.netloc, timeout=60) for host in hosts]
    size = int(urllib.request.urlopen(urllib.request.Request(raw, method="HEAD")).headers["Content-Length"])
    times = ([], [])
    for number, name in enumerate(names[10:110]):
        # Elsewhere in the file, as long as a segment.
        start = (size // 2 + number * 1_000_000) % (size - 1_000_000)
        times[0].append(first_byte(connections[0], hosts[0].path, {"Range": f"bytes={start}-{start + 973_999}"}))
        times[1].append(first_byte(connections[1], f"/{folder}/{name}", {}))
    print(" ".join(f"{statistics.median(one):.2f}" for one in times))


def herd(url, path, clients):
    host = urllib.parse.urlsplit(url).netloc
    gate = threading.Barrier(clients)
    statuses = []

    def ask():
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.connect()
        gate.wait()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(statuses.count(200))


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def verdict(met):
    return "met" if met else "missed"


def local_table(path):
    """Medians of turns; the ratio of rates is the median of the ratios of turns that followed each other, with its quartiles."""
    turns = {}
    for server, case, *figures in rows(path):
        turns.setdefault(case, {}).setdefault(server, []).append([float(figure) for figure in figures])
    print(f"{'':24} {'req/s':>9} {'Gbit/s':>8} {'CPU us':>8}   ratio to nginx: rate, CPU")
    met = {}
    for case, of in turns.items():
        ours, nginx = ([statistics.median(column) for column in zip(*of[server])] for server in ("weir", "nginx"))
        ratios = [ours[0] / nginx[0] for ours, nginx in zip(of["weir"], of["nginx"])]
        low, ratio, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        met[case] = (ratio, ours[2] / nginx[2], ours[0])
        compared = f"{ratio:.2f} ({low:.2f} to {high:.2f}), {met[case][1]:.2f}"
        for server, (rate, gbits, each), beside in [("nginx", nginx, ""), ("weir", ours, compared)]:
            print(f"{server + ', ' + case:24} {rate:9.0f} {gbits:8.2f} {each:8.0f}   {beside}".rstrip())
    rate, each, _ = met["video"]
    print(f"video: {rate:.2f} of nginx's rate (goal >= 0.80: {verdict(rate >= 0.8)}),",
          f"{each:.2f} of its CPU (goal <= {PEER_CPU}: {verdict(each <= PEER_CPU)})")
    for case, goal in [("audio", 0.85), ("video over TLS", 0.95)]:
        rate, _, _ = met[case]
        print(f"{case}: {rate:.2f} of nginx's rate (goal >= {goal:.2f}: {verdict(rate >= goal)})")
    print(f"cached MPD: {met['MPD'][2]:.0f} requests/s (goal >= 60000: {verdict(met['MPD'][2] >= 60000)})")


def configurations_table(path):
    table = {name: [float(word) for word in words] for name, *words in rows(path)}
    print(f"{'configuration':28}" + "".join(f"{name:>10}" for name in table))
    lines = ["IN, Gbit/s", "OUT, Gbit/s", "OUT/IN", "mean response, ms", "requests/s"]
    for place, title in enumerate(lines):
        digits = 0 if place == 4 else 1 if place == 3 else 3
        print(f"{title:28}" + "".join(f"{words[place]:10.{digits}f}" for words in table.values()))
    if "E" in table:
        out_in = table["E"][2]
        print(f"E: OUT/IN {out_in:.3f} (goal >= 0.99: {verdict(out_in >= 0.99)})")
    if "C" in table and "E" in table:
        saved = 1 - table["C"][2] / table["E"][2]
        print(f"E reads {saved:.0%} less than C for the same (goal >= 71 %: {verdict(saved >= 0.71)})")


def main(what, *words):
    match what:
        case "segments":
            segments(words[0], words[1:])
        case "save":
            save(words[0], words[1], sys.stdin.read().split())
        case "row":
            row(words[0], float(words[1]))
        case "drive":
            drive(words[0], words[1], float(words[2]), int(words[3]))
        case "storage":
            storage(words[0], int(words[1]))
        case "first-byte":
            compare_first_bytes(*words)
        case "herd":
            herd(words[0], words[1], int(words[2]))
        case "local":
            local_table(words[0])
        case "configurations":
            configurations_table(words[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
