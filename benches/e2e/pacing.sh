#!/usr/bin/env bash
# `weir origin --pace`: how well the kernel keeps the rate that a client asks for, and the CPU cost of pacing, compared
# with clients that read slowly themselves. Two hosts, joined by a veth link with an MTU of 1,500; the origin on the first
# core, the clients on the second.
#
# Environment:
#   DURATION=10         seconds of one measurement
#   RATES="1 5 20 50 100 200 500"          Mbit/s, one connection each
#   CONNECTIONS="100 250 500 1000 2000"    of RATE Mbit/s each
#   RATE=8
#   BURST=auto          as for --pace-burst: auto, kernel (64 KB on a round trip as short as here, which is half a second
#                       at 1 Mbit/s) or packets
#   SHORT=1             a trial: 3 s, three rates, 50 and 100 connections
#   WEIR                the binary; target/release/weir
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"
. "$here/weir.sh"
namespaces_enter "$here/pacing.sh" "$@"

weir=${WEIR:-$here/../../target/release/weir}
if [ -n "${SHORT:-}" ]; then
    : "${DURATION:=3}" "${RATES:=1 20 500}" "${CONNECTIONS:=50 100}"
fi
duration=${DURATION:-10}
rates=${RATES:-1 5 20 50 100 200 500}
connections=${CONNECTIONS:-100 250 500 1000 2000}
rate=${RATE:-8}
burst=${BURST:-auto}
client=$here/pacing_client.py
port=8080
last_core=$(($(nproc) > 1))

check_weir
ulimit -n "$(ulimit -Hn)"
scratch=$(mktemp -d)
trap 'stop_all; rm -rf "$scratch"' EXIT
mkdir "$scratch/media"
# Never sent to its end: its body is a hole, which costs no disk and little memory.
truncate -s 100G "$scratch/media/big"

namespaces_make 1500
# So that packets on the link are as on a network.
in_far ethtool -K weir-far tso off

# serve OPTION...: an origin of its own for each measurement; its process is in $FAR_PID.
serve() {
    start_far taskset -c 0 "$weir" origin "$scratch/media" --files --listen "0.0.0.0:$port" --threads 1 \
        --max-connections 4096 --request-time 1h --stalled-time 1h --drain 0s "$@" >"$scratch/log" 2>&1
    wait_for_far "$port" "$FAR_PID" || fail "the origin did not start: $(cat "$scratch/log")"
}

serve_paced() {
    serve --pace --pace-floor 100kbit/s --pace-time 100000h --pace-burst "$burst"
}

# ask COMMAND...: a client on the other core, with the address of the server.
ask() {
    in_near taskset -c "$last_core" python3 "$client" "$1" "$FAR_ADDRESS" "$port" "${@:2}"
}

echo "$(nproc) cores, kernel $(uname -r), $(date -u +%Y-%m-%d); $duration s each; --pace-burst $burst"
echo
echo "| asked, Mbit/s | body, Mbit/s | error | wire / body |"
echo "| --: | --: | --: | --: |"
for mbits in $rates; do
    serve_paced
    read -r found wire < <(ask rate $((mbits * 1000)) "$duration")
    awk -v asked="$mbits" -v found="$found" -v wire="$wire" \
        'BEGIN { printf "| %d | %.3f | %+.2f %% | %.4f |\n", asked, found, (found / asked - 1) * 100, wire }'
    stop "$FAR_PID"
done

echo
echo "| connections of $rate Mbit/s | paced, Mbit/s | CPU, cores | first core busy | read slowly, Mbit/s | CPU, cores | first core busy | CPU for each Mbit/s, paced / slow |"
echo "| --: | --: | --: | --: | --: | --: | --: | --: |"
for count in $connections; do
    serve_paced
    paced=$(ask many "$count" $((rate * 1000)) "$duration" "$FAR_PID" paced)
    stop "$FAR_PID"
    serve
    slow=$(ask many "$count" $((rate * 1000)) "$duration" "$FAR_PID" slow)
    stop "$FAR_PID"
    awk -v count="$count" -v paced="$paced" -v slow="$slow" 'BEGIN {
        split(paced, p, " "); split(slow, s, " ")
        printf "| %d | %.0f | %.3f | %.0f %% | %.0f | %.3f | %.0f %% | %.2f |\n",
            count, p[1], p[2], p[3] * 100, s[1], s[2], s[3] * 100, (p[2] / p[1]) / (s[2] / s[1])
    }'
done
