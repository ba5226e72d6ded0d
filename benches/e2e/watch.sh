#!/usr/bin/env bash
# What watching 50 paths takes: CPU time, memory and context switches of one watcher over a minute, against one agent on loopback.
# RTT only, four packets a second for each path. With MEASURED_S=3600 it runs for an hour, and prints the memory each minute.
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
pids+=($!)
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

# Clock ticks of user and system, and switches of all threads.
ticks() { awk '{ print $14 + $15 }' "/proc/$watcher/stat"; }
switches() { cat /proc/"$watcher"/task/*/status | awk '/ctxt_switches/ { sum += $2 } END { print sum }'; }

ticks_before=$(ticks)
switches_before=$(switches)
minutes=$((measured_s / 60))
for minute in $(seq "$minutes"); do
    sleep 60
    if ((minutes > 1)); then
        awk -v minute="$minute" '/VmRSS/ { printf "after %d min: %.1f MB\n", minute, $2 / 1024 }' "/proc/$watcher/status"
    fi
done
sleep $((measured_s % 60))
used=$(($(ticks) - ticks_before))
switched=$(($(switches) - switches_before))
threads=$(find "/proc/$watcher/task" -mindepth 1 -maxdepth 1 | wc -l)
awk -v used="$used" -v hz="$(getconf CLK_TCK)" -v s="$measured_s" -v switched="$switched" -v threads="$threads" -v pairs="$pairs" '
    /VmRSS/ { rss = $2 / 1024 }
    END { printf "%d paths: %.1f %% of a core, %.0f MB, %d threads, %.0f switches/s\n", pairs, 100 * used / hz / s, rss, threads, switched / s }
' "/proc/$watcher/status"
