#!/usr/bin/env bash
# Two hosts on this machine, joined by a link with an MTU of 9000: `weir agent` runs on one, `weir survey` on the other.
# No root needed where users may make user namespaces. Run `cargo build --release` first, or `make demo`.
#
# Environment: WEIR, the binary; DEMO_DB, the database.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/.." && pwd)
. "$top/benches/e2e/namespaces.sh"
. "$top/benches/e2e/weir.sh"
namespaces_enter "$here/demo.sh" "$@"

weir=${WEIR:-$top/target/release/weir}
database=${DEMO_DB:-$top/weir-demo.db}

introduce() {
    echo "Two hosts on this machine, near $NEAR_ADDRESS and far $FAR_ADDRESS, with a link of MTU 9000 between them."
    echo "far runs 'weir agent'; near runs 'weir survey $FAR_ADDRESS --rate 2.5Gbit/s'."
    echo
}

survey() {
    with_token in_near "$weir" survey "$FAR_ADDRESS:$AGENT_PORT" --rate 2.5Gbit/s --db "$database"
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
    echo "  sqlite3 -header -column $database 'select run_id, kind, outcome from runs'"
}

check_weir
trap namespaces_destroy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
namespaces_make 9000
start_agent "$FAR_ADDRESS"
introduce
status=0
survey || status=$?
give_database_to_caller
if [ "$status" -ne 0 ]; then
    # What the far end said belongs to the error; otherwise the survey's own output is all there is to see.
    sed 's/^/agent: /' "$AGENT_LOG" >&2
    exit "$status"
fi
say_what_is_left
