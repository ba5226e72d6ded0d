#!/usr/bin/env bash
# `weir send` and `weir recv` on real sockets, across links of `weir lab` that lose packets: whether every frame arrives at
# the rate of a video format with random loss, with a flow that is dark for a second, and when one of two senders is
# killed. Prints the lost packets, the repairs by kind, and the residual loss.
#
# Environment:
#   LONG=20             seconds of the runs with random loss; 600 for figures to quote
#   SHORT=15            seconds of the others
#   FORMAT=1080p59.94-422-10
#   CASES="random-fec random-arq dark-fec dark-arq killed"
#   PROTECT=aes-128-gcm protection of the streams
#   WEIR                the binary; target/release/weir
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"
. "$here/weir.sh"
namespaces_enter "$here/carry_links.sh" "$@"

weir=${WEIR:-$here/../../target/release/weir}
long=${LONG:-20}
short=${SHORT:-15}
format=${FORMAT:-1080p59.94-422-10}
cases=${CASES:-random-fec random-arq dark-fec dark-arq killed}
# The loss rate of the worst published cloud.
loss=0.04%

# carry CASE RTT LATENCY FAR NEAR: FAR runs on the sending host; NEAR on the receiving one once its receiver is there,
# whose process is $receiver.
carry() {
    local name=$1 rtt=$2 latency=$3 far=$4 near=$5 senders=${6:---from far}
    [[ " $cases " == *" $name "* ]] || return 0
    rm -f "$scratch"/*.json
    if ! "$weir" lab run --json --quiet --no-agent --max-lateness 10s --rtt "$rtt" --rate 10Gbit/s --queue 10MB --mtu 9000 \
        --set "reverse.loss=$loss" --far "$far" -- bash -c "
            weir recv -4 $senders --latency $latency --verify --wait 20s --json --quiet >$scratch/recv.json & receiver=\$!
            $near
            wait \$receiver" >"$scratch/link.json" 2>"$scratch/log"; then
        printf '%-10s failed: %s\n' "$name" "$(tail -n 3 "$scratch/log" | tr '\n' ' ')"
        return
    fi
    "$here/figures.py" carry-link "$name" "$scratch/recv.json" "$scratch/link.json"
    sed -n 's/^dark: /           /p' "$scratch/log"
}

# With a token, which both ends take from the environment, streams are encrypted.
if [ "${PROTECT:-aes-128-gcm}" = off ]; then
    send="weir send --test-pattern $format --open --quiet"
else
    WEIR_TOKEN=$(od -An -N 32 -t x1 /dev/urandom | tr -d ' \n')
    export WEIR_TOKEN
    send="weir send --test-pattern $format --protect ${PROTECT:-aes-128-gcm} --quiet"
fi
# A random flow is dark for a second.
dark='
    sleep 5
    port=$(ss -4Hun | sed -n "s/.*:\([0-9]*\) .*:4848 *$/\1/p" | head -n 1)
    nft add table ip dark
    nft add chain ip dark in "{ type filter hook input priority 0; }"
    nft add rule ip dark in udp dport "$port" counter drop
    sleep 1
    nft list table ip dark | sed -n "s/.*counter packets \([0-9]*\).*/dark: \1 packets came over the dark flow/p" >&2
    nft delete table ip dark'

check_weir
trap 'exit 130' INT
trap 'exit 143' TERM
mount -t tmpfs tmpfs /run
scratch=$(mktemp -d -p /run)
export WEIR_DB=$scratch/weir.db
# So that the word 'weir' is this binary.
mkdir "$scratch/bin"
ln -s "$(realpath "$weir")" "$scratch/bin/weir"
PATH=$scratch/bin:$PATH
echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $(uname -sr), $(nproc) x $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
"$weir" --version
echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
echo "$format across a link that loses $loss at random"
"$here/figures.py" carry-link-head
carry random-fec 5ms 20ms "$send --no-arq --fec 12/96 --for ${long}s" :
carry random-arq 5ms 20ms "$send --for ${long}s" :
carry dark-fec 5ms 20ms "$send --no-arq --fec 12/96 --flows 16 --for ${short}s" "$dark"
carry dark-arq 10ms 30ms "$send --flows 16 --for ${short}s" "$dark"
carry killed 5ms 100ms "
    $send --numbers clock --port 5001 --media-port 5001 & first=\$!
    $send --numbers clock --port 5002 --media-port 5002 --for ${short}s & second=\$!
    sleep 8
    kill -KILL \$first
    wait \$second" : "--from far:5001 --from far:5002"
