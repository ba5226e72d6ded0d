#!/usr/bin/env python3
"""Makes the seed inputs in seeds/ from weir-wire's and weir-fec's test vectors, weir-link's packets and profiles, a few
texts and streams, and MP4 files of ffmpeg. Run it in its folder."""

import pathlib
import subprocess
import tempfile

VECTORS = pathlib.Path("../crates/base/wire/tests/data/vectors.txt")
PACKETS = pathlib.Path("../crates/base/link/tests/data/packets.txt")
PROFILES = pathlib.Path("../crates/base/link/profiles")
STREAMS = pathlib.Path("../crates/carry/fec/tests/data/reference.txt")
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
    if name.startswith(("rtt-", "flow-", "hello", "mtu-", "media-")):
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

# Eight bytes that choose, then a packet.
for line in PACKETS.read_text().splitlines():
    kind, name, *rest = line.split(" ")
    if kind == "flow":
        seed("ip_headers", name, bytes(8) + bytes.fromhex(rest[2]))
    elif kind == "big" and len(rest[1]) < 300:
        seed("ip_headers", "big-" + name, bytes([0, 0, 0, 0, 0, 0, 5, 0x78]) + bytes.fromhex(rest[1]))
    elif kind == "partial" and not name.endswith("-long"):
        seed("ip_headers", "partial-" + name, bytes([int(rest[0]), int(rest[1])]) + bytes(6) + bytes.fromhex(rest[2]))

for path in PROFILES.glob("*.toml"):
    text = "".join(line for line in path.read_text().splitlines(True) if not line.startswith("#"))
    seed("link_profile", path.stem, text.encode())
WATCH = """here = "lon"
pairs = "mesh"
[[host]]
name = "lon"
cloud = "aws:eu-west-2"
[[host]]
name = "ams"
address = "ams.example.net:4747"
token-file = "weir.token"
cloud = "gcp"
"""
WATCHES = {
    "mesh": WATCH,
    "all": WATCH + """[rtt]
interval = "200ms"
window = 2
length = 80
timeout = "1s"
[flows]
every = "10min"
duration = "10s"
flows = 4
[survey]
every = "2h"
rate = "20Mbit/s"
max-bytes = "20MB"
[budget]
bytes-a-day = "2GB"
usd-a-month = 9
""",
    "rules": WATCH + """[keep]
bytes = "10GB"
seconds = "3d"
[[rule]]
name = "loss"
metric = "loss"
above = "0.5%"
until = "10min"
pairs = [["lon", "ams"]]
labels = { severity = "page" }
[[rule]]
name = "dark"
metric = "dark-flows"
above = "0.5/day"
[[silence]]
from = 2026-03-01T22:00:00Z
to = 2026-03-02T04:00:00Z
reason = "maintenance"
""",
    "reflector": WATCH.replace('"mesh"', '[["lon", "r"]]') + '[[host]]\nname = "r"\nstamp = true\n',
}
for name, text in WATCHES.items():
    seed("watch_file", name, text.encode())
# A second of four packets; a value in the lowest bucket.
seed("stored_distribution", "second", bytes.fromhex("03f0190002000a0086b909c0843d"))
seed("stored_distribution", "zero", bytes([1, 0, 0, 0, 0]))
RECORDED = {
    "sabre": '[{"duration_ms": 5000, "bandwidth_kbps": 1363, "latency_ms": 20},\n {"duration_ms": 2000, "bandwidth_kbps": null}]\n',
    "steps": "# mine\n5s 10Mbit/s\n500ms 0\n",
    "samples": "time,mbits\n0,3\n1,4\n2,5\n37,6\n38,7\n",
    "film": '{"segment_duration_ms": 3000, "bitrates_kbps": [100, 200], "segment_sizes_bits": [[300000, 600000], [280000, 590000]]}\n',
}
for name, text in RECORDED.items():
    seed("recorded", name, text.encode())
