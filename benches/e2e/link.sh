#!/usr/bin/env bash
# The real-time link of `weir lab`: goodput of TCP and UDP, beside its set rate and, where it applies, the kernel's
# own shaper (tbf) and a plain veth link; its added delay when idle; its CPU time.
#
# Environment:
#   DURATION=8                    seconds of a run of iperf3
#   RATES="10 100 600 1000"       Mbit/s
#   PARTS="goodput tbf idle flows"
#   WEIR                          the binary; target/release/weir
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"
. "$here/weir.sh"
namespaces_enter "$here/link.sh" "$@"

weir=${WEIR:-$here/../../target/release/weir}
duration=${DURATION:-8}
rates=${RATES:-10 100 600 1000}
parts=${PARTS:-goodput tbf idle flows}
rtt=20ms
# As long as the set round trip holds full rate: two such queues are what tbf's `limit` gets below.
queue=2bdp
# Ethernet's header, which the kernel's shapers count with each packet.
ethernet=14

wants() {
    [[ " $parts " == *" $1 "* ]]
}

# across OPTION... -- COMMAND: runs COMMAND across the link; its output and the link's counters go to $scratch/out.
across() {
    "$weir" lab run --json --quiet --max-lateness 10s "$@" >"$scratch/out" 2>"$scratch/err" ||
        fail "weir lab run $*: $(tail -n 3 "$scratch/err" | tr '\n' ' ')"
}

# keep PART FIELD...: one row for the tables.
keep() {
    local IFS=$'\t'
    echo "$*" >>"$scratch/rows"
}

# iperf3's server needs a moment; cubic, whatever the host's default is.
client() {
    echo "sleep 0.5; exec iperf3 -J -t $duration -O 2 -l 1448 $*"
}

try_goodput() {
    local rate=$1 udp=$(($1 * 95 / 100))
    echo "measuring: $rate Mbit/s" >&2
    across --no-agent --rate "${rate}Mbit/s" --rtt "$rtt" --queue "$queue" --far 'iperf3 -s >/dev/null' \
        -- sh -c "$(client -4 -c far -C cubic -l 128K)"
    keep goodput "$rate" TCP $("$here/figures.py" link-tcp "$scratch/out")
    across --no-agent --rate "${rate}Mbit/s" --rtt "$rtt" --queue "$queue" --far 'iperf3 -s >/dev/null' \
        -- sh -c "$(client -4 -c far -u -b "${udp}M" -w 1M)"
    keep goodput "$rate" UDP $("$here/figures.py" link-udp "$scratch/out")
}

# A plain link, of the same MTU, as the host can do without any emulator: no rate, no delay.
try_veth() {
    start_far iperf3 -s >/dev/null 2>&1
    wait_for_far 5201 "$FAR_PID" || fail "iperf3 -s did not start"
    in_near sh -c "$(client -c "$FAR_ADDRESS" -C cubic -l 128K)" >"$scratch/out"
    keep goodput - "TCP over veth, no rate, no delay" $("$here/figures.py" iperf3-tcp "$scratch/out") - - - -
    stop "$FAR_PID"
}

# The same bottleneck by the kernel's tbf and by Weir, no delay: a rate, a queue, and a header for each packet.
try_tbf() {
    local rate=$1 repeat limit=$((100000))
    echo "measuring: tbf beside Weir at $rate Mbit/s" >&2
    in_near tc qdisc replace dev weir-near root tbf rate "${rate}mbit" burst 3028 limit "$limit"
    start_far iperf3 -s >/dev/null 2>&1
    wait_for_far 5201 "$FAR_PID" || fail "iperf3 -s did not start"
    for repeat in 1 2 3; do
        in_near sh -c "$(client -c "$FAR_ADDRESS" -C cubic -l 128K)" >"$scratch/out"
        keep tbf "$rate" tbf $("$here/figures.py" iperf3-tcp "$scratch/out")
        across --no-agent --set "forward.rate=${rate}Mbit/s" --set "forward.queue=${limit}B" \
            --set "forward.overhead=$ethernet" --far 'iperf3 -s >/dev/null' -- sh -c "$(client -4 -c far -C cubic -l 128K)"
        keep tbf "$rate" Weir $("$here/figures.py" link-tcp "$scratch/out" | cut -d ' ' -f 1)
    done
    stop "$FAR_PID"
    in_near tc qdisc delete dev weir-near root
}

# One packet at a time, a hundred a second. What is above the set round trip is added: between the kernels' timestamps
# by the link, from application to application by the hosts too.
try_idle() {
    local field probe=(weir rtt far --json --quiet --window 1 --interval 10ms --for 8s)
    echo "measuring: idle delay" >&2
    across --rtt "$rtt" -- "${probe[@]}"
    for field in network_rtt rtt; do
        keep idle "Weir, $rtt" "$field" $("$here/figures.py" link-idle "$scratch/out" "$field" 20000000)
    done
    start_agent "$FAR_ADDRESS"
    with_token in_near "$weir" rtt "$FAR_ADDRESS:$AGENT_PORT" "${probe[@]:3}" >"$scratch/out"
    for field in network_rtt rtt; do
        keep idle veth "$field" $("$here/figures.py" link-idle "$scratch/out" "$field" 0)
    done
    stop "$AGENT_PID"
}

try_flows() {
    local length=$1
    echo "measuring: 2.5 Gbit/s of $length bytes over 8 flows" >&2
    across --rate 10Gbit/s --rtt "$rtt" --queue 1bdp --mtu 9000 \
        -- weir flows far --json --quiet --rate 2.5Gbit/s --flows 8 --length "$length" --for "${duration}s"
    keep flows "$length" $("$here/figures.py" link-flows "$scratch/out")
}

describe_machine() {
    echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $(uname -sr), $(nproc) x $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
    iperf3 --version | head -n 1
    "$weir" --version
    echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
    echo
}

check_weir
trap namespaces_destroy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
namespaces_make 1500
scratch=$(mktemp -d -p /run)
export WEIR_DB=$scratch/weir.db
# So that 'weir' is this binary.
mkdir "$scratch/bin"
ln -s "$(realpath "$weir")" "$scratch/bin/weir"
PATH=$scratch/bin:$PATH
describe_machine
if wants goodput; then
    for rate in $rates; do
        try_goodput "$rate"
    done
    try_veth
fi
! wants tbf || try_tbf 100
! wants idle || try_idle
if wants flows; then
    try_flows 8100
    try_flows 1200
fi
"$here/figures.py" link "$scratch/rows"
