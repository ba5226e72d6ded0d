#!/usr/bin/env bash
# Runs the scripts of analysis/ on a new database of weir, and compares their output and plots with what weir reports.
#
# Environment: WEIR, path of the binary; default target/debug/weir, which `cargo test` builds.
set -euo pipefail

cd "$(dirname "$0")/.."
weir=$(realpath -m "${WEIR:-${CARGO_TARGET_DIR:-target}/debug/weir}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
database=$scratch/weir.db
long_database=$scratch/long.db

[ -x "$weir" ] || {
    echo "error: no such binary: $weir: run 'cargo build' first, or set WEIR" >&2
    exit 3
}
Rscript -e 'library(RSQLite)' >/dev/null 2>&1 || {
    echo "error: R or its package RSQLite is missing: apt-get install r-base-core r-cran-rsqlite" >&2
    exit 3
}

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Forward loss only, for flows with and without loss. Payload lengths below and above the limit for separate rows. The
# lateness of the link is of no importance here.
make_database() {
    "$weir" -q lab run --rtt 2ms --set forward.loss=2% --max-lateness 1min --db "$database" -- bash -euc '
        "$0" -q rtt far --length 100..300 --window 3 --interval 20ms --for 500ms --timeout 500ms --db "$1"
        "$0" -q rtt far --length 100..1400 --window 1 --interval 2ms --for 3500ms --timeout 500ms --db "$1"
        "$0" -q flows far --both --rate 20Mbit/s --flows 4 --length 1200 --for 3s --db "$1"
    ' "$weir" "$database" >"$scratch/weir.log" 2>&1 || {
        cat "$scratch/weir.log" >&2
        fail "weir could not record a database"
    }
}

# A copy in which run 3 is 200 times as long, so that the plot has bins of several seconds, begins with a stall, so that the
# axis of the RTT has a tick at zero, and lost all packets between 40 % and 60 % of its time. The P90 in the summary is
# adjusted. Run 2 lost all packets.
make_long_database() {
    python3 - "$database" "$long_database" <<'END'
import sqlite3, sys
source, copy = map(sqlite3.connect, sys.argv[1:])
source.backup(copy)
lose = "UPDATE rtt_packets SET lost = 1, rtt_ns = NULL WHERE run_id = ? AND sequence BETWEEN ? AND ?"
packets = copy.execute("SELECT count(*) FROM rtt_packets WHERE run_id = 3").fetchone()[0]
copy.execute("UPDATE rtt_packets SET rtt_ns = 30 * rtt_ns WHERE run_id = 3 AND sequence < ?", (packets // 20,))
copy.execute(lose, (3, packets * 2 // 5, packets * 3 // 5))
copy.execute(lose, (2, 0, packets))
copy.execute("""UPDATE rtt_packets SET sent_unix_ns = 200 * (sent_unix_ns - started_unix_ns) + started_unix_ns
                FROM runs WHERE runs.run_id = rtt_packets.run_id AND runs.run_id = 3""")
rtts = copy.execute("SELECT rtt_ns FROM rtt_packets WHERE run_id = 3 AND NOT lost ORDER BY rtt_ns").fetchall()
p90 = rtts[(9 * len(rtts) + 9) // 10 - 1]
copy.execute("UPDATE runs SET summary = json_set(summary, '$.rtt.p90', ?) WHERE run_id = 3", p90)
copy.commit()
END
}

# fails_with STATUS WORDS COMMAND...: the command exits with the status and prints one line that contains the words.
fails_with() {
    local wanted=$1 words=$2 status=0
    shift 2
    "$@" >/dev/null 2>"$scratch/error" || status=$?
    [ "$status" -eq "$wanted" ] || fail "$* exited with $status instead of $wanted: $(cat "$scratch/error")"
    [ "$(wc -l <"$scratch/error")" -eq 1 ] && grep -qF -- "$words" "$scratch/error" ||
        fail "$* does not print '$words' in one line: $(cat "$scratch/error")"
}

check_errors() {
    : >"$scratch/empty"
    echo 'no database' >"$scratch/text"
    fails_with 2 "try" "$@"
    fails_with 2 "'abc'" "$@" "$database" abc
    fails_with 2 ".svg" "$@" "$database" --plot plot.gif
    fails_with 3 "no such file" "$@" "$scratch/none.db"
    fails_with 3 "not a Weir database" "$@" "$scratch/empty"
    fails_with 3 "not a Weir database" "$@" "$scratch/text"
    fails_with 3 "no run 99" "$@" "$database" 99
    fails_with 3 "neither RTTs nor flows" "$@" "$database" 1
    fails_with 3 "neither RTTs nor flows" "$@" "$database" 1 --plot "$scratch/none.svg"
    fails_with 3 "cannot write" "$@" "$database" --plot "$scratch/none/plot.svg"
}

# While another program has changed the file without a commit, the script reads the last commit, which is in weir.db-wal
# only. That commit makes the runs parts of run 1, as in a survey.
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
    "$@" "$database" | diff - "$scratch/beside" || fail "$* prints other values while a writer has the file open"
}

# compare DATABASE RUN COMMAND...: compares output and plot for the run; for the last runs with each if RUN is empty.
compare() {
    local file=$1 run=$2
    shift 2
    # shellcheck disable=SC2086 # an empty run is no argument
    "$@" "$file" $run --plot "$scratch/plot.svg" >"$scratch/printed"
    scripts/compare_analysis.py "$weir" "$file" "$scratch/printed" "$scratch/plot.svg"
}

# check SCRIPT INTERPRETER...
check() {
    local script=$1 before run
    shift
    before=$(sha256sum <"$database")
    "$@" "$database" 2 >"$scratch/printed"
    scripts/compare_analysis.py "$weir" "$database" "$scratch/printed"
    # RTT and loss, RTT only, loss only.
    for run in "" 3 4; do
        compare "$database" "$run" "$@"
    done
    compare "$long_database" 3 "$@"
    "$@" "$long_database" 2 --plot "$scratch/lost.svg" | grep -q 'plot written' ||
        fail "$* does not draw a run that lost all packets"
    check_errors "$@"
    [ "$before" = "$(sha256sum <"$database")" ] || fail "$script changed the database"
    check_beside_a_writer "$@"
    echo "$script: output and plots agree with weir"
}

make_database
make_long_database
check analysis/rtt_and_loss.py python3 analysis/rtt_and_loss.py
check analysis/rtt_and_loss.R Rscript analysis/rtt_and_loss.R