for target, folder in {"pacing_scenario": "pacing", "trap_file": "traps"}.items():
    for path in pathlib.Path("../scenarios", folder).glob("*.toml"):
        text = "".join(line for line in path.read_text().splitlines(True) if not line.startswith("#"))
        seed(target, path.stem, text.encode())
LINKS = {
    "keys": """rate = "10Mbit/s"
delay = "10ms"
jitter = "1ms"
reorder = true
queue = "2bdp"
mtu = 1400
interface-mtu = 9000
too-big = "drop"
loss = ["0.1%", { mean = "1%", burst = 2.5 }, { to-bad = "1%", to-good = "9%", loss-good = "0%", loss-bad = "50%" }]
duplicate = "0.01%"
corrupt = "0.001%"
overhead = 14
dark = [{ from = "3s", to = "4s" }]
flow-rate = { rate = "1Gbit/s", burst = "64KiB" }
packet-rate = { rate = 200000, burst = 32 }
hide-five-tuple = true
extra-flow-loss = "0.02%"
long-packets = { above = 1228, loss = "3%" }
spread = "per-packet"
seed = 7
""",
    "routes": """rtt = "20ms"
[[route]]
weight = 3
loss = { packets = [1, 2] }
[[route]]
queue = "5packets"
rate = "unlimited"
[reverse]
flow-rate = "unlimited"
[[reverse.route]]
rate = { trace = "1s 5Mbit/s", format = "steps" }
""",
    "set": """[[route]]
[[route]]
\0loss=1%\0forward.route.1.rate={ trace = "5", format = "mahimahi" }\0reverse.mtu=1400\0route[0].delay=3ms""",
    "traces": """rate = { steps = ["1s 4Mbit/s", "500ms 0"] }
[reverse]
rate = { trace = "5\\n5\\n9", format = "mahimahi" }
queue = "10packets"
""",
}
LINKS["queues"] = """rate = "10Mbit/s"
[[route]]
queue = { kind = "tail-drop", limit = "3packets" }
[[route]]
queue = { kind = "red", minimum = 0.5, maximum = 2, max-probability = "50%", weight = 0.5, gentle = true, packet-time = "1ms" }
[[route]]
queue = { kind = "codel", target = "1us", interval = "1us", max-packet = 64, ecn = true, limit = "10kB" }
[[route]]
queue = { kind = "pie", target = "1us", update = "10us", alpha = 100, beta = 100.5, max-burst = "0s", mean-packet = 1, ecn = true, mark-below = "10%", derandomize = true, cap-adjustment = true }
[[route]]
queue = { kind = "fq-codel", flows = 4, quantum = 300, limit = "2packets" }
[[route]]
queue = { kind = "dualpi2", target = "1us", max-rtt = "3us", update = "1us", alpha = 9, beta = 9, coupling = 2, threshold = "0s", range = "0s", threshold-packets = 0, classic-share = "6.25%" }
"""
for name, text in LINKS.items():
    seed("link_profile", name, text.encode())

TITLES = {
    "toml": b"""\0[clip]
start = "12.5s"
end = "1min30s"
[[track]]
file = "1080p.mp4"
[[track]]
file = "sound/all.mp4"
kind = "audio"
track = 3
name = "english"
language = "en-GB"
label = "English"
roles = ["main", "description"]
default = true
[[subtitles]]
file = "de.vtt"
language = "de"
""",
    "json": b"""\1{"clip": {"start": "1s"}, "track": [{"file": "a.mp4", "kind": "video", "track": 1, "default": true}],
"subtitles": [{"file": "de.vtt", "label": "Deutsch", "roles": ["caption"]}]}""",
    "smil": b"""\2<?xml version="1.0" encoding="utf-8"?>
<smil xmlns="http://www.w3.org/2001/SMIL20/Language"><head><meta name="a" content="b" /></head><body><switch>
<video src="a.ismv" systemBitrate="800000"><param name="trackID" value="2" valuetype="data" /></video>
<audio src="b &amp; c.isma" systemLanguage="eng" title="English"/>
<textstream src="de.vtt" systemLanguage="ger"/><textstream src="en.ismt"/>
</switch></body></smil>
""",
    "smil-entity": b"""\2<!DOCTYPE smil [<!ENTITY a SYSTEM "file:///etc/passwd">]><smil><body><video src="&a;"/></body></smil>""",
    "smil-seq": b"""\2<smil><body><seq><video src="a.mp4" clipBegin="npt=1s"/></seq></body></smil>""",
}
for name, text in TITLES.items():
    seed("title_manifest", name, text)

