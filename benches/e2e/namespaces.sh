# shellcheck shell=bash
# Two hosts on one machine: the network namespaces `near` and `far`, joined by a veth pair. To be sourced.
#
#   namespaces_enter "$0" "$@"     first: start the script again where it may make namespaces
#   namespaces_make 9000           make the two hosts, link MTU 9000
#   namespaces_cut on              let the link cut large sends into packets, as a network card does (off: undo)
#   in_near COMMAND...             run COMMAND on one host or the other
#   in_far COMMAND...
#   start_far COMMAND...           run COMMAND in the background on far; its process id is in $FAR_PID
#   stop PID                       end it
#   stop_all                       end what start_far started
#   namespaces_destroy             stop_all, and remove the namespaces
#
# All of it happens in namespaces of the script's own, so it needs no root where users may make user namespaces,
# nothing of it can be seen outside, and the kernel removes what is left when the script ends, however it ends.

# 198.18.0.0/15 is set aside for benchmarks between devices (RFC 2544).
NEAR_ADDRESS=198.18.0.1
FAR_ADDRESS=198.18.0.2
FAR_PIDS=()

namespaces_allowed() {
    unshare "$@" --net --mount -- mount -t tmpfs tmpfs /run 2>/dev/null
}

namespaces_enter() {
    PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
    # exec keeps the process id, so the mark is ours and not one inherited from another script.
    if [ "${WEIR_IN_NAMESPACES:-}" = "$$" ]; then
        return
    fi
    export WEIR_IN_NAMESPACES=$$
    if namespaces_allowed; then
        exec unshare --net --mount -- "$@"
    elif namespaces_allowed --user --map-root-user; then
        exec unshare --user --map-root-user --net --mount -- "$@"
    fi
    echo "error: this user may not make network namespaces here (unprivileged user namespaces are switched off)" >&2
    echo "       run it as root: sudo $1" >&2
    exit 3
}

# namespaces_host NAME DEVICE ADDRESS
namespaces_host() {
    ip -n "$1" link set lo up
    ip -n "$1" address add "$3/24" dev "$2"
    ip -n "$1" link set "$2" up
    # Each core sends to a queue of its own. `ip netns exec` shows the /sys of the namespace.
    ip netns exec "$1" sh -c 'cd "/sys/class/net/$0/queues" || exit
        for queue in tx-*; do printf %x $((1 << ${queue#tx-})) >"$queue/xps_cpus"; done' "$2"
}

namespaces_make() {
    local mtu=$1 queues
    # ip keeps the names of namespaces under /run, which an ordinary user cannot write: use a private one.
    mount -t tmpfs tmpfs /run
    ip netns add near
    ip netns add far
    # A queue for each core, as network cards have: threads on several cores would wait for each other at a single one. The
    # kernel takes masks of at most 32 cores as one number.
    queues=$(nproc)
    queues=$((queues < 32 ? queues : 32))
    ip link add weir-near netns near mtu "$mtu" numtxqueues "$queues" numrxqueues "$queues" \
        type veth peer name weir-far netns far mtu "$mtu" numtxqueues "$queues" numrxqueues "$queues"
    namespaces_host near weir-near "$NEAR_ADDRESS"
    namespaces_host far weir-far "$FAR_ADDRESS"
    namespaces_merge
}

# veth hands UDP_GRO sockets one packet a call unless both of these are on; older kernels lack the first.
namespaces_merge() {
    in_near ethtool -K weir-near rx-udp-gro-forwarding on gro on 2>/dev/null &&
        in_far ethtool -K weir-far rx-udp-gro-forwarding on gro on 2>/dev/null ||
        echo "note: this kernel does not merge received UDP packets on a veth link (rx-udp-gro-forwarding)" >&2
}

namespaces_cut() {
    local segmentation=off
    [ "$1" = on ] || segmentation=on
    in_near ethtool -K weir-near tx-udp-segmentation "$segmentation"
    in_far ethtool -K weir-far tx-udp-segmentation "$segmentation"
}

in_near() {
    nsenter --net=/run/netns/near -- "$@"
}

in_far() {
    nsenter --net=/run/netns/far -- "$@"
}

# Not through in_far, whose shell would stand between: $! must be the command itself. The command gets a signal when
# this script dies before it could clean up.
start_far() {
    nsenter --net=/run/netns/far -- setpriv --pdeathsig TERM -- "$@" &
    FAR_PID=$!
    FAR_PIDS+=("$FAR_PID")
}

# wait_for_far PORT PID: until a server listens on far's TCP port, or has ended.
wait_for_far() {
    local tries
    for tries in {1..100}; do
        [ -z "$(in_far ss -Hltn "sport = :$1")" ] || return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

stop() {
    local tries
    kill -TERM "$1" 2>/dev/null || return 0
    for tries in {1..30}; do
        kill -0 "$1" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

stop_all() {
    local pid
    for pid in "${FAR_PIDS[@]}"; do
        stop "$pid"
    done
    FAR_PIDS=()
}

namespaces_destroy() {
    local name
    stop_all
    for name in near far; do
        [ ! -e "/run/netns/$name" ] || ip netns delete "$name"
    done
}
