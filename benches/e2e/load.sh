#!/usr/bin/env bash
# Requests a second of one core of `weir load` beside `wrk` and Locust's FastHttpUser, same loop, same nginx, in the same
# minutes; then viewers in real time on one core: schedule error, and memory per viewer, over HTTP/1.1 and HTTP/2,
# without TLS and with it. Everything is on loopback: nginx on the first core, the generator on the second.
#
#   benches/e2e/load.sh [ROUNDS] [SECONDS] [VIEWERS]      default: 3 rounds of 10 s, 5,000 viewers
set -euo pipefail

cd "$(dirname "$0")/../.."
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
rounds=${1:-3}
seconds=${2:-10}
viewers=${3:-5000}
locust=$PWD/.tools/locust/bin/locust
weir=$PWD/target/release/weir
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

for command in nginx wrk ffmpeg python3 taskset openssl; do
    command -v "$command" >/dev/null || { echo "error: $command is missing: run make prepare-bench" >&2; exit 3; }
done
[ -x "$locust" ] || { echo "error: $locust is missing: run make prepare-bench" >&2; exit 3; }
[ -x "$weir" ] || { echo "error: $weir is missing: run make build" >&2; exit 3; }

# A title of a minute in segments of 2 s: 132 kbit/s of audio and one small rung of video (this measures the generator, not
# memory bandwidth), then one of 4 Mbit/s.
package() {
    mkdir -p "$work/$1"
    (cd "$work/$1" && ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=320x180:rate=25:duration=60 \
        -f lavfi -i sine=frequency=440:sample_rate=48000:duration=60 -map 0:v -map 1:a -c:v libx264 -preset ultrafast \
        -g 50 -keyint_min 50 -sc_threshold 0 -pix_fmt yuv420p -b:v "$2" -minrate "$2" -maxrate "$2" -bufsize "$2" \
        -c:a aac -b:a 132k -f dash -seg_duration 2 -adaptation_sets 'id=0,streams=v id=1,streams=a' manifest.mpd)
}

# Ports for HTTP/1.1 and HTTP/2 without TLS, and with it.
read -r port port_two port_tls port_tls_two < <(python3 -c '
import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(server.getsockname()[1] for server in held))')

serve() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bench \
        -addext subjectAltName=IP:127.0.0.1 -out "$work/cert.pem" -keyout "$work/key.pem" 2>/dev/null
    cat >"$work/nginx.conf" <<END
user root; daemon off; master_process off; pid $work/pid; error_log $work/error.log; worker_rlimit_nofile 65536;
events { worker_connections 20000; }
http { access_log off; keepalive_requests 1000000; sendfile on; client_body_temp_path $work/a; proxy_temp_path $work/b;
fastcgi_temp_path $work/c; uwsgi_temp_path $work/d; scgi_temp_path $work/e; open_file_cache max=1000;
ssl_certificate $work/cert.pem; ssl_certificate_key $work/key.pem;
server { listen 127.0.0.1:$port backlog=8192; listen 127.0.0.1:$port_tls ssl backlog=8192;
listen 127.0.0.1:$port_tls_two ssl http2 backlog=8192; root $work; }
# With sendfile, nginx clears TCP_NODELAY, and the end of each body waits for an acknowledgement (README.md).
server { listen 127.0.0.1:$port_two http2 backlog=8192; sendfile off; root $work; } }
END
    taskset -c 0 nginx -c "$work/nginx.conf" &
    server=$!
    sleep 1
}