# Subtitles, after the span to cut out of them.
SUBTITLES = {
    "cues": "WEBVTT\n\nSTYLE\n::cue { color: red }\n\n1\n00:01.000 --> 00:03.000 line:0\nOne <00:02.000>two\n\n"
    "00:00:04.000 --> 00:00:05.000\nThree\n00:05.000 --> 01:00:00.000\nFour\n",
    "map": "\ufeffWEBVTT - a film\r\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\r\n\r\n00:00.000 --> 00:09.000\r\nOne\r\n",
}
for name, text in SUBTITLES.items():
    seed("webvtt", name, bytes([20, 50]) + text.encode())

# Requests to the origin, line by line, and its stored input.
ORIGIN_REQUESTS = {
    "manifest": ["/a/b%20c/manifest.mpd", "filter=height<=720;language=en&start=0.5&end=1.5"],
    "segment": ["/a/film.mp4/video/v1/96000.m4s", "cmcd=bl%3D1", "bytes=0-99", '"a"', '"b", W/"a", "a"'],
    "file": ["/f%C3%BCr/%2e%2e/x", "filter=codec=avc1", "bytes=-500", "Sun, 06 Nov 1994 08:49:37 GMT", "", 'W/"a"',
             "Sun, 06 Nov 1994 08:49:36 GMT", "Sun, 06 Nov 1994 08:49:38 GMT"],
    "sync": ["/a/video/v1/sync-0.m4s", "filter=bitrate>=1000;codec=mp4a", "bytes=18446744073709551615-", "", "*", "*"],
    "licence": ["/a/subtitles/s1/text.vtt", "end=1", "", "", "", "", "", "",
                '{"kids": ["EAAAACAAMABAAFAAAAAAAA"], "type": "temporary"}'],
}
for name, lines in ORIGIN_REQUESTS.items():
    seed("origin_request", name, "\n".join(lines).encode())
KEY_LINES = """scheme = "cenc"
key_id = "10000000-2000-3000-4000-500000000000"
key = "00112233445566778899aabbccddeeff"
"""
PSSH = "AAAANHBzc2gBAAAAEHfv7MCyTQKs4zweUuL7SwAAAAEwMTIzNDU2Nzg5MDEyMzQ1AAAAAA=="
ORIGIN_STORED = {
    "index": b"\0" + b"weirside\5\0\0\0\"a\"/0weirindx",
    "kept": b"\1WEIRCA01" + bytes(4) + bytes(8) + b"body",
    "answer": b"\2" + (
        '{"scheme": "cbcs", "key_id": "10000000-2000-3000-4000-500000000000", "key": "00112233445566778899aabbccddeeff",'
        ' "iv": "0123456789abcdef0123456789abcdef", "pssh": ["%s"], "licence_url": "/l?{title}", "key_url": "/k/{key_id}"}' % PSSH
    ).encode(),
    "licence": b'\2{"keys": [{"kty": "oct", "kid": "EAAAACAAMABAAFAAAAAAAA", "k": "ABEiM0RVZneImaq7zN3u_w"}], "type": "temporary"}',
    "toml": b"\3" + f"[[title]]\npath = 'films/*'\n{KEY_LINES}[[title]]\npath = 'a'\nclear = true\n".encode(),
    "toml-patterns": b"\3" + f"[[title]]\npath = 'x/*-p*/c'\n{KEY_LINES}pssh = ['{PSSH}']\niv = '{'01' * 16}'\n".encode(),
    "toml-server": b"\5[[title]]\npath = 'films/sita'\nscheme = 'cbcs'\nkey_id = '10000000-2000-3000-4000-500000000000'\n",
    "json": b'\4{"title": [{"path": "a", "scheme": "aes-128", "key_id": "10000000200030004000500000000000",'
            b' "key": "00112233445566778899aabbccddeeff", "key_url": "https://keys.example.net/{key_id}"}]}',
    "json-server": b'\6{"title": [{"path": "films", "clear": true}]}',
}
for name, data in ORIGIN_STORED.items():
    seed("origin_stored", name, data)

