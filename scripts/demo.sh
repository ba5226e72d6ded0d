#!/usr/bin/env bash
# A cloud on this machine: two hosts, and between them an emulated network like Oracle Cloud's of 2022, with two routes
# of which one loses packets. `weir survey` measures it at a rate that this machine can emulate, and says which settings
# carry video over it. Needs no root where users may make user namespaces; where they may not, it surveys loopback. Run
# `make demo`, or build target/demo/weir first.
#
# Environment: WEIR, the binary; DEMO_DB, the database; DEMO_SURVEY, more options of the survey.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
weir=${WEIR:-$top/target/demo/weir}
database=${DEMO_DB:-$top/weir-demo.db}
report=${database%.db}.html
read -ra options <<<"${DEMO_SURVEY:-}"
# The profile's own 0.000616 % would lose a handful of packets in a minute, too few to name the route.
link=(oracle --set route.1.loss=0.02%)
agent=

[ -x "$weir" ] || {
    echo "error: there is no $weir: run 'make demo'" >&2
    exit 3
}

finish() {
    [ -z "$agent" ] || kill "$agent" 2>/dev/null || true
    # Under sudo the files would be root's in a folder that is not.
    [ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$database"* "$report" 2>/dev/null || true
}
trap finish EXIT


survey_link() {
    # TCP takes what it gets: on a slow machine the link keeps it from taking the processors.
    [ "$1" = 2500Mbit/s ] || link+=(--rate "$((4 * ${1%Mbit/s}))Mbit/s")
    cat <<END

Two hosts on this machine, near and far, and between them the emulated network 'oracle': two routes, one of which loses
0.02 % of its packets. far runs 'weir agent'; near runs 'weir survey far --rate $1'.

END
    "$weir" lab run "${link[@]}" --allow-late --db "$database" -- \
        "$weir" survey far --rate "$1" --db "$database" "${options[@]}"
}

survey_loopback() {
    local port
    cat <<END

This machine makes no networks for this user (the line above says what to change), so this is a survey of loopback,
which loses nothing: an agent on 127.0.0.1, and 'weir survey 127.0.0.1'.

END
    exec 3< <(exec "$weir" agent --port 0 --max-rate 2500Mbit/s --json --quiet)
    agent=$!
    port=$(head -n 1 <&3 | sed -n 's/.*"control":\[*"127\.0\.0\.1:\([0-9]*\)".*/\1/p')
    [ -n "$port" ] || {
        echo "error: the agent on loopback did not start" >&2
        exit 3
    }
    "$weir" survey "127.0.0.1:$port" --rate 1Gbit/s --db "$database" "${options[@]}"
}

echo "Finding the rate that this machine can emulate (5 s at most) ..."
status=0
rate=$("$weir" lab calibrate "${link[@]}") || status=$?
case $status in
0) survey_link "$rate" ;;
3) survey_loopback ;;
*) exit "$status" ;;
esac

open=()
[ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || open=(--open)
echo
"$weir" report last --db "$database" -o "$report" --force --quiet "${open[@]}"
"$weir" diagnose last --db "$database" | sed '/^$/,$d'
cat <<END

Report: $report (opens in any browser, without a network)
Next:
  $weir diagnose last -v --db $database     # the evidence behind each finding
  $weir ui --db $database                   # all runs, in the browser
  $weir lab profiles                        # other networks to try with 'weir lab run'
END
