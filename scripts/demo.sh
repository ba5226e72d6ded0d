#!/usr/bin/env bash
# A cloud on this machine: two hosts, and between them an emulated network like Oracle Cloud's of 2022, with two routes
# of which one loses packets. `weir survey` measures it and says in words what it found. No root needed where users may
# make user namespaces. Run `cargo build --release` first, or `make demo`.
#
# Environment: WEIR, the binary; DEMO_DB, the database.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
weir=${WEIR:-$top/target/release/weir}
database=${DEMO_DB:-$top/weir-demo.db}
report=${database%.db}.html
# The profile's own 0.000616 % would lose a handful of packets in a minute, too few to tell of which route.
loss=0.02%

[ -x "$weir" ] || {
    echo "error: there is no $weir: run 'cargo build --release' first" >&2
    exit 3
}

# Under sudo the file would be root's in a folder that is not.
give_results_to_caller() {
    [ -n "${SUDO_UID:-}" ] || return 0
    chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$database"* "$report" 2>/dev/null || true
}

cat <<END
Two hosts on this machine, near and far, and between them the emulated network 'oracle': two routes, one of which loses
packets (here $loss of them, more than the real one, so that a minute is enough to see it).
far runs 'weir agent'; near runs 'weir survey far --rate 2.5Gbit/s'.

END
status=0
"$weir" lab run oracle --set "route.1.loss=$loss" --db "$database" -- \
    "$weir" survey far --rate 2.5Gbit/s --db "$database" || status=$?
if [ "$status" -eq 0 ]; then
    open=()
    [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || open=(--open)
    echo
    "$weir" report last --db "$database" -o "$report" --force "${open[@]}" || status=$?
fi
give_results_to_caller
[ "$status" -eq 0 ] || exit "$status"
cat <<END

The report above opens in any browser. The results are in $database. Look at them again with
  $weir diagnose last -v --db $database
  $weir ui --db $database
  sqlite3 -header -column $database 'select run_id, kind, outcome from runs'
END