seed("link_trace", "steps", b"\0# a comment\n5s 10Mbit/s\n\n500ms 0\n1min30s 2.5Gbit/s # another\n")
seed("link_trace", "mahimahi", b"\1" + b"0\n3\n3\n10\n")
seed("link_trace", "garbage", b"\0" + b"5s fast\n\xff")

# Large packets of a kernel, single and in pairs.
SEGMENTS = pathlib.Path("../crates/base/link/tests/data/segments.txt")
previous = b""
for line in SEGMENTS.read_text().splitlines():
    name, large = line.split(" ")[:2]
    data = bytes.fromhex(large)
    if len(data) > 1000:
        continue
    data = len(data).to_bytes(2, "big") + data
    seed("tun_segments", name, data)
    seed("tun_segments", name + "-after-another", previous + data)
    previous = data

# Streams of the erasure code with every third source lost, polled after each packet; then all at once, backwards.
def fec_streams():
    name, number, packets = None, 0, []
    for line in STREAMS.read_text().splitlines():
        word, *rest = line.split(" ")
        if word == "stream":
            if name:
                yield name, window, packets
            name, _, window, _, first_esi, _ = rest
            window, esi, number, packets = int(window), int(first_esi), 0, []
        elif word == "source":
            payload = b"" if rest[1] == "-" else bytes.fromhex(rest[1])
            if number % 3:
                packets.append((esi + number, b"\0" + ((esi + number) % 2**32).to_bytes(4, "big") + bytes([len(payload)]) + payload))
            number += 1
        elif word == "repair":
            identifier, symbol = map(bytes.fromhex, rest)
            first = (int.from_bytes(identifier[4:], "big") - esi) % 2**32
            end = esi + first + (int.from_bytes(identifier[2:4], "big") & 0xFFF)
            packets.append((end, b"\1" + identifier + bytes([len(symbol)]) + symbol))
    yield name, window, packets


for name, window, packets in fec_streams():
    packets = [data for _, data in sorted(packets)]
    begin = bytes([window, 100, 20])
    seed("fec_decoder", name, begin + b"".join(data + b"\3" for data in packets))
    seed("fec_decoder", name + "-backwards", begin + b"".join(packets[::-1]) + b"\3")
seed("fec_decoder", "outage", bytes([8, 8, 8]) + b"".join(b"\0" + esi.to_bytes(4, "big") + b"\1x" for esi in (5, 9000, 9001)))

# A byte that chooses, then a format in words or as media type parameters.
for number, text in enumerate(
    ["1920x1080@59.94:yuv422p10le", "720x576@25:uyvy422:tff", "1080p59.94-422-10", "2160p60000/1001-4444-16", "2x2@1/9:gray"]
):
    seed("video_format", f"words-{number}", b"\0" + text.encode())
for name, text in {
    "st2110": "sampling=YCbCr-4:2:2; width=1280; height=720; exactframerate=60000/1001; depth=10; TCS=SDR; "
    "colorimetry=BT709; PM=2110GPM; SSN=ST2110-20:2017; ",
    "rfc4175": "video/raw; sampling=RGB; depth=8; width=640; height=480; exactframerate=25; interlace; x-weir-field-order=bff",
    "packing": "sampling=YCbCr-4:2:0; depth=8; width=3; height=3; exactframerate=30; x-weir-packing=yuv420p",
}.items():
    seed("video_format", name, b"\1" + text.encode())

