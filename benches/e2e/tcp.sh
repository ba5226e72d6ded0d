#!/usr/bin/env bash
# TCP in virtual time beside the kernel's across the real-time link, on the same links: payload, round trips, losses.
#
# Environment:
#   DURATION=60                   seconds of a run
#   CONTROLS="reno cubic bbr"
#   CONNECTIONS="1 4"
#   LINKS="20M 50M 100M"          see links() below
#   WEIR, MODEL                   the binaries; target/release/weir, target/release/examples/beside_kernel
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"
. "$here/weir.sh"
namespaces_enter "$here/tcp.sh" "$@"

weir=${WEIR:-$here/../../target/release/weir}
model=${MODEL:-$here/../../target/release/examples/beside_kernel}
duration=${DURATION:-60}

# links NAME: a rate, a round trip, and a queue of one or two products of them.
links() {
    case $1 in
    20M) printf 'rtt = "20ms"\nforward.rate = "20Mbit/s"\nforward.queue = "2bdp"\n' ;;
    50M) printf 'rtt = "40ms"\nforward.rate = "50Mbit/s"\nforward.queue = "1bdp"\n' ;;
    100M) printf 'rtt = "30ms"\nforward.rate = "100Mbit/s"\nforward.queue = "1bdp"\n' ;;
    *) fail "there is no link $1" ;;
    esac
}

scratch=$(mktemp -d -p /run)
check_weir
[ -x "$model" ] || fail "there is no $model: run 'cargo build --release -p weir-tcp --example beside_kernel' first"
echo "kernel $(uname -r), $duration s each"
"$here/figures.py" tcp-head
for name in ${LINKS:-20M 50M 100M}; do
    links "$name" >"$scratch/link.toml"
    for control in ${CONTROLS:-reno cubic bbr}; do
        for connections in ${CONNECTIONS:-1 4}; do
            "$weir" lab run "$scratch/link.toml" --no-agent --json --quiet --allow-late \
                --far "$here/kernel_tcp.py sink" \
                -- sh -c "sleep 0.5; exec $here/kernel_tcp.py send far $control $connections $duration" \
                >"$scratch/out" 2>"$scratch/err" || fail "weir lab run: $(tail -n 3 "$scratch/err" | tr '\n' ' ')"
            "$model" "$scratch/link.toml" "$control" "$connections" "$duration" >"$scratch/model"
            "$here/figures.py" tcp "$name $control $connections" "$scratch/out" "$scratch/model"
        done
    done
done
