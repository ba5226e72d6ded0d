#!/usr/bin/env bash
# `weir send` and `weir recv` over a link between two namespaces that cuts large sends into packets, at the rates of two
# video formats; then SRT (srt-live-transmit) and RIST (ristsender, ristreceiver) in the same minutes, at the highest
# rate that each carries without loss. Prints rate, loss, and the CPU that each end takes.
#
# Environment:
#   LONG=20             seconds of a run of Weir; 600 for figures to quote
#   STEP=5 STEPS=5      seconds of one step of the search for a peer's highest rate, and their number
#   TRIES=2             how often a step may fail before its rate counts as lossy
#   LATENCY=100ms       Weir's latency budget; SRT keeps its usual 120 ms, RIST gets 100 ms
#   FORMATS="1080p59.94-422-10:off 1080p59.94-422-10:10/100 1080p59.94-4444-16:off"   format:FEC
#   PROTECT="off aes-128-gcm"   protections of Weir's streams, each for every format; with one that encrypts, SRT and RIST
#                               encrypt with AES-128, too
#   THREADS=auto        packet threads of each end of Weir, such as "1 2", each for every format and protection
#   SHARE=              part of a core that each packet thread of Weir has, such as 0.3: shows on few cores what more threads carry
#                       where each has one. Needs root and control groups v1; the threads are not real-time ones then
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
protections=${PROTECT:-off aes-128-gcm}
threads=${THREADS:-auto}
share=${SHARE:-}
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
    awk -v rows="$scratch/rows" -v tool="$1" -v what="$2" -v gbits="$3" -v lost="$4" -v near="$5" -v far="$6" \
        -v seconds="$7" 'BEGIN {
        each = (near + far) / 1000 / gbits
        printf "%-6s %-44s %8.3f %10s %9.2f %9.2f %12.4f\n", tool, what, gbits / seconds, lost,
            near / 1000 / seconds, far / 1000 / seconds, each
        printf "%s\t%s\t%f\t%d\t%f\n", tool, what, gbits / seconds, lost, each >>rows
    }'
}

# field NAME FILE: a number of a JSON result.
field() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[2]))[sys.argv[1]])' "$1" "$2"
}

# Like start_far, on near; its standard input is kept in the background. KILL, because srt-live-transmit
# does not heed TERM while it waits for input.
start_near() {
    nsenter --net=/run/netns/near -- setpriv --pdeathsig KILL -- "$@" <&0 &
    NEAR_PID=$!
    FAR_PIDS+=("$NEAR_PID")
}

# wait_for_line FILE PID SECONDS: until PID has written a line to FILE.
wait_for_line() {
    local n
    for ((n = 0; n < $3 * 10; n++)); do
        [ ! -s "$1" ] || return 0
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    [ -s "$1" ]
}

# The video itself counts, without headers and repairs, as it does for the peers.
frame_bytes() {
    case $1 in
    1080p*-422-10) echo 5184000 ;;
    1080p*-4444-16) echo 16588800 ;;
    2160p*-422-10) echo 20736000 ;;
    2160p*-4444-16) echo 66355200 ;;
    *) fail "how long is a frame of $1?" ;;
    esac
}

# sample_memory NEAR FAR: resident memory of both in MB, sixty times in a run.
sample_memory() {
    local interval=$(((long + 59) / 60))
    while sleep "$interval" && kill -0 "$1" "$2" 2>/dev/null; do
        awk '/^VmRSS/ { printf "%d ", $2 / 1024 } END { print "" }' "/proc/$1/status" "/proc/$2/status" 2>/dev/null
    done >"$scratch/memory"
}