# A byte with the read size, then a stream.
Y4M = b"YUV4MPEG2 W2 H1 F25:1 Ip A1:1 Cmono XYSCSS=400\n"
for name, stream in {
    "two-frames": Y4M + b"FRAME\nabFRAME Ip Xcomment\ncd",
    "no-frames": Y4M,
    "changed": Y4M + b"FRAME\nab" + Y4M.replace(b"W2", b"W3") + b"FRAME\nabc",
    "ended": Y4M + b"FRAME\na",
    "early-line-feed": Y4M + b"ME\na",
    "ten-bits": b"YUV4MPEG2 W3 H3 F30000:1001 It C420p10\nFRAME\n" + bytes(34),
    "unknown-rate": b"YUV4MPEG2 W2 H1 F0:0 Cmono\nFRAME\nab",
    "raw": b"abcdefg",
}.items():
    seed("y4m", name, b"\3" + stream)

# A byte that chooses the form, then a hosts file.
INVENTORY = pathlib.Path("../crates/measure/mesh/tests/data")
seed("hosts_file", "ansible-yaml", b"\0" + (INVENTORY / "inventory.yaml").read_bytes())
seed("hosts_file", "ansible-ini", b"\2" + (INVENTORY / "inventory.ini").read_bytes())
for name, text in {
    "own": "defaults: {user: u, port: 22}\nhosts:\n  - {name: a, address: 192.0.2.1, place: aws:us-east-1, zone: z}\n"
    "  - {name: b, latitude: 1.5, longitude: -2, ssh-arguments: '-J jump', weir: /bin/weir, agent-port: 1}\n",
    "aliases": "a: &a {hosts: {x: &x {ansible_port: 1}, y: *x}}\nb: *a\nc: {children: {a: {}}, vars: {<<: *x}}\n",
}.items():
    seed("hosts_file", name, b"\0" + text.encode())

# Results of other tools, tables and filters.
ROWS = """timestamp,run_id,from_cloud,from_region,to_cloud,to_region,bitrate_Bps,avgrtt,gcp_vm,aws_vm
2022-02-14T08:56:37Z,emosav,AWS,eu-west-1,AWS,eu-central-1,350355456.0,23.541,,t3.nano
2022-02-14T09:03:02Z,emosav,GCP,us-west2,GCP,southamerica-east1,175636480.0,160.186,e2-small,
"""
seed("mesh_import", "intercloud", ROWS.encode())
for name in ("tcp", "udp", "streams-reverse", "refused"):
    seed("mesh_import", f"iperf3-{name}", (INVENTORY / f"iperf3-{name}.json").read_bytes())
for name, text in {
    "locations": "cloud,region,latitude,longitude\nAWS,eu-west-1,53.14,-7.69\nGCP,southamerica-east1,-23.04,2.12\n",
    "prices": "cloud,area,what,usd,date,checked,source\naws,*,internet-gb,0.09,2026-06,yes,https://example.net\n",
    "pair": "aws:us-east-1->gcp:us-central1",
    "clouds": "aws->gcp",
    "distance": "500km",
    "point": "52.37,-4.9",
}.items():
    seed("mesh_import", name, text.encode())

# A byte that chooses the parser, then output of engines, clouds and programs about launched machines.
RECORD = """{"version": 1, "run": "ab12cd34", "begun_unix_s": 1, "delete_after_unix_s": 9, "engine": "/bin/tofu", "own": null,
 "places": [{"place": {"cloud": "aws", "region": "eu-west-1"}, "phase": "up", "machines": 1, "hosts": [], "usd_per_hour": 0.01,
 "begun_unix_s": 1, "gone_unix_s": null, "problem": null}]}"""
TAGS = """{"Tags": [{"Key": "weir-run", "ResourceId": "i-1", "ResourceType": "instance", "Value": "ab12"},
 {"Key": "weir-delete-after", "ResourceId": "i-1", "ResourceType": "instance", "Value": "5"},
 {"Key": "weir-run", "ResourceId": "igw-1", "ResourceType": "internet-gateway", "Value": "ab12"},
 {"Key": "weir-run", "ResourceId": "vpc-1", "ResourceType": "vpc", "Value": "ab12"}]}"""
