#!/usr/bin/env bash
# `weir send` and `weir recv` over a link between two namespaces that cuts large sends into packets, at the rates of two
# video formats; then SRT (srt-live-transmit) and RIST (ristsender, ristreceiver) in the same minutes, at the highest
# rate that each carries without loss. Prints rate, loss, and the CPU that each end takes.
#
# Environment:
#   LONG=20             seconds of a run of Weir; 600 for figures to quote
#   STEP=5 STEPS=5      seconds of one step of the search for a peer's highest rate, and their number
#   TRIES=2             how often a step may fail before its rate counts as lossy
#   LATENCY=100ms       Weir's latency budget; the peers keep their own defaults
#   FORMATS="1080p59.94-422-10:off 1080p59.94-422-10:10/100 1080p59.94-4444-16:off"   format:FEC
#   TOOLS="weir srt rist"
#   WEIR                the binary; target/release/weir
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"
. "$here/weir.sh"
namespaces_enter "$here/carry.sh" "$@"

weir=${WEIR:-$here/../../target/release/weir}
long=${LONG:-20}
step=${STEP:-5}
steps=${STEPS:-5}
tries=${TRIES:-2}
latency=${LATENCY:-100ms}
formats=${FORMATS:-1080p59.94-422-10:off 1080p59.94-422-10:10/100 1080p59.94-4444-16:off}
tools=${TOOLS:-weir srt rist}
ticks=$(getconf CLK_TCK)
peer_traffic=$here/peer_traffic.py

wants() {
    [[ " $tools " == *" $1 "* ]]
}

# CPU time of a process with all its threads, in milliseconds.
cpu_of() {
    sed 's/.*) //' "/proc/$1/stat" | awk -v ticks="$ticks" '{ printf "%d", ($12 + $13) * 1000 / ticks }'
}

# row TOOL CASE GBITS LOST NEAR_MS FAR_MS SECONDS
row() {
    awk -v tool="$1" -v what="$2" -v gbits="$3" -v lost="$4" -v near="$5" -v far="$6" -v seconds="$7" 'BEGIN {
        printf "%-6s %-28s %8.3f %10s %9.2f %9.2f %12.4f\n", tool, what, gbits / seconds, lost,
            near / 1000 / seconds, far / 1000 / seconds, (near + far) / 1000 / gbits
    }' | tee -a "$scratch/rows"
}

# field NAME FILE: a number of a JSON result.
field() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[2]))[sys.argv[1]])' "$1" "$2"
}

try_weir() {
    local format=$1 fec=$2 near=$scratch/near far=$scratch/far
    start_far "$weir" recv --from "$NEAR_ADDRESS" --latency "$latency" --wait 20s --json -q >"$far" 2>"$far.log"
    local receiver=$FAR_PID
    in_near "$weir" send --test-pattern "$format" --for "${long}s" --fec "$fec" --open --json -q >"$near" 2>"$near.log" ||
        fail "weir send failed: $(cat "$near.log" "$far.log")"
    wait "$receiver" || fail "weir recv failed: $(cat "$far.log")"
    local frames lost seconds
    frames=$(field frames "$far")
    lost=$(($(field frames "$near") - frames))
    seconds=$(awk -v ns="$(field duration_ns "$near")" 'BEGIN { print ns / 1e9 }')
    row weir "$format, FEC $fec" "$(awk -v bytes="$(field bytes "$near")" 'BEGIN { print bytes * 8 / 1e9 }')" \
        "$lost frames" "$(($(field process_cpu_ns "$near") / 1000000))" \
        "$(($(field process_cpu_ns "$far") / 1000000))" "$seconds"
    python3 - "$near" "$far" <<'PYTHON'
import json, sys

near, far = (json.load(open(path)) for path in sys.argv[1:])
seconds = near["duration_ns"] / 1e9
delay, used = far["delay"], far["used"]
print(f"       sending thread {near['cpu_ns'] / 1e9 / seconds:.2f}, receiving thread {far['cpu_ns'] / 1e9 / seconds:.2f} of a core;",
      f"frames out after P50 {delay['p50'] / 1e6:.1f}, P99.9 {delay['p999'] / 1e6:.1f} ms;",
      f"budget used P50 {used['p50'] / 1e6:.2f}, P99.9 {used['p999'] / 1e6:.2f} ms")
PYTHON
}