# The same loop for wrk: manifest, then audio and video of segment after segment. Each connection has its own place in it.
loop() {
    cat >"$work/loop.lua" <<END
local paths = {"/$1/manifest.mpd"}
for k = 1, 30 do
  paths[#paths + 1] = string.format("/$1/chunk-stream1-%05d.m4s", k)
  paths[#paths + 1] = string.format("/$1/chunk-stream0-%05d.m4s", k)
end
local at = 0
request = function()
  at = at % #paths + 1
  return wrk.format("GET", paths[at])
end
END
}

by_wrk() {
    taskset -c 1 wrk -t 1 -c 50 -d "${seconds}s" -s "$work/loop.lua" "http://127.0.0.1:$port/" |
        awk '/Requests\/sec/ { print $2 }'
}

# The same loop as users of Locust, in one process.
by_locust() {
    cat >"$work/locustfile.py" <<END
from locust import FastHttpUser, constant, task

PATHS = ["/$1/manifest.mpd"]
for k in range(1, 31):
    PATHS += [f"/$1/chunk-stream1-{k:05}.m4s", f"/$1/chunk-stream0-{k:05}.m4s"]


class Viewer(FastHttpUser):
    wait_time = constant(0)

    @task
    def play(self):
        for path in PATHS:
            self.client.get(path, name="all")
END
    taskset -c 1 "$locust" -f "$work/locustfile.py" --headless --users 50 --spawn-rate 50 --run-time "${seconds}s" \
        --host "http://127.0.0.1:$port" --csv "$work/locust" --only-summary >"$work/locust.log" 2>&1
    python3 - "$work/locust_stats.csv" <<'END'
import csv, sys
(row,) = (row for row in csv.DictReader(open(sys.argv[1])) if row["Name"] == "Aggregated")
assert row["Failure Count"] == "0", row
print(row["Requests/s"])
END
}

# by_weir TITLE VERSION PORT
by_weir() {
    taskset -c 1 "$weir" load "http://127.0.0.1:$3/$1/manifest.mpd" --http "$2" --viewers 50 --for "${seconds}s" --json -q \
        --db "$work/weir.db" | python3 -c 'import json, sys; print(json.load(sys.stdin)["all"]["requests_per_second"])'
}

# compare TITLE JUDGED: with 1, compared with the goals
compare() {
    loop "$1"
    for round in $(seq "$rounds"); do
        echo "$1 $(by_wrk) $(by_locust "$1") $(by_weir "$1" 1.1 "$port") $(by_weir "$1" 2 "$port_two")"
    done | awk -v judged="$2" '
        { printf "  %-6s wrk %8.0f/s   FastHttpUser %6.0f/s   weir %8.0f/s, %.2f of wrk, %.1f x FastHttpUser   HTTP/2 %8.0f/s\n",
            $1, $2, $3, $4, $4 / $2, $4 / $3, $5
          wrk += $2; fast += $3; weir += $4 }
        END {
            if (!judged) exit
            printf "  %-6s of wrk, all rounds           %.2f (goal >= 0.80: %s)\n", $1, weir / wrk, (weir / wrk >= 0.8 ? "met" : "missed")
            printf "  %-6s x FastHttpUser, all rounds   %.1f (goal >= 3.0: %s)\n", $1, weir / fast, (weir / fast >= 3 ? "met" : "missed") }'
}

# real_time WORDS SCHEME VERSION PORT
real_time() {
    taskset -c 1 "$weir" load "$2://127.0.0.1:$4/small/manifest.mpd" --http "$3" --insecure --play real-time \
        --viewers "$viewers" --over 20s --for 50s --watch-host --json -q --db "$work/weir.db" >"$work/real.json"
    python3 - "$work/real.json" "$work/weir.db" "$1" "$viewers" <<'END'
import json, sqlite3, sys
summary = json.load(open(sys.argv[1]))
words, viewers = sys.argv[3], int(sys.argv[4])
late = summary["schedule_error"]
database = sqlite3.connect(sys.argv[2])
run = summary["run"]["id"]
memory = [row[0] for row in database.execute("SELECT memory_bytes FROM host_seconds WHERE run_id = ? ORDER BY unix_ns", [run])]
print(f"  {viewers} viewers by {words}: {summary['all']['requests']} requests, {summary['all']['failed']} failed, "
      f"busiest second {100 * summary['busiest']:.0f} % of a core")
met = lambda holds: "met" if holds else "missed"
late_ms = late["p99"] / 1e6
each_kib = (max(memory) - memory[0]) / viewers / 1024
print(f"    schedule error: P50 {late['p50'] / 1e6:.2f} ms, P99 {late_ms:.2f} ms (goal < 5: {met(late_ms < 5)}), "
      f"max {late['max'] / 1e6:.2f} ms")
print(f"    memory: {each_kib:.1f} KiB for each viewer (goal < 32: {met(each_kib < 32)}), "
      f"from {memory[0] >> 20} MiB to {max(memory) >> 20} MiB")
END
}

package small 100k
package large 4000k
serve
echo "requests a second, 50 connections, one core each for nginx and the generator, $rounds rounds of $seconds s"
compare small 1
# Beside the generator, memory bandwidth: not compared with the goals.
compare large 0
real_time HTTP/1.1 http 1.1 "$port"
real_time HTTP/2 http 2 "$port_two"
real_time 'HTTP/1.1 over TLS' https 1.1 "$port_tls"
real_time 'HTTP/2 over TLS' https 2 "$port_tls_two"