for form, (name, text) in enumerate([
    ("output", '[{"name": "a", "address": "192.0.2.1", "zone": "z", "user": "u", "port": 22, "weir": "/w"}]'),
    ("tags", TAGS),
    ("list", "ab12 1000 h1\nab12 - h2\n"),
    ("record", RECORD),
    ("log", "Error: creating EC2 Instance: api error VcpuLimitExceeded: no more\n\n  with aws_instance.host1,\n"),
]):
    seed("mesh_cloud", name, bytes([form]) + text.encode())
# A byte that chooses the request, then datagrams of neighbours after their lengths; nonces and tokens of zeros are filled in.
def neighbour(kind, *fields):
    data = b"WN\1" + bytes([kind]) + bytes(8) + b"".join(value.to_bytes(size, "big") for size, value in fields)
    return bytes([len(data)]) + data


def neighbour_start(kind, rate, length, frames):
    return neighbour(2, (8, 0), (1, kind), (1, 0), (2, frames), (2, length), (8, rate), (8, 10**9))


DATA = [(8, 10**9), (8, 10**9 + 10**7)]
FRAME = [*DATA, (4, 1), (4, 0), (2, 0), (2, 1), (8, 10**9), (4, 1)]
for choice, name, datagrams in [
    (0, "call", [neighbour_start(1, 0, 0, 0), neighbour(5, (8, 0)), neighbour(7, *DATA, (4, 0)), neighbour(7, *DATA, (4, 2))]),
    (1, "even", [neighbour_start(2, 10**6, 1000, 0), neighbour(5, (8, 0)), neighbour(7, *DATA, (4, 0)), neighbour(9, (4, 1), (4, 0), (4, 0))]),
    (2, "game", [neighbour_start(3, 10**6, 1000, 60), neighbour(3, (8, 0), (4, 1)), neighbour(5, (8, 0)), neighbour(8, *FRAME), neighbour(4, (8, 0))]),
    (1, "refused", [neighbour(1, (20, 0)), neighbour(6, (1, 1), (8, 10**6))]),
    (128, "stranger", [neighbour_start(1, 0, 0, 0), neighbour(3, (8, 0), (4, 1)), neighbour(1, (20, 0))]),
]:
    seed("neighbour_packets", name, bytes([choice]) + b"".join(datagrams))
for name, text in {
    "bytes": "GET /bytes/3000000?congestion=reno HTTP/1.1\r\nHost: x\r\n\r\n",
    "stream": "GET /stream?ms=2000&id=00ff HTTP/1.1\r\nConnection: close\r\n\r\n",
    "readings": "GET /readings?id=1 HTTP/1.0\r\n\r\n",
    "answer": "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nbody",
}.items():
    seed("neighbour_http", name, text.encode())

# Small MP4 files of several layouts, and their stored indexes behind magic, version and checksum.
INDEX = "cargo run --quiet --manifest-path ../Cargo.toml -p weir-media --example mp4_index --".split()
STORED_HEADER_BYTES = 8 + 4 + 8
SOURCES = (
    "-f lavfi -i testsrc2=size=32x32:rate=8:duration=2 -f lavfi -i sine=sample_rate=8000:duration=1 "
    "-c:v libx264 -g 4 -bf 2 -x264-params sync-lookahead=0:rc-lookahead=4 -pix_fmt yuv420p -c:a aac -b:a 8k -ac 1 -bitexact "
)
for name, flags in {
    "end": "",
    "front": "-movflags +faststart",
    "fragments": "-movflags +frag_keyframe+empty_moov",
    "base": "-movflags +frag_every_frame+empty_moov+default_base_moof",
    "dash": "-map 0 -movflags +dash+global_sidx",
    "negative": "-map 0 -movflags +negative_cts_offsets",
    "variable": "-vf select='not(eq(mod(n,7),3))' -vsync vfr",
}.items():
    with tempfile.NamedTemporaryFile(suffix=".mp4") as made:
        arguments = ["ffmpeg", "-nostdin", "-v", "error", "-y"] + (SOURCES + flags).split() + [made.name]
        subprocess.run(arguments, check=True)
        seed("mp4", name, pathlib.Path(made.name).read_bytes())
        stored = made.name + ".index"
        subprocess.run(INDEX + [made.name, stored], check=True, stdout=subprocess.DEVNULL)
        seed("stored_index", name, pathlib.Path(stored).read_bytes()[STORED_HEADER_BYTES:])
        seed("origin_stored", "index-" + name, b"\0" + pathlib.Path(stored).read_bytes()[STORED_HEADER_BYTES:])
        pathlib.Path(stored).unlink()

