#!/usr/bin/env bash
# The static weir beside the dynamic one, in turn: flat-out `weir flows` against its own agent on loopback, and requests per
# second of `weir origin`, as wrk counts them. Prints the median of the ratios of pairs: goal 0.97 or more.
#
# Environment:
#   STATIC              default dist/weir-x86_64-unknown-linux-musl (of this machine's processor)
#   DYNAMIC             default target/release/weir
#   PAIRS=7             pairs of runs
#   DURATION=4          seconds of one run
#   LENGTH=8100         UDP payload of flows, bytes
#   CLIENTS=50          connections of wrk
#   PARTS="flows origin"
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
static=$(realpath "${STATIC:-$root/dist/weir-$(uname -m)-unknown-linux-musl}")
dynamic=$(realpath "${DYNAMIC:-$root/target/release/weir}")
pairs=${PAIRS:-7}
duration=${DURATION:-4}
length=${LENGTH:-8100}
clients=${CLIENTS:-50}
parts=${PARTS:-flows origin}
port=4847
STARTED=()

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 3
}

start() {
    setpriv --pdeathsig KILL -- "$@" >"$scratch/log" 2>&1 &
    PID=$!
    STARTED+=("$PID")
}

stop() {
    kill "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

clean_up() {
    local pid
    for pid in "${STARTED[@]}"; do
        stop "$pid"
    done
    rm -rf "$scratch"
}

wait_for() {
    local tries
    for tries in {1..100}; do
        [ -z "$(ss -Hltn "sport = :$1")" ] || return 0
        kill -0 "$PID" 2>/dev/null || break
        sleep 0.1
    done
    fail "nothing listens on port $1: $(tail -n 3 "$scratch/log" | tr '\n' ' ')"
}

# flows WEIR: prints Gbit/s that arrived. Both ends are the same binary.
flows() {
    start "$1" agent --port $port --max-rate 100Gbit/s --quiet
    wait_for $port
    "$1" flows "127.0.0.1:$port" --rate max --length "$length" --for "${duration}s" --json --quiet >"$scratch/out"
    stop "$PID"
    "$here/figures.py" weir "$scratch/out" | awk '{ print $1 / 1e9 }'
}

# origin WEIR: prints requests per second. The server has the first core, the clients the second.
origin() {
    start taskset -c 0 "$1" origin "$scratch/films" --listen "127.0.0.1:$port" --threads 1 --segment 2s --quiet
    wait_for $port
    [ -s "$scratch/addresses" ] ||
        "$here/origin_figures.py" segments "http://127.0.0.1:$port/" film/audio/a1/playlist.m3u8 >"$scratch/addresses"
    ADDRESSES=$scratch/addresses taskset -c "$(($(nproc) > 1))" wrk -t 1 -c "$clients" -d "${duration}s" \
        -s "$here/addresses.lua" "http://127.0.0.1:$port" >"$scratch/wrk"
    stop "$PID"
    awk '/^Requests\/sec/ { print $2 }' "$scratch/wrk"
}

make_film() {
    local quietly=(ffmpeg -nostdin -loglevel error -y)
    mkdir -p "$scratch/films/film"
    "${quietly[@]}" -f lavfi -i "testsrc2=size=320x180:rate=30:duration=60" -c:v libx264 -preset ultrafast -g 60 \
        -pix_fmt yuv420p "$scratch/films/film/video.mp4"
    "${quietly[@]}" -f lavfi -i "anoisesrc=sample_rate=48000:amplitude=0.5:duration=60" -ac 2 -c:a aac -b:a 132k \
        "$scratch/films/film/audio.mp4"
}

# compare WHAT UNIT: pairs in alternating order, so that a machine that slows down favours neither.
compare() {
    local what=$1 n first second
    printf '\n%s, %s\n  pair    static   dynamic  ratio\n' "$what" "$2"
    for ((n = 1; n <= pairs; n++)); do
        if ((n % 2)); then
            first=$("$what" "$static") second=$("$what" "$dynamic")
        else
            second=$("$what" "$dynamic") first=$("$what" "$static")
        fi
        awk -v n="$n" -v a="$first" -v b="$second" 'BEGIN { printf "%6d %9.2f %9.2f  %.3f\n", n, a, b, a / b }'
    done | tee "$scratch/pairs"
    sort -k 4 -n "$scratch/pairs" | awk '{ ratio[NR] = $4 } END {
        median = NR % 2 ? ratio[(NR + 1) / 2] : (ratio[NR / 2] + ratio[NR / 2 + 1]) / 2
        printf "median ratio %.3f (goal >= 0.97: %s)\n", median, (median >= 0.97 ? "met" : "missed") }'
}

for file in "$static" "$dynamic"; do
    [ -x "$file" ] || fail "there is no $file: run 'make dist' and 'make build', or set STATIC and DYNAMIC"
done
for tool in ffmpeg wrk; do
    command -v "$tool" >/dev/null || fail "there is no $tool: run 'scripts/install_prerequisites.sh bench' first"
done
scratch=$(mktemp -d)
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export WEIR_DB=$scratch/weir.db
echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $(uname -sr), $(nproc) x $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
"$static" --version
"$dynamic" --version
echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
for part in $parts; do
    case $part in
    flows) compare flows "Gbit/s received, loopback, $length B, 1 flow, ${duration} s" ;;
    origin)
        [ -e "$scratch/films" ] || make_film
        compare origin "requests/s, audio segments of 2 s, $clients connections, ${duration} s"
        ;;
    *) fail "PARTS is flows, origin or both" ;;
    esac
done
echo "load average after: $(cut -d ' ' -f 1-3 /proc/loadavg)"