# bound PID NAME: the threads of a process that are called so have their share of a core, in a control group each.
bound() {
    local task group
    until grep -qsx "$2" "/proc/$1/task/"*/comm; do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    # All begin together.
    sleep 0.1
    for task in "/proc/$1/task/"*; do
        [ "$(cat "$task/comm")" = "$2" ] || continue
        group=/sys/fs/cgroup/cpu/weir-bench-${task##*/}
        mkdir "$group"
        groups+=("$group")
        echo 4000 >"$group/cpu.cfs_period_us"
        awk -v share="$share" 'BEGIN { printf "%d", share * 4000 }' >"$group/cpu.cfs_quota_us"
        echo "${task##*/}" >"$group/tasks"
    done
}

# Real-time threads have no such bound.
may_be_bound=()
groups=()
[ -z "$share" ] || may_be_bound=(setpriv --inh-caps=-sys_nice --bounding-set=-sys_nice --)

try_weir() {
    local format=$1 fec=$2 protect=$3 count=$4 near=$scratch/near far=$scratch/far receiver sampler
    local options=(--protect "$protect" --threads "$count") open=() what="$1, FEC $2, $3"
    [ "$count" = auto ] || what+=", $count thread(s)"
    if [ "$protect" = off ]; then
        open=(--open)
    else
        options+=(--token-file "$scratch/token")
    fi
    rm -f "$near" "$far"
    start_far "${may_be_bound[@]}" "$weir" recv --from "$NEAR_ADDRESS" "${options[@]}" --latency "$latency" --wait 20s --json -q >"$far" 2>"$far.log"
    receiver=$FAR_PID
    start_near "${may_be_bound[@]}" "$weir" send --test-pattern "$format" --for "${long}s" --fec "$fec" "${options[@]}" "${open[@]}" --json -q >"$near" 2>"$near.log"
    if [ -n "$share" ]; then
        bound "$NEAR_PID" send
        bound "$receiver" receive
    fi
    sample_memory "$NEAR_PID" "$receiver" &
    sampler=$!
    if ! wait_for_line "$near" "$NEAR_PID" $((long + 30)) || ! wait_for_line "$far" "$receiver" 30 ||
        ! wait "$NEAR_PID" "$receiver"; then
        echo "weir, $what: failed: $(tail -n 3 "$near.log" "$far.log" | tr '\n' ' ')"
        stop_all
        return
    fi
    stop_all
    wait "$sampler"
    local frames lost seconds
    frames=$(field frames "$far")
    lost=$(($(field frames "$near") - frames + $(field frames_damaged "$far")))
    seconds=$(awk -v ns="$(field duration_ns "$near")" 'BEGIN { print ns / 1e9 }')
    row weir "$what" "$(awk -v n="$frames" -v bytes="$(frame_bytes "$format")" 'BEGIN { print n * bytes * 8 / 1e9 }')" \
        "$lost frames" "$(($(field process_cpu_ns "$near") / 1000000))" \
        "$(($(field process_cpu_ns "$far") / 1000000))" "$seconds"
    python3 - "$near" "$far" "$scratch/memory" <<'PYTHON'
import json, sys

near, far = (json.load(open(path)) for path in sys.argv[1:3])
memory = [tuple(map(int, line.split())) for line in open(sys.argv[3]) if len(line.split()) == 2]
seconds = near["duration_ns"] / 1e9
delay, used = far["delay"], far["used"]
print(f"       sending threads {near['cpu_ns'] / 1e9 / seconds:.2f}, receiving threads {far['cpu_ns'] / 1e9 / seconds:.2f} of a core;",
      f"frames out after P50 {delay['p50'] / 1e6:.1f}, P99.9 {delay['p999'] / 1e6:.1f} ms;",
      f"budget used P50 {used['p50'] / 1e6:.2f}, P99.9 {used['p999'] / 1e6:.2f} ms")
(sender,) = far["senders"]
print(f"       frames: {far['frames_damaged']} damaged, {far['frames_lost']} lost, {far['frames_dropped']} dropped;",
      f"packets: {sender['lost']} lost ({sender['socket_drops']} at sockets, {near['unsent']} never sent),",
      f"{sender['recovered']} by FEC, {sender['retransmitted']} by ARQ, {sender['unrepaired']} left")
for name, column in zip(("sender", "receiver"), zip(*memory)):
    sixth = column[len(column) // 6]
    print(f"       memory of the {name}: {sixth} MB after a sixth of the run, {column[-1]} MB at its end, at most {max(column)} MB")
PYTHON
}

# follow NEAR FAR FEEDER SECONDS: waits until all is fed; sets $sent, $took (seconds), and what CPU both ends took.
follow() {
    local near_before far_before
    kill -0 "$1" "$2" 2>/dev/null || return
    near_before=$(cpu_of "$1")
    far_before=$(cpu_of "$2")
    # A peer that cannot keep up delays the feeder, within a limit.
    wait_for_line "$scratch/sent" "$3" $(($4 * 2 + 5)) || return
    read -r sent took <"$scratch/sent"
    # The last pieces are in transit for the peer's latency.
    sleep 0.2
    kill -0 "$1" "$2" 2>/dev/null || return
    near_ms=$(($(cpu_of "$1") - near_before))
    far_ms=$(($(cpu_of "$2") - far_before))
}

# measure_srt RATE SECONDS LENGTH: sets $sent and $came, in pieces of LENGTH bytes, and what follow sets. FIFOs are opened
# for reading and writing, which does not block and breaks no pipe. srt-live-transmit does not send its last pieces
# before others follow, and does not end with its input: the feeder continues slowly with pieces that do not count.
measure_srt() {
    local buffers="payloadsize=$3&rcvbuf=200000000&sndbuf=200000000&fc=200000$srt_cipher" counter far near
    start_near "$peer_traffic" count-bytes "$3" 0.5 <>"$scratch/output" >"$scratch/came"
    counter=$NEAR_PID
    start_far srt-live-transmit -q "-chunk:$3" "srt://:9000?mode=listener&$buffers" file://con \
        1<>"$scratch/output" 2>"$scratch/log"
    far=$FAR_PID
    sleep 0.5
    start_near srt-live-transmit -q "-chunk:$3" file://con "srt://$FAR_ADDRESS:9000?$buffers" \
        <>"$scratch/input" >>"$scratch/log" 2>&1
    near=$NEAR_PID
    sleep 0.5
    start_near "$peer_traffic" feed-bytes "$1" "$2" "$3" 1<>"$scratch/input" 2>"$scratch/sent"
    follow "$near" "$far" "$NEAR_PID" "$2" || return
    sleep 0.5
    stop "$near"
    stop "$far"
    wait_for_line "$scratch/came" "$counter" 10 || return
    came=$(cat "$scratch/came")
}

# Datagrams received on far's loopback, which carries only the output of ristreceiver. They need no reader.
came_far() {
    in_far awk '$1 == "lo:" { print $3 }' /proc/net/dev
}

# measure_rist RATE SECONDS LENGTH: the same, in datagrams. Above `bandwidth`, 100 Mbit/s if not set, it drops repeats.
measure_rist() {
    local options="buffer=100&bandwidth=10000000" far near before
    start_far "$peer_traffic" hold-udp 6000
    before=$(came_far)
    start_far ristreceiver "${rist_cipher[@]}" -v 3 -S 0 -i "rist://@$FAR_ADDRESS:7000?$options" -o udp://127.0.0.1:6000 >"$scratch/log" 2>&1
    far=$FAR_PID
    start_near ristsender "${rist_cipher[@]}" -v 3 -S 0 -i udp://@127.0.0.1:5000 -o "rist://$FAR_ADDRESS:7000?$options" >>"$scratch/log" 2>&1
    near=$NEAR_PID
    # The session must be established.
    sleep 1
    start_near "$peer_traffic" feed-udp "$1" "$2" "$3" 127.0.0.1 5000 >"$scratch/sent"
    follow "$near" "$far" "$NEAR_PID" "$2" || return
    sleep 1
    came=$(($(came_far) - before))
}

# measure TOOL RATE SECONDS LENGTH: false if anything was lost, or failed.
measure() {
    local tool=$1 failed=
    shift
    rm -f "$scratch/sent" "$scratch/came"
    sent=0 came=0
    "measure_$tool" "$@" || failed=yes
    stop_all
    if [ -n "$failed" ]; then
        echo "warning: $tool failed at $1 Mbit/s, $3 B: $(tail -n 3 "$scratch/log" | tr '\n' ' ')" >&2
        return 1
    fi
    echo "       $tool at $1 Mbit/s, $3 B, took $took s: $((sent - came)) of $sent lost" >&2
    [ "$came" -ge "$sent" ] && [ "$sent" -gt 0 ]
}

clean_at() {
    local try
    for ((try = 0; try < tries; try++)); do
        ! measure "$1" "$2" "$step" "$3" || return 0
    done
    return 1
}

# search TOOL LENGTH HIGH: bisects the range up to HIGH Mbit/s. The carried rate counts, not the requested one: the feeder
# waits for a slow peer.
search() {
    local tool=$1 length=$2 low=0 high=$3 n middle best=0 carried kept=
    for ((n = 0; n < steps; n++)); do
        middle=$(((low + high) / 2))
        if clean_at "$tool" "$middle" "$length"; then
            low=$middle
            carried=$(awk -v n="$came" -v length_="$length" -v took="$took" 'BEGIN { printf "%d", n * length_ * 8 / took }')
            if [ "$carried" -gt "$best" ]; then
                best=$carried
                kept="$(awk -v n="$came" -v length_="$length" 'BEGIN { print n * length_ * 8 / 1e9 }') 0 $near_ms $far_ms $took"
            fi
        else
            high=$middle
        fi
    done
    if [ -z "$kept" ]; then
        echo "$tool, $length B: loss at every tested rate"
        return
    fi
    # shellcheck disable=SC2086
    row "$tool" "$length B, highest without loss" $kept
}

# Weir at the highest rate of those that lost nothing, over each peer.
compare() {
    awk -F '\t' '
        $1 == "weir" { if ($4 == 0 && $3 > rate) { rate = $3; each = $5; what = $2 }; next }
        { name[++peers] = $1 ", " $2; its_rate[peers] = $3; its_each[peers] = $5 }
        function verdict(met) { return met ? "met" : "missed" }
        END {
            if (!rate || !peers) exit
            printf "\n%-44s %21s %21s\n", "Weir (" what ") over", "rate, goal >= 3", "CPU s/Gbit, <= 0.5"
            for (n = 1; n <= peers; n++) {
                faster = rate / its_rate[n]
                cheaper = each / its_each[n]
                printf "%-44s %14.2f %6s %14.2f %6s\n", name[n], faster, verdict(faster >= 3), cheaper, verdict(cheaper <= 0.5)
            }
        }' "$scratch/rows"
}

check_weir
end() {
    namespaces_destroy
    [ "${#groups[@]}" -eq 0 ] || rmdir "${groups[@]}"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
namespaces_make 9000
namespaces_cut on
scratch=$(mktemp -d -p /run)
export WEIR_DB=$scratch/weir.db
(umask 077 && od -An -N 32 -t x1 /dev/urandom | tr -d ' \n' >"$scratch/token")
srt_cipher=
rist_cipher=()
if [ "$protections" != off ]; then
    srt_cipher="&passphrase=$(head -c 32 "$scratch/token")&pbkeylen=16"
    # The main profile encrypts, with a key from the secret.
    rist_cipher=(-p 1 -s "$(head -c 32 "$scratch/token")" -e 128)
fi
mkfifo "$scratch/input" "$scratch/output"
touch "$scratch/rows"
echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $(uname -sr), $(nproc) x $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
"$weir" --version
echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
printf '%-6s %-44s %8s %10s %9s %9s %12s\n' tool case Gbit/s lost "near CPU" "far CPU" "CPU s/Gbit"
if wants weir; then
    for case in $formats; do
        for protect in $protections; do
            for count in $threads; do
                try_weir "${case%%:*}" "${case##*:}" "$protect" "$count"
            done
        done
    done
fi
# The longest payload of SRT in live mode; for RIST the usual one, and the longest that fits the link.
! wants srt || search srt 1456 3000
if wants rist; then
    search rist 1400 2000
    search rist 8900 4000
fi
compare
