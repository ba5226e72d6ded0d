#!/usr/bin/env python3
"""Reads a Weir database with Python's standard library alone: the P90 of the RTT, the loss of each flow, and a plot of
that loss over time. A start for analyses of your own; docs/database.md describes the tables.

    python3 analysis/rtt_and_loss.py weir.db [RUN] [--plot loss.svg]
"""

import argparse
import contextlib
import itertools
import pathlib
import re
import signal
import sqlite3
import sys

APPLICATION_ID = 0x57454952  # "WEIR"
# As in reports: so many lengths of packets by themselves, more of them in so many ranges.
MOST_LENGTHS = 200
MOST_BINS = 300
MOST_CELLS = 30_000

NO_LOSS = "#d9d9d9"
# Loss up to so many percent. Each step is a decade: what matters lies between 0.001 % and all.
COLOURS = [(0.01, "#fed976"), (0.1, "#feb24c"), (1, "#fd8d3c"), (10, "#f03b20"), (100, "#bd0026")]

# A survey keeps its steps as runs of their own.
RUNS_WITH = """
SELECT run_id, kind, started_unix_ns, datetime(started_unix_ns / 1000000000, 'unixepoch')
FROM runs
WHERE (:run IS NULL OR :run IN (run_id, parent_run_id)) AND EXISTS ({rows})
ORDER BY run_id
"""
RTT_ROWS = "SELECT 1 FROM rtt_packets WHERE rtt_packets.run_id = runs.run_id"
FLOW_ROWS = "SELECT 1 FROM flow_seconds WHERE flow_seconds.run_id = runs.run_id"

FLOWS = """
SELECT direction, flow, max(port), sum(received) + sum(lost), sum(lost)
FROM flow_seconds
WHERE run_id = ?
GROUP BY direction, flow
ORDER BY direction, flow
"""

# A row stands for the second before unix_ns, the last of a run for what was left of it. Bins of one second would catch
# two rows or none at times, since rows are not a second apart to the nanosecond: so then each is drawn where it was.
CELLS = """
WITH seconds AS (
    SELECT direction, flow, received + lost AS sent, lost,
           max(unix_ns - 1000000000, lag(unix_ns, 1, 0) OVER earlier) - :started AS begin_ns,
           unix_ns - :started AS end_ns
    FROM flow_seconds
    WHERE run_id = :run
    WINDOW earlier AS (PARTITION BY direction, flow ORDER BY unix_ns)
), bins AS (
    SELECT *, CASE WHEN :bin = 1 THEN begin_ns / 1e9 ELSE begin_ns / (:bin * 1000000000) * :bin END AS begin
    FROM seconds
)
SELECT direction, flow, begin, CASE WHEN :bin = 1 THEN max(end_ns) / 1e9 ELSE begin + :bin END, sum(sent), sum(lost)
FROM bins
GROUP BY direction, flow, begin
ORDER BY direction, flow, begin
"""


class Failure(Exception):
    """What went wrong, in one line for the user."""


def open_database(path):
    if not pathlib.Path(path).is_file():
        raise Failure(f"there is no file {path}")
    # Read-only, and still aware of what a running Weir has only in weir.db-wal.
    database = sqlite3.connect(pathlib.Path(path).absolute().as_uri() + "?mode=ro", uri=True, isolation_level=None)
    try:
        found = database.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if "not a database" not in str(error):
            raise
        found = None
    if found != APPLICATION_ID:
        raise Failure(f"{path} is not a Weir database")
    # All queries see one state, whatever is recorded meanwhile.
    database.execute("BEGIN")
    return database


def runs_with(database, rows, run):
    return database.execute(RUNS_WITH.format(rows=rows), {"run": run}).fetchall()


def heading(what, runs):
    """Says which run was taken, the last, and which others there were."""
    run, kind, _, started = runs[-1]
    others = ", ".join(str(other[0]) for other in runs[:-1][-8:])
    print(f"{what} of run {run} ({kind}, {started} UTC)" + (f"; others: {others}" if others else ""))


