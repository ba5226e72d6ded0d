#!/usr/bin/env bash
# Requests a second of one core of `weir load` beside `wrk`, same loop, same nginx, in the same minutes; then 5,000 viewers
# in real time on one core: how late it was, and memory for each viewer. Everything is on loopback: nginx on the first core,
# the generator on the second.
#
#   benches/e2e/load.sh [ROUNDS] [SECONDS]      default: 3 rounds of 10 s
set -euo pipefail

cd "$(dirname "$0")/../.."
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
rounds=${1:-3}
seconds=${2:-10}
weir=$PWD/target/release/weir
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

for command in nginx wrk ffmpeg python3 taskset; do
    command -v "$command" >/dev/null || { echo "error: $command is missing: run make prepare-bench" >&2; exit 3; }
done
[ -x "$weir" ] || { echo "error: $weir is missing: run make build" >&2; exit 3; }

# A title of a minute in segments of 2 s: 132 kbit/s of sound and one small rung of pictures (the generator is measured, not
# the memory's bandwidth), then one of 4 Mbit/s.
package() {
    mkdir -p "$work/$1"
    (cd "$work/$1" && ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=320x180:rate=25:duration=60 \
        -f lavfi -i sine=frequency=440:sample_rate=48000:duration=60 -map 0:v -map 1:a -c:v libx264 -preset ultrafast \
        -g 50 -keyint_min 50 -sc_threshold 0 -pix_fmt yuv420p -b:v "$2" -minrate "$2" -maxrate "$2" -bufsize "$2" \
        -c:a aac -b:a 132k -f dash -seg_duration 2 -adaptation_sets 'id=0,streams=v id=1,streams=a' manifest.mpd)
}

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
serve() {
    cat >"$work/nginx.conf" <<END
user root; daemon off; master_process off; pid $work/pid; error_log $work/error.log; worker_rlimit_nofile 65536;
events { worker_connections 20000; }
http { access_log off; keepalive_requests 1000000; sendfile on; client_body_temp_path $work/a; proxy_temp_path $work/b;
fastcgi_temp_path $work/c; uwsgi_temp_path $work/d; scgi_temp_path $work/e; open_file_cache max=1000;
server { listen 127.0.0.1:$port backlog=8192; root $work; } }
END
    taskset -c 0 nginx -c "$work/nginx.conf" &
    server=$!
    sleep 1
}

# The same loop for wrk: manifest, then sound and pictures of segment after segment. Each connection has its own place in it.
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

by_weir() {
    taskset -c 1 "$weir" load "http://127.0.0.1:$port/$1/manifest.mpd" --viewers 50 --for "${seconds}s" --json -q \
        --db "$work/weir.db" | python3 -c 'import json, sys; print(json.load(sys.stdin)["all"]["requests_per_second"])'
}

compare() {
    loop "$1"
    for round in $(seq "$rounds"); do
        echo "$1 $(by_wrk) $(by_weir "$1")"
    done | tee -a "$work/rates" | awk '{ printf "  %-8s wrk %9.0f/s   weir %9.0f/s   ratio %.2f\n", $1, $2, $3, $3 / $2 }'
}

real_time() {
    taskset -c 1 "$weir" load "http://127.0.0.1:$port/small/manifest.mpd" --play real-time --viewers 5000 --over 20s \
        --for 50s --watch-host --json -q --db "$work/weir.db" >"$work/real.json"
    python3 - "$work/real.json" "$work/weir.db" <<'END'
import json, sqlite3, sys
summary = json.load(open(sys.argv[1]))
late = summary["schedule_error"]
database = sqlite3.connect(sys.argv[2])
run = summary["run"]["id"]
memory = [row[0] for row in database.execute("SELECT memory_bytes FROM host_seconds WHERE run_id = ? ORDER BY unix_ns", [run])]
print(f"  5,000 viewers: {summary['all']['requests']} requests, {summary['all']['failed']} failed, "
      f"busiest second {100 * summary['busiest']:.0f} % of a core")
print(f"  schedule error: P50 {late['p50'] / 1e6:.2f} ms, P99 {late['p99'] / 1e6:.2f} ms, max {late['max'] / 1e6:.2f} ms")
print(f"  memory: {(max(memory) - memory[0]) / 5000 / 1024:.1f} KiB for each viewer "
      f"(from {memory[0] >> 20} MiB to {max(memory) >> 20} MiB)")
END
}

package small 100k
package large 4000k
serve
echo "requests a second, 50 connections, one core each for nginx and the generator, $rounds rounds of $seconds s"
compare small
compare large
real_time
