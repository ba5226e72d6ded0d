#!/usr/bin/env bash
# Two hosts on this machine, joined by a link with an MTU of 9000: `weir agent` runs on one, `weir survey` on the other.
# No root needed where users may make user namespaces. Run `cargo build --release` first, or `make demo`.
#
# Environment: WEIR, the binary; DEMO_DB, the database.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../benches/e2e/namespaces.sh"
namespaces_enter "$here/demo.sh" "$@"

top=$(cd "$here/.." && pwd)
weir=${WEIR:-$top/target/release/weir}
database=${DEMO_DB:-$top/weir-demo.db}
port=4747

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 3
}

make_token() {
    (umask 077 && od -An -N 32 -t x1 /dev/urandom | tr -d ' \n' >"$1")
}

# The log is shown only when something goes wrong: the survey's own output is what there is to see.
start_agent() {
    start_far "$weir" agent --listen "$FAR_ADDRESS" --port "$port" --token-file "$scratch/token" >"$scratch/agent.log" 2>&1
    wait_for_far "$port" "$FAR_PID" || fail "the agent did not start: $(cat "$scratch/agent.log")"
}

survey() {
    WEIR_TOKEN=$(cat "$scratch/token") in_near "$weir" survey "$FAR_ADDRESS:$port" --rate 2.5Gbit/s --db "$database"
}

# Under sudo the file would be root's in a folder that is not.
give_database_to_caller() {
    [ -n "${SUDO_UID:-}" ] || return 0
    chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$database"* 2>/dev/null || true
}

say_what_is_left() {
    echo
    echo "The results are in $database. Look at them again with"
    echo "  $weir runs list --db $database"
    echo "  sqlite3 $database 'select * from runs'"
}

[ -x "$weir" ] || fail "there is no $weir: run 'cargo build --release' first"
trap namespaces_destroy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
namespaces_make 9000
# In the private /run, so that the token cannot be left behind, whatever ends this script.
scratch=$(mktemp -d -p /run)
make_token "$scratch/token"
start_agent
echo "Two hosts on this machine, near $NEAR_ADDRESS and far $FAR_ADDRESS, with a link of MTU 9000 between them."
echo "far runs 'weir agent'; near runs 'weir survey $FAR_ADDRESS --rate 2.5Gbit/s'."
echo
status=0
survey || status=$?
give_database_to_caller
[ "$status" -eq 0 ] || { cat "$scratch/agent.log" >&2; exit "$status"; }
say_what_is_left