def p90(ascending):
    """The nearest rank: the smallest value that 90 % of them do not exceed."""
    return ascending[(9 * len(ascending) + 9) // 10 - 1]


def print_rtt(database, run):
    """P90 by payload length and over all, of the packets that were answered."""
    lengths, first, last = database.execute(
        "SELECT count(DISTINCT length), min(length), max(length) FROM rtt_packets WHERE run_id = ?", (run,)
    ).fetchone()
    width = 1 if lengths <= MOST_LENGTHS else -(-(last - first + 1) // MOST_LENGTHS)
    packets = database.execute(
        """
        SELECT (length - :first) / :width, CASE WHEN NOT lost THEN rtt_ns / 1e6 END AS rtt_ms
        FROM rtt_packets
        WHERE run_id = :run
        ORDER BY 1, rtt_ms
        """,
        {"run": run, "first": first, "width": width},
    )
    groups = []
    for group, rows in itertools.groupby(packets, key=lambda row: row[0]):
        rtts = [rtt for _, rtt in rows]
        answered = [rtt for rtt in rtts if rtt is not None]
        groups.append((str(min(first + (group + 1) * width - 1, last)), len(rtts), answered))
    answered = sorted(itertools.chain.from_iterable(rtts for _, _, rtts in groups))
    groups.append(("all", sum(sent for _, sent, _ in groups), answered))

    if width > 1:
        print(f"ranges of {width} lengths, named by the largest")
    print(f"{'length':>8} {'sent':>10} {'lost':>8} {'P90 (ms)':>14}")
    for length, sent, rtts in groups:
        quantile = f"{p90(rtts):.6f}" if rtts else "-"
        print(f"{length:>8} {sent:>10} {sent - len(rtts):>8} {quantile:>14}")


def print_loss(database, run):
    """Sent is received and lost together: what the receiver could account for."""
    print(f"{'direction':<9} {'flow':>5} {'port':>6} {'sent':>12} {'lost':>10} {'loss (%)':>10}")
    for direction, flow, port, sent, lost in database.execute(FLOWS, (run,)):
        loss = f"{100 * lost / sent:.3g}" if sent else "-"
        print(f"{direction:<9} {flow:>5} {port:>6} {sent:>12} {lost:>10} {loss:>10}")


def colour(sent, lost):
    if lost == 0:
        return NO_LOSS
    return next(paint for most, paint in COLOURS if 100 * lost <= most * sent)


def text(x, y, anchor, content):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{content}</text>'


def tick_step(seconds):
    """Some eight ticks at round numbers."""
    decade = 1
    while True:
        for step in (decade, 2 * decade, 5 * decade):
            if seconds <= 8 * step:
                return step
        decade *= 10


def plot_loss(database, run, started, path):
    """Draws a lane for each flow over the time of the run; the colour is the loss."""
    lanes = [row[:2] for row in database.execute(FLOWS, (run,))]
    span = database.execute(
        "SELECT (max(unix_ns) - min(unix_ns)) / 1000000000 FROM flow_seconds WHERE run_id = ?", (run,)
    ).fetchone()[0]
    bin_seconds = span // max(1, min(MOST_BINS, MOST_CELLS // len(lanes))) + 1
    cells = database.execute(CELLS, {"run": run, "started": started, "bin": bin_seconds}).fetchall()
    first = min(cell[2] for cell in cells)
    last = max(cell[3] for cell in cells)

    left, top, width = 110, 34, 780
    height = max(2.0, min(18.0, 720 / len(lanes)))
    bottom = top + height * len(lanes)
    named_every = -(-12 // int(height))
    # Gaps between lanes thinner than a pixel would make a pattern of their own.
    filled = 0.85 * height if height > 6 else height

    def x(at):
        return left + width * (at - first) / (last - first)

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {bottom + 66:.0f}" '
        'font-family="sans-serif" font-size="11" shape-rendering="crispEdges">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{left}" y="20" font-size="14">Loss by flow over time, run {run}</text>',
    ]
    by_lane = {lane: list(rows) for lane, rows in itertools.groupby(cells, key=lambda cell: cell[:2])}
    for place, (direction, flow) in enumerate(lanes):
        y = top + place * height
        drawn.append(f'<g class="lane" id="{direction}-{flow}">')
        if place % named_every == 0:
            drawn.append(text(left - 6, y + height / 2 + 4, "end", f"{direction} {flow}"))
        for _, _, begin, end, sent, lost in by_lane[direction, flow]:
            # Nothing came and nothing is known to be lost: white.
            if sent == 0:
                continue
            drawn.append(
                f'<rect x="{x(begin):.2f}" y="{y:.2f}" width="{x(end) - x(begin):.2f}" height="{filled:.2f}" '
                f'fill="{colour(sent, lost)}"><title>{begin:.1f} s: {lost} of {sent} lost</title></rect>'
            )
        drawn.append("</g>")
    step = tick_step(last - first)
    for tick in range(int(first // step) * step, int(last) + 1, step):
        if tick >= first:
            drawn.append(f'<path d="M{x(tick):.1f} {bottom:.1f}v4" stroke="black"/>')
            drawn.append(text(x(tick), bottom + 16, "middle", f"{tick} s"))
    keys = [("no loss", NO_LOSS)] + [(f"to {most:g} %", paint) for most, paint in COLOURS]
    for place, (label, paint) in enumerate(keys):
        at = left + place * 110
        drawn.append(f'<rect class="key" x="{at}" y="{bottom + 36:.1f}" width="12" height="12" fill="{paint}"/>')
        drawn.append(text(at + 18, bottom + 46, "start", label))
    drawn.append("</svg>\n")
    try:
        pathlib.Path(path).write_text("\n".join(drawn), encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from error
    print(f"plot written to {path}")


def run_number(written):
    if not re.fullmatch("[0-9]{1,18}", written):
        raise argparse.ArgumentTypeError(f"'{written}' is no number of a run, as 'weir runs list' shows")
    return int(written)


def svg_file(written):
    if not written.endswith(".svg"):
        raise argparse.ArgumentTypeError(f"'{written}' does not end in .svg, the only form that is written here")
    return written


def arguments():
    parser = argparse.ArgumentParser(
        description="P90 of the RTT and loss of each flow, from a Weir database.",
        epilog="Exit status: 0 done; 2 wrong arguments; 3 the data could not be had.",
    )
    # One line, without the usage before it.
    parser.error = lambda message: fail(2, f"{message}; try --help")
    parser.add_argument("database", metavar="DATABASE", help="the SQLite file, such as weir.db; only read")
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs="?",
        type=run_number,
        help="number of a run; of a survey, the last steps with RTTs and with flows (default: the last runs with any)",
    )
    parser.add_argument("--plot", metavar="FILE", type=svg_file, help="draw the loss of each flow over time, as SVG")
    return parser.parse_args()


def analyse(given):
    with contextlib.closing(open_database(given.database)) as database:
        run = given.run
        if run is not None and not database.execute("SELECT 1 FROM runs WHERE run_id = ?", (run,)).fetchone():
            raise Failure(f"{given.database} has no run {run}")
        which = given.database if run is None else f"run {run}"
        with_rtt = runs_with(database, RTT_ROWS, run)
        with_flows = runs_with(database, FLOW_ROWS, run)
        if not with_rtt and not with_flows:
            raise Failure(f"{which} has neither RTTs nor flows")
        if given.plot and not with_flows:
            raise Failure(f"{which} has no flows to plot")
        if with_rtt:
            heading("RTT", with_rtt)
            print_rtt(database, with_rtt[-1][0])
        else:
            print(f"{which} has no RTTs")
        print()
        if with_flows:
            heading("loss by flow", with_flows)
            print_loss(database, with_flows[-1][0])
        else:
            print(f"{which} has no flows")
        if given.plot:
            plot_loss(database, with_flows[-1][0], with_flows[-1][2], given.plot)


def fail(status, message):
    print(f"rtt_and_loss.py: {message}", file=sys.stderr)
    sys.exit(status)


def main():
    # Ends quietly under `| head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    given = arguments()
    try:
        analyse(given)
    except Failure as failure:
        fail(3, failure)
    except sqlite3.Error as error:
        fail(3, f"cannot read {given.database}: {error}")


if __name__ == "__main__":
    main()