# ffmpeg's file of the scheme 'cenc', and the same bytes taken for those of 'cbcs'.
ENCRYPTED = (SEEDS / "mp4" / "encrypted").read_bytes()
seed("decrypted_samples", "cenc", b"\x10" + ENCRYPTED)
seed("decrypted_samples", "cbcs", b"\x10" + ENCRYPTED.replace(b"cenc", b"cbcs"))


def sample_entry(movie):
    """The first sample entry of an MP4 file: the box in 'stsd'."""
    entry = movie.index(b"stsd") + 12
    return movie[entry:entry + int.from_bytes(movie[entry:entry + 4], "big")]


# Sample entries of several encoders' settings, and the first samples, one after the other as ffmpeg puts them in one chunk.
PICTURES = "-f lavfi -i testsrc2=size=64x64:rate=8:duration=1 -pix_fmt yuv420p -bitexact "
for name, flags in {
    "h264": "-c:v libx264 -bf 2 -x264-params sync-lookahead=0:rc-lookahead=4:weightp=2:ref=4",
    "h264-cavlc": "-c:v libx264 -profile:v baseline -x264-params slices=4",
    "h264-fields": "-c:v libx264 -flags +ildct+ilme -x264-params tff=1:bff=0",
    "h265": "-c:v libx265 -tag:v hvc1 -x265-params log-level=error:ref=4:weightp=1:weightb=1:wpp=1:ctu=16:min-cu-size=8",
    "h265-slices": "-c:v libx265 -tag:v hvc1 -x265-params log-level=error:slices=2:ctu=16:min-cu-size=8:scaling-list=default",
}.items():
    with tempfile.NamedTemporaryFile(suffix=".mp4") as made:
        arguments = ["ffmpeg", "-nostdin", "-v", "error", "-y"] + (PICTURES + flags).split() + [made.name]
        subprocess.run(arguments, check=True)
        movie = pathlib.Path(made.name).read_bytes()
        entry = sample_entry(movie)
        sizes = movie.index(b"stsz") + 12
        count = int.from_bytes(movie[sizes:sizes + 4], "big")
        position = movie.index(b"mdat") + 4
        samples = b""
        for number in range(min(count, 6)):
            size = movie[sizes + 4 + 4 * number:sizes + 8 + 4 * number]
            end = position + int.from_bytes(size, "big")
            samples += size + movie[position:end]
            position = end
        for scheme in range(2):
            seed("slice_headers", f"{name}-{scheme}", bytes([scheme]) + entry + samples)

# Lines of the examples of CTA-5004 and CTA-5004-A.
for name, text in {
    "query-1": 'CMCD=br%3D3200%2Cbs%2Cd%3D4004%2Cdl%3D15000%2Cmtp%3D25400%2Cot%3Dv%2Crtp%3D15000%2C'
               'sid%3D%226e2fb550-c457-11e9-bb97-0800200c9a66%22%2Csu%2Ctb%3D6000',
    "query-2": 'a=b&CMCD=bl=(2000),br=(3000;v%20128;a),ot=v,rtp=12000,sf=d,st=v,v=2',
    "headers-1": 'br=3200,d=4004,ot=v,tb=6000\nbl=21300,dl=18500,mtp=48100,su\nbs,rtp=12000\n'
                 'cid="content",com.example-myKey="a\\"b",sid="session",sf=h,st=ll',
    "headers-2": 'br=(3000;v),d=4000,ot=v,tb=(6000;v 350;a)\nbl=(0;v 2000;a),nor=("a" "b";r="0-9"),pr=1.1\nbs,rtp=100\nv=2',
    "others": 'x=:aGk=:,y=@1659578233,z=%"f%c3%bc",no=?0,half=-0.5',
}.items():
    seed("cmcd", name, text.encode())


