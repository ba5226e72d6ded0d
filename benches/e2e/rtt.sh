#!/usr/bin/env bash
# Weir and irtt in turn over an idle loopback: the median round trip of packets of one length at one interval.
#
# Two comparisons, like with like: the whole round trip with the time that the far program takes (irtt: no server
# timestamps), and the round trip without it (irtt subtracts the server's processing time, Weir's network_rtt is between
# the kernels' timestamps).
#
# Environment: DURATION=5 (seconds of a run), INTERVAL=10ms, LENGTH=100, REPEATS=3, TOOLS="irtt weir", WEIR
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"
. "$here/weir.sh"
namespaces_enter "$here/rtt.sh" "$@"

weir=${WEIR:-$here/../../target/release/weir}
duration=${DURATION:-5}
interval=${INTERVAL:-10ms}
length=${LENGTH:-100}
repeats=${REPEATS:-3}
tools=${TOOLS:-irtt weir}

wants() {
    [[ " $tools " == *" $1 "* ]]
}

start_irtt() {
    start_far irtt server -b 127.0.0.1 >"$scratch/irtt.log" 2>&1
    # It listens on UDP only, so that no connect shows when it is ready.
    sleep 1
    kill -0 "$FAR_PID" 2>/dev/null || fail "irtt server did not start: $(cat "$scratch/irtt.log")"
}

# keep WHAT TOOL NANOSECONDS: one row for the table.
keep() {
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$scratch/rows"
}

# irtt_median OPTION...
irtt_median() {
    in_far irtt client -Q -i "$interval" -l "$length" -d "${duration}s" "$@" -o - 127.0.0.1 >"$scratch/out"
    "$here/figures.py" rtt-irtt "$scratch/out"
}

try_irtt() {
    keep "whole" irtt "$(irtt_median --tstamp=none)"
    keep "network" irtt "$(irtt_median --tstamp=both)"
}

try_weir() {
    with_token in_far "$weir" rtt "127.0.0.1:$AGENT_PORT" --window 1 --length "$length" --interval "$interval" \
        --for "${duration}s" --json >"$scratch/out"
    keep "whole" weir "$("$here/figures.py" rtt-weir "$scratch/out" rtt)"
    keep "network" weir "$("$here/figures.py" rtt-weir "$scratch/out" network_rtt)"
}

! wants weir || check_weir
trap namespaces_destroy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# Only far's loopback is used: a fresh one, with no traffic but this.
namespaces_make 9000
scratch=$(mktemp -d -p /run)
export WEIR_DB=$scratch/weir.db
! wants irtt || start_irtt
! wants weir || start_agent 127.0.0.1
echo "$length bytes every $interval for $duration s, $repeats repeats; load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
echo
for ((repeat = 0; repeat < repeats; repeat++)); do
    for tool in $tools; do
        "try_$tool"
    done
done
"$here/figures.py" rtt "$scratch/rows"
