#!/usr/bin/env bash
# Weir and `iperf3 -u` in turn over the same link between two namespaces: the highest rate without loss, the rate flat
# out, and the CPU that each takes; then Weir at the rates of two video formats.
#
# Environment:
#   DURATION=5          seconds of a run flat out
#   LONG=$DURATION      seconds of a run at a format's rate; 60 for figures to quote
#   STEP=3              seconds of one step of the search
#   STEPS=5 TRIES=2     steps of the search, and how often a step may fail before its rate counts as lossy
#   LENGTHS="8100 1400" FLOWS="1 8" LINKS="whole cut" TOOLS="iperf3 weir"
#   WEIR                the binary; target/release/weir
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"
. "$here/weir.sh"
namespaces_enter "$here/flows.sh" "$@"

weir=${WEIR:-$here/../../target/release/weir}
duration=${DURATION:-5}
long=${LONG:-$duration}
step=${STEP:-3}
steps=${STEPS:-5}
tries=${TRIES:-2}
lengths=${LENGTHS:-8100 1400}
flow_counts=${FLOWS:-1 8}
links=${LINKS:-whole cut}
tools=${TOOLS:-iperf3 weir}
formats="1080p59.94-422-10 1080p59.94-4444-16"
ticks=$(getconf CLK_TCK)
declare -A server

wants() {
    [[ " $tools " == *" $1 "* ]]
}

start_servers() {
    if wants iperf3; then
        start_far iperf3 -s >"$scratch/iperf3.log" 2>&1
        server[iperf3]=$FAR_PID
        wait_for_far 5201 "$FAR_PID" || fail "iperf3 -s did not start: $(cat "$scratch/iperf3.log")"
    fi
    if wants weir; then
        start_agent "$FAR_ADDRESS" --max-rate 100Gbit/s
        server[weir]=$AGENT_PID
    fi
}

# CPU time of a process with all its threads, in milliseconds.
cpu_of() {
    sed 's/.*) //' "/proc/$1/stat" | awk -v ticks="$ticks" '{ printf "%d", ($12 + $13) * 1000 / ticks }'
}

# Iperf3 asks for as much socket buffer as Weir does, as far as rmem_max lets it.
iperf3_window() {
    local most
    most=$(cat /proc/sys/net/core/rmem_max 2>/dev/null || echo 212992)
    echo $((most < 1048576 ? most : 1048576))
}

# client_command TOOL RATE FLOWS LENGTH SECONDS: sets $command. RATE is Mbit/s, `max`, or a format's name.
client_command() {
    local tool=$1 rate=$2 flows=$3 length=$4 seconds=$5
    if [ "$tool" = iperf3 ]; then
        # Its -b is for each stream, and 0 is flat out.
        [ "$rate" != max ] || rate=0
        command=(iperf3 -c "$FAR_ADDRESS" -u -J -P "$flows" -b $((rate * 1000000 / flows)) -l "$length" -t "$seconds"
            -w "$(iperf3_window)")
        return
    fi
    command=("$weir" flows "$FAR_ADDRESS:$AGENT_PORT" --flows "$flows" --length "$length" --for "${seconds}s" --json)
    case $rate in
    max) command+=(--rate max) ;;
    *p*) command+=(--format "$rate") ;;
    *) command+=(--rate "${rate}Mbit/s") ;;
    esac
}

# Runs $command on near; its output goes to out, its CPU time in milliseconds to $client_ms.
run_client() {
    local TIMEFORMAT='%U %S'
    { time with_token in_near timeout "$1" "${command[@]}" >"$scratch/out" 2>"$scratch/err"; } 2>"$scratch/times" ||
        return
    client_ms=$(awk 'END { printf "%d", ($1 + $2) * 1000 }' "$scratch/times")
}

# measure TOOL RATE FLOWS LENGTH SECONDS: sets $rate $sent $lost, and $client_ms and $server_ms of CPU.
measure() {
    local before command
    client_command "$@"
    before=$(cpu_of "${server[$1]}")
    if ! run_client $(($5 + 15)); then
        echo "warning: failed: ${command[*]}: $(tail -n 3 "$scratch/err" "$scratch/out" | tr '\n' ' ')" >&2
        sleep 1
        return 1
    fi
    server_ms=$(($(cpu_of "${server[$1]}") - before))
    read -r rate sent lost < <("$here/figures.py" "$1" "$scratch/out")
}

# keep CASE LENGTH TOOL KIND SECONDS: one row for the table.
keep() {
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' \
        "$1" "$2" "$3" "$4" "$rate" "$sent" "$lost" "$client_ms" "$server_ms" "$5" >>"$scratch/rows"
}

without_loss() {
    [ "$sent" -gt 0 ] && [ $((lost * 100000)) -le "$sent" ]
}

# One burst of another process on the machine must not decide a step of the search.
clean_at() {
    local try
    for ((try = 0; try < tries; try++)); do
        if measure "$@" && without_loss; then
            return 0
        fi
    done
    return 1
}

flat_out() {
    local case=$1 tool=$2 flows=$3 length=$4
    measure "$tool" max "$flows" "$length" "$duration" || measure "$tool" max "$flows" "$length" "$duration" || return
    keep "$case" "$length" "$tool" flat "$duration"
}

# Halves the range between nothing and a little more than arrived flat out: the highest rate without loss can be the
# larger of the two, because a receiver that is not flooded spends no time on packets that it then drops.
search() {
    local case=$1 tool=$2 flows=$3 length=$4 low=0 high=$((rate * 12 / 10000000)) n middle best=0
    if without_loss; then
        keep "$case" "$length" "$tool" clean "$duration"
        return
    fi
    for ((n = 0; n < steps; n++)); do
        middle=$(((low + high) / 2))
        if clean_at "$tool" "$middle" "$flows" "$length" "$step"; then
            low=$middle
            # Asking for more does not always send more.
            if [ "$rate" -gt "$best" ]; then
                best=$rate
                keep "$case" "$length" "$tool" clean "$step"
            fi
        else
            high=$middle
        fi
    done
}

try_formats() {
    local case=$1 flows=$2 length=$3 format
    for format in $formats; do
        measure weir "$format" "$flows" "$length" "$long" || continue
        keep "$case" "$length" weir "$format" "$long"
    done
}

try_case() {
    local link=$1 length=$2 flows=$3 tool case="$1, $2 B, $3 flows"
    case=${case/, 1 flows/, 1 flow}
    echo "measuring: $case" >&2
    for tool in $tools; do
        if flat_out "$case" "$tool" "$flows" "$length"; then
            search "$case" "$tool" "$flows" "$length"
        fi
    done
    ! wants weir || try_formats "$case" "$flows" "$length"
}

try_link() {
    local length flows
    namespaces_cut "$([ "$1" = cut ] && echo on || echo off)"
    for length in $lengths; do
        for flows in $flow_counts; do
            try_case "$1" "$length" "$flows"
        done
    done
}

describe_machine() {
    echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $(uname -sr), $(nproc) x $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
    ! wants iperf3 || iperf3 --version | head -n 1
    ! wants weir || "$weir" --version
    echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
    echo
}

! wants weir || check_weir
trap namespaces_destroy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
namespaces_make 9000
scratch=$(mktemp -d -p /run)
export WEIR_DB=$scratch/weir.db
start_servers
describe_machine
for link in $links; do
    try_link "$link"
done
"$here/figures.py" flows "$scratch/rows"
