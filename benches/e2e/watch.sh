#!/usr/bin/env bash
# What watching 50 paths takes, and what their agent takes: CPU time, memory and context switches over a minute, on loopback.
# RTT only, four packets a second for each path. With MEASURED_S=3600 it runs for an hour, and prints the memory each minute: all
# of it, and what is not the program's file.
#
#   benches/e2e/watch.sh [WEIR]     # default: target/release/weir
set -euo pipefail

weir=$(realpath "${1:-target/release/weir}")
pairs=50
warm_s=20
measured_s=${MEASURED_S:-60}
folder=$(mktemp -d)
pids=()

clean() {
    kill "${pids[@]}" 2>/dev/null || true
    wait
    rm -rf "$folder"
}
trap clean EXIT

cd "$folder"
"$weir" agent --open --listen 127.0.0.1 --port 14747 --udp-ports 20000..20999 --max-sessions 200 >agent.log 2>&1 &
agent=$!
pids+=("$agent")
{
    printf 'here = "near"\n[[host]]\nname = "near"\n'
    for number in $(seq "$pairs"); do
        printf '[[host]]\nname = "far%s"\naddress = "127.0.0.1:14747"\n' "$number"
    done
} >watch.toml
sleep 1
"$weir" watch watch.toml --db watch.db >watch.log 2>&1 &
watcher=$!
pids+=("$watcher")
sleep "$warm_s"

# Of a process: clock ticks of user and system, switches of all threads, and megabytes in all and without files.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
switches() { cat /proc/"$1"/task/*/status | awk '/ctxt_switches/ { sum += $2 } END { print sum }'; }
memory() { awk '/VmRSS/ { all = $2 } /RssAnon/ { own = $2 } END { printf "%.1f MB (%.1f)", all / 1024, own / 1024 }' "/proc/$1/status"; }

declare -A ticks_before switches_before
for process in "$watcher" "$agent"; do
    ticks_before[$process]=$(ticks "$process")
    switches_before[$process]=$(switches "$process")
done
minutes=$((measured_s / 60))
for minute in $(seq "$minutes"); do
    sleep 60
    if ((minutes > 1)); then
        echo "after $minute min: watcher $(memory "$watcher"), agent $(memory "$agent")"
    fi
done
sleep $((measured_s % 60))

report() {
    local name=$1 process=$2 used switched threads
    used=$(($(ticks "$process") - ticks_before[$process]))
    switched=$(($(switches "$process") - switches_before[$process]))
    threads=$(find "/proc/$process/task" -mindepth 1 -maxdepth 1 | wc -l)
    awk -v used="$used" -v hz="$(getconf CLK_TCK)" -v s="$measured_s" -v switched="$switched" -v threads="$threads" \
        -v name="$name" -v pairs="$pairs" -v memory="$(memory "$process")" 'BEGIN {
            printf "%s, %d paths: %.1f %% of a core, %s, %d threads, %.0f switches/s\n",
                name, pairs, 100 * used / hz / s, memory, threads, switched / s }'
}
report watcher "$watcher"
report agent "$agent"