# Like start_far, on near.
start_near() {
    nsenter --net=/run/netns/near -- setpriv --pdeathsig TERM -- "$@" &
    NEAR_PID=$!
    FAR_PIDS+=("$NEAR_PID")
}

# Notes the CPU of both ends until the feeder $3 has ended, and what it fed has come out.
follow_cpu() {
    near_ms=0 far_ms=0
    while kill -0 "$3" 2>/dev/null; do
        near_ms=$(cpu_of "$1" 2>/dev/null) && far_ms=$(cpu_of "$2" 2>/dev/null) || break
        sleep 0.1
    done
    sleep 1
}

# measure_srt RATE SECONDS _: sets $sent $came $near_ms $far_ms.
measure_srt() {
    local buffers="payloadsize=1456&rcvbuf=200000000&sndbuf=200000000&fc=200000" counter far near
    "$peer_traffic" count-bytes <"$scratch/output" >"$scratch/came" &
    counter=$!
    start_far srt-live-transmit -q -chunk:1456 "srt://:9000?mode=listener&$buffers" file://con \
        >"$scratch/output" 2>"$scratch/srt.log"
    far=$FAR_PID
    sleep 0.5
    start_near srt-live-transmit -q -chunk:1456 file://con "srt://$FAR_ADDRESS:9000?$buffers" \
        <>"$scratch/input" 2>>"$scratch/srt.log"
    near=$NEAR_PID
    "$peer_traffic" feed-bytes "$1" "$2" 1456 >"$scratch/input" 2>"$scratch/sent" &
    follow_cpu "$near" "$far" "$!"
    stop "$near"
    stop "$far"
    wait "$counter" || true
    sent=$(tail -n 1 "$scratch/sent") came=$(cat "$scratch/came")
}

# measure_rist RATE SECONDS LENGTH: the same.
measure_rist() {
    local counter far near
    start_far ristreceiver -i "rist://@$FAR_ADDRESS:7000?buffer=100" -o udp://127.0.0.1:6000 >"$scratch/rist.log" 2>&1
    far=$FAR_PID
    start_near ristsender -i udp://@127.0.0.1:5000 -o "rist://$FAR_ADDRESS:7000?buffer=100" >>"$scratch/rist.log" 2>&1
    near=$NEAR_PID
    in_far "$peer_traffic" count-udp 6000 1 >"$scratch/came" &
    counter=$!
    sleep 1
    in_near "$peer_traffic" feed-udp "$1" "$2" "$3" 127.0.0.1 5000 >"$scratch/sent" &
    follow_cpu "$near" "$far" "$!"
    wait "$counter" || true
    stop "$near"
    stop "$far"
    sent=$(cat "$scratch/sent") came=$(cat "$scratch/came")
}

clean_at() {
    local try
    for ((try = 0; try < tries; try++)); do
        if "measure_$1" "$2" "$step" "$3" && [ "$came" -ge "$sent" ] && [ "$sent" -gt 0 ]; then
            return 0
        fi
    done
    return 1
}

# search TOOL LENGTH HIGH: halves the range up to HIGH Mbit/s.
search() {
    local tool=$1 length=$2 low=0 high=$3 n middle best=
    for ((n = 0; n < steps; n++)); do
        middle=$(((low + high) / 2))
        if clean_at "$tool" "$middle" "$length"; then
            low=$middle
            best="$(awk -v bytes="$came" 'BEGIN { print bytes * 8 / 1e9 }') 0 $near_ms $far_ms $step"
        else
            high=$middle
        fi
    done
    if [ -z "$best" ]; then
        echo "$tool, $length B: lost something at every rate that was tried" | tee -a "$scratch/rows"
        return
    fi
    # shellcheck disable=SC2086
    row "$tool" "$length B, highest without loss" $best
}

check_weir
trap namespaces_destroy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
namespaces_make 9000
namespaces_cut on
scratch=$(mktemp -d -p /run)
export WEIR_DB=$scratch/weir.db
mkfifo "$scratch/input" "$scratch/output"
echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $(uname -sr), $(nproc) x $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
"$weir" --version
echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
printf '%-6s %-28s %8s %10s %9s %9s %12s\n' tool case Gbit/s lost "near CPU" "far CPU" "CPU s/Gbit"
if wants weir; then
    for case in $formats; do
        try_weir "${case%%:*}" "${case##*:}"
    done
fi
! wants srt || search srt 1456 3000
if wants rist; then
    search rist 1400 2000
    search rist 8100 4000
fi
