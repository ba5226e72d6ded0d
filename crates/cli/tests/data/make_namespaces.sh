#!/bin/sh
# Makes machines for 'weir mesh launch --machines-by': network namespaces with an SSH server each, on a bridge. Called by
# the end-to-end tests of launches inside namespaces of its own, with WEIR_TEST_FOLDER and WEIR_TEST_BINARY.
#
#   make_namespaces.sh create NAME | delete NAME | list
set -eu
here=$WEIR_TEST_FOLDER
name=${2:-}

create() {
    number=1
    until mkdir "$here/numbers/$number" 2>/dev/null; do number=$((number + 1)); done
    echo "$WEIR_RUN $WEIR_DELETE_AFTER $name $number" >"$here/machines/$name"
    ip netns add "$name"
    ip link add "b$number" master bridge type veth peer name ssh0 netns "$name"
    ip link set "b$number" up
    ip -n "$name" link set lo up
    ip -n "$name" address add "10.9.0.$number/24" dev ssh0
    ip -n "$name" link set ssh0 up
    # What the test wants to go wrong: a machine that is half made.
    if [ -e "$here/refuse-$name" ]; then
        echo "QuotaExceeded: no more than that" >&2
        exit 4
    fi
    if [ -e "$here/hang-$name" ]; then
        : >"$here/hangs"
        while [ -e "$here/hang-$name" ]; do sleep 0.1; done
    fi
    folder=$here/of-$name
    mkdir "$folder"
    (umask 077 && cp "$WEIR_HOST_KEY_FILE" "$folder/host_key")
    echo "$WEIR_PUBLIC_KEY" >"$folder/authorized"
    cat >"$folder/sshd_config" <<END
ListenAddress 10.9.0.$number
HostKey $folder/host_key
AuthorizedKeysFile $folder/authorized
PidFile $folder/pid
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
END
    ip netns exec "$name" /usr/sbin/sshd -f "$folder/sshd_config" >/dev/null 2>&1 </dev/null
    zone=
    [ ! -e "$here/names-zones" ] || zone=", \"zone\": \"west-$WEIR_ZONE\""
    printf '{"address": "10.9.0.%s", "user": "root", "weir": "%s"%s}\n' "$number" "$WEIR_TEST_BINARY" "$zone" >"$WEIR_HOST_FILE"
}

delete() {
    [ -e "$here/machines/$name" ] || exit 0
    read -r _ _ _ number <"$here/machines/$name"
    # Whatever runs there ends with its machine.
    for process in $(ip netns pids "$name" 2>/dev/null); do
        kill -9 "$process" 2>/dev/null || true
    done
    ip link delete "b$number" 2>/dev/null || true
    ip netns delete "$name" 2>/dev/null || true
    rm -rf "$here/of-$name" "$here/numbers/$number" "$here/machines/$name"
}

list() {
    for machine in "$here"/machines/*; do
        [ ! -e "$machine" ] || cut -d ' ' -f 1-3 "$machine"
    done
}

case ${1:-} in
create | delete) "$1" ;;
list) list ;;
*) exit 2 ;;
esac
