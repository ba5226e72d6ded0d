#!/usr/bin/env bash
# Runs the scripts of analysis/ on a database that weir has just made, and compares what they print and draw with what
# weir itself says of it. The one in R is left out, and that said, where R or its package for SQLite is not installed.
#
# Environment: WEIR, the binary; default target/debug/weir, which `cargo test` builds.
set -euo pipefail

cd "$(dirname "$0")/.."
weir=$(realpath -m "${WEIR:-${CARGO_TARGET_DIR:-target}/debug/weir}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
database=$scratch/weir.db

[ -x "$weir" ] || {
    echo "error: there is no $weir: run 'cargo build' first, or name another in WEIR" >&2
    exit 3
}

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Loss one way only, so that there are flows with and without it; lengths few enough to stand by themselves, and too
# many. How punctual the link is does not matter here.
make_database() {
    "$weir" -q lab run --rtt 2ms --set forward.loss=2% --max-lateness 1min --db "$database" -- bash -euc '
        "$0" -q rtt far --length 100..300 --window 3 --interval 20ms --for 500ms --timeout 500ms --db "$1"
        "$0" -q rtt far --length 100..1400 --window 1 --interval 2ms --for 1500ms --timeout 500ms --db "$1"
        "$0" -q flows far --both --rate 20Mbit/s --flows 4 --length 1200 --for 3s --db "$1"
    ' "$weir" "$database" >"$scratch/weir.log" 2>&1 || {
        cat "$scratch/weir.log" >&2
        fail "weir could not make a database"
    }
}

# fails_with STATUS WORDS COMMAND...: the command ends with the status, and with the words in its one line.
fails_with() {
    local wanted=$1 words=$2 status=0
    shift 2
    "$@" >/dev/null 2>"$scratch/error" || status=$?
    [ "$status" -eq "$wanted" ] || fail "$* ended with $status instead of $wanted: $(cat "$scratch/error")"
    [ "$(wc -l <"$scratch/error")" -eq 1 ] && grep -qF -- "$words" "$scratch/error" ||
        fail "$* does not say '$words' in one line: $(cat "$scratch/error")"
}

check_errors() {
    : >"$scratch/empty"
    echo 'no database' >"$scratch/text"
    fails_with 2 "try" "$@"
    fails_with 2 "'abc'" "$@" "$database" abc
    fails_with 2 ".svg" "$@" "$database" --plot loss.gif
    fails_with 3 "there is no file" "$@" "$scratch/none.db"
    fails_with 3 "not a Weir database" "$@" "$scratch/empty"
    fails_with 3 "not a Weir database" "$@" "$scratch/text"
    fails_with 3 "no run 99" "$@" "$database" 99
    fails_with 3 "neither RTTs nor flows" "$@" "$database" 1
    fails_with 3 "no flows" "$@" "$database" 2 --plot "$scratch/none.svg"
    fails_with 3 "cannot write" "$@" "$database" --plot "$scratch/none/loss.svg"
}

# While another program has the file open and half changed, the script reads what was committed last, which here is in
# weir.db-wal only. That change makes the runs parts of run 1, as those of a survey are of it.
check_beside_a_writer() {
    python3 - "$database" "$@" "$database" 1 >"$scratch/beside" <<'END'
import sqlite3, subprocess, sys
writer = sqlite3.connect(sys.argv[1], isolation_level=None)
writer.execute("PRAGMA wal_autocheckpoint = 0")
writer.execute("UPDATE runs SET parent_run_id = 1 WHERE run_id > 1")
writer.execute("BEGIN IMMEDIATE")
writer.execute("DELETE FROM flow_seconds")
writer.execute("DELETE FROM rtt_packets")
status = subprocess.call(sys.argv[2:])
writer.execute("ROLLBACK")
writer.execute("UPDATE runs SET parent_run_id = NULL")
sys.exit(status)
END
    "$@" "$database" | diff - "$scratch/beside" || fail "$* prints something else while a writer has the file open"
}

# check SCRIPT INTERPRETER...
check() {
    local script=$1 before run
    shift
    before=$(sha256sum <"$database")
    for run in "" 2; do
        # shellcheck disable=SC2086 # no run is no argument
        "$@" "$database" $run >"$scratch/printed"
        scripts/compare_analysis.py "$weir" "$database" "$scratch/printed"
    done
    "$@" "$database" --plot "$scratch/loss.svg" >"$scratch/printed"
    scripts/compare_analysis.py "$weir" "$database" "$scratch/printed" "$scratch/loss.svg"
    check_errors "$@"
    [ "$before" = "$(sha256sum <"$database")" ] || fail "$script changed the database"
    check_beside_a_writer "$@"
    echo "$script: prints and draws what weir says"
}

make_database
check analysis/rtt_and_loss.py python3 analysis/rtt_and_loss.py
if ! command -v Rscript >/dev/null; then
    echo "analysis/rtt_and_loss.R NOT RUN: it needs R: apt-get install r-base-core r-cran-rsqlite"
elif ! Rscript -e 'library(RSQLite)' >/dev/null 2>&1; then
    echo "analysis/rtt_and_loss.R NOT RUN: it needs R's package RSQLite: apt-get install r-cran-rsqlite"
else
    check analysis/rtt_and_loss.R Rscript analysis/rtt_and_loss.R
fi