def mpd(content):
    return (b'<MPD type="static" mediaPresentationDuration="PT10S"><Period><AdaptationSet mimeType="video/mp4">'
            b'<Representation id="1" bandwidth="1"><BaseURL>a.mp4</BaseURL>' + content +
            b'</Representation></AdaptationSet></Period></MPD>')


seed("load_manifest", "template", mpd(b'<SegmentTemplate duration="4" media="$Number%05d$" initialization="i"/>'))
seed("load_manifest", "timeline", mpd(b'<SegmentTemplate media="$Time$"><SegmentTimeline><S t="0" d="2" r="1"/>'
                                      b'<S d="1" r="-1"/></SegmentTimeline></SegmentTemplate>'))
seed("load_manifest", "list", mpd(b'<SegmentList duration="5"><SegmentURL media="x" mediaRange="0-9"/></SegmentList>'))
seed("load_manifest", "index", mpd(b'<SegmentBase indexRange="10-99"><Initialization range="0-9"/></SegmentBase>'))
seed("load_manifest", "playlist", b'#EXTM3U\n#EXT-X-MAP:URI="i",BYTERANGE="9@0"\n#EXT-X-KEY:METHOD=AES-128,URI="k"\n'
     b'#EXTINF:2.5,\n#EXT-X-BYTERANGE:9@9\na\n#EXTINF:2,\n#EXT-X-BYTERANGE:9\na\n#EXT-X-ENDLIST\n')
seed("load_manifest", "multivariant", b'#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",URI="a.m3u8"\n'
     b'#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="avc1,mp4a",AUDIO="a"\nv.m3u8\n')


def h2(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


BEGUN = h2(4, 0, 0, b"\0\3\0\0\0\x64")
seed("load_http2", "answer", b"\7" + BEGUN + h2(1, 4, 1, b"\x88\x0f\x0d\x015") + h2(0, 1, 1, b"hello"))
seed("load_http2", "two", b"\x20" + BEGUN + h2(1, 4, 1, b"\x88") + h2(1, 4, 3, b"\x88") + h2(0, 1, 3, b"ab")
     + h2(0, 9, 1, b"\2cd\0\0"))
seed("load_http2", "parts", b"\3" + BEGUN + h2(1, 0, 1, b"\x08\x03") + h2(9, 4, 1, b"302\x0f\x1f\x83\x9d\x29\xad")
     + h2(6, 0, 0, b"12345678"))
seed("load_http2", "ends", b"\x40" + BEGUN + h2(3, 0, 1, b"\0\0\0\7") + h2(7, 0, 0, b"\0\0\0\1\0\0\0\0"))
seed("load_answer", "length", b"\0\5HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
seed("load_answer", "chunks", b"\0\5HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")
seed("load_answer", "segment", b"\1\7\0\0\0\x08styp\0\0\0\x18moof\0\0\0\x10traf\0\0\0\x08tfhd\0\0\0\x09mdat!")
seed("load_answer", "metrics", b'\2\0a_total{b="c d\\"}"} 1 2\n# TYPE e gauge\ne +Inf\n')
seed("load_answer", "frames", b"\3\4\0\x0a\x93\xa4stop\xc0\xa1m\4\1x")

AZURE = b'''{"location":"westeurope","placementGroupId":"","platformFaultDomain":"1",''' \
    b'''"vmId":"02aab8a4-74ef-476e-8182-f6d2ba4166a6","vmSize":"Standard_D8s_v5","zone":"3"}'''
seed("cloud_metadata", "azure", b"\0HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(AZURE) + AZURE)
seed("cloud_metadata", "google", b"\1HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nContent-Length: 18\r\n\r\n152986662232938449")
seed("cloud_metadata", "redirect", b"\0HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n")
