#!/usr/bin/env bash
# What scripts/check_dist.sh runs on a copy of this system: installs /tmp/weir.deb, runs its agent as the unit says, with a
# supervisor in systemd's place, and purges it.
set -euo pipefail

unit=/usr/lib/systemd/system/weir-agent.service

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

passed() {
    printf '  %s\n' "$*"
}

# All files but those in which dpkg and others keep their own accounts.
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/lib/dpkg -o -path /var/cache \
        -o -path /var/log \) -prune -o -name '*-' -prune -o -print | LC_ALL=C sort
}

accounts() {
    sha256sum /etc/passwd /etc/group /etc/shadow /etc/gshadow
}

of_unit() {
    sed -n "s/^$1=//p" $unit
}

# Starts what ExecStart says, as the unit's user, without privileges, and again when it fails.
supervise() {
    local command
    command=$(of_unit ExecStart)
    while true; do
        (
            set -a
            . "$(of_unit EnvironmentFile | sed 's/^-//')"
            exec setpriv --reuid="$(of_unit User)" --regid="$(of_unit Group)" --clear-groups --no-new-privs --bounding-set=-all \
                --inh-caps=-all sh -c "exec $command" >>/tmp/agent.log 2>&1
        ) && return
        sleep 0.2
    done
}

agent_pid() {
    pgrep -u weir -x weir
}

# wait_until COMMAND...
wait_until() {
    local tries
    for tries in {1..300}; do
        ! "$@" >/dev/null || return 0
        sleep 0.1
    done
    fail "in vain: $*: $(tail -n 3 /tmp/agent.log)"
}

# The agent needs a moment to listen after its start.
rtt() {
    /usr/bin/weir rtt 127.0.0.1 --token-file /etc/weir/token --for 200ms --quiet --json --db /tmp/weir.db >/tmp/rtt 2>/tmp/rtt.log
}

check_agent() {
    local first supervisor
    head -c 32 /dev/urandom | base64 | install -m 640 -o root -g weir /dev/stdin /etc/weir/token
    supervise &
    supervisor=$!
    wait_until rtt
    first=$(agent_pid)
    grep -q '^CapEff:\s*0*$' "/proc/$first/status" || fail "the agent has capabilities"
    passed "the agent runs as user weir without capabilities and answers"
    kill -KILL "$first"
    wait_until rtt
    [ "$(agent_pid)" != "$first" ] || fail "the agent was not started again"
    passed "killed, it was started again and answers"
    kill -TERM "$(agent_pid)"
    wait "$supervisor" || fail "the agent did not end with status 0"
    passed "SIGTERM ends it with status 0"
}

before=$(files)
before_accounts=$(accounts)
dpkg --install /tmp/weir.deb >/tmp/dpkg.log 2>&1 || fail "$(cat /tmp/dpkg.log)"
passed "installs: $(/usr/bin/weir --version)"
dpkg --verify weir
systemd-analyze verify $unit || fail "$unit"
[ -L /etc/systemd/system/multi-user.target.wants/weir-agent.service ] || fail "the unit is not enabled"
[ "$(of_unit ConditionPathExists)" = /etc/weir/token ] && [ ! -e /etc/weir/token ] || fail "the unit would start without a token"
passed "the unit is sound and enabled, and waits for /etc/weir/token"
check_agent
dpkg --remove weir >/dev/null
getent passwd weir >/dev/null && [ -e /etc/weir/token ] || fail "remove took the token or the user"
dpkg --purge weir >/tmp/dpkg.log 2>&1 || fail "$(cat /tmp/dpkg.log)"
diff <(echo "$before") <(files) || fail "files are left or gone"
[ "$before_accounts" = "$(accounts)" ] || fail "accounts are left"
passed "purges: files and accounts are as before"
