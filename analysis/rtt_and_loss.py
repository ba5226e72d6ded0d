#!/usr/bin/env python3
"""Read a Weir database with Python's standard library: P90 of the RTT, loss by flow, and a plot of both over time.
A starting point for other analyses; docs/database.md describes the tables.

    python3 analysis/rtt_and_loss.py weir.db [RUN] [--plot plot.svg]
"""

import argparse
import contextlib
import itertools
import math
import pathlib
import re
import signal
import sqlite3
import sys

APPLICATION_ID = 0x57454952  # "WEIR"
# As in reports: above 200 payload lengths, 200 ranges of them.
MAX_LENGTHS = 200
MAX_BINS = 300
MAX_CELLS = 30_000

# Of both panels of the plot, in pixels.
LEFT = 110
WIDTH = 780
RTT_HEIGHT = 160

QUANTILES = [("P50", 50, "#6baed6"), ("P90", 90, "#08519c")]

NO_LOSS = "#d9d9d9"
# Upper limits in percent. Each step is a decade, because loss rates range from 0.001 % to 100 %.
COLOURS = [(0.01, "#fed976"), (0.1, "#feb24c"), (1, "#fd8d3c"), (10, "#f03b20"), (100, "#bd0026")]

# The steps of a survey are separate runs.
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

RTTS_OVER_TIME = """
SELECT (sent_unix_ns - :started) / (:bin * 1000000000), CASE WHEN NOT lost THEN rtt_ns / 1e6 END AS rtt_ms
FROM rtt_packets
WHERE run_id = :run
ORDER BY 1, rtt_ms
"""

# A row covers the second before unix_ns, the last row of a run the remainder. Rows are not exactly a second apart, so
# bins of one second would sometimes hold two rows or none: with bins of one second, each row is a cell.
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
    """An error message of one line."""


def open_database(path):
    if not pathlib.Path(path).is_file():
        raise Failure(f"no such file: {path}")
    # Read-only, including what a running Weir has committed to weir.db-wal only.
    database = sqlite3.connect(pathlib.Path(path).absolute().as_uri() + "?mode=ro", uri=True, isolation_level=None)
    try:
        found = database.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if "not a database" not in str(error):
            raise
        found = None
    if found != APPLICATION_ID:
        raise Failure(f"{path} is not a Weir database")
    # All queries read the same state, even while a run is being recorded.
    database.execute("BEGIN")
    return database


def runs_with(database, rows, run):
    return database.execute(RUNS_WITH.format(rows=rows), {"run": run}).fetchall()


def heading(what, runs):
    """Prints the run that is analysed, the last, and up to eight earlier ones."""
    run, kind, _, started = runs[-1]
    others = ", ".join(str(other[0]) for other in runs[:-1][-8:])
    print(f"{what} of run {run} ({kind}, {started} UTC)" + (f"; others: {others}" if others else ""))


def quantile(ascending, percent):
    """By nearest rank: the smallest value that this percentage of the values does not exceed."""
    return ascending[(percent * len(ascending) + 99) // 100 - 1]


def print_rtt(database, run):
    """P90 by payload length and of all packets, without lost ones."""
    lengths, first, last = database.execute(
        "SELECT count(DISTINCT length), min(length), max(length) FROM rtt_packets WHERE run_id = ?", (run,)
    ).fetchone()
    width = 1 if lengths <= MAX_LENGTHS else -(-(last - first + 1) // MAX_LENGTHS)
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
        print(f"ranges of {width} lengths, labelled with the largest")
    print(f"{'length':>8} {'sent':>10} {'lost':>8} {'P90 (ms)':>14}")
    for length, sent, rtts in groups:
        p90 = f"{quantile(rtts, 90):.6f}" if rtts else "-"
        print(f"{length:>8} {sent:>10} {sent - len(rtts):>8} {p90:>14}")


def print_loss(database, run):
    """Sent is received + lost, as the receiver counts them."""
    print(f"{'direction':<9} {'flow':>5} {'port':>6} {'sent':>12} {'lost':>10} {'loss (%)':>10}")
    for direction, flow, port, sent, lost in database.execute(FLOWS, (run,)):
        loss = f"{100 * lost / sent:.3g}" if sent else "-"
        print(f"{direction:<9} {flow:>5} {port:>6} {sent:>12} {lost:>10} {loss:>10}")


def colour(sent, lost):
    if lost == 0:
        return NO_LOSS
    return next(paint for limit, paint in COLOURS if 100 * lost <= limit * sent)


def text(x, y, anchor, content):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{content}</text>'


def scale(first, last, start, length):
    """Maps values from first to last to pixels from start."""
    return lambda value: start + length * (value - first) / (last - first)


def ticks(first, last):
    """At most eight steps between round numbers: values and labels."""
    exponent = math.floor(math.log10((last - first) / 8))
    factor = next(factor for factor in (1, 2, 5, 10) if last - first <= 8 * factor * 10**exponent)
    step = factor * 10**exponent
    values = [place * step for place in range(math.ceil(first / step), math.floor(last / step) + 1)]
    return [(value, f"{value:.{max(0, -exponent - factor // 10)}f}") for value in values]


def heading_and_axis(title, x, first, last, top, bottom):
    """The parts that both panels have: the title, and the time axis, in seconds since the start of the run."""
    drawn = [f'<text x="{LEFT}" y="{top - 14}" font-size="14">{title}</text>']
    for at, label in ticks(first, last):
        drawn.append(f'<path d="M{x(at):.1f} {bottom:.1f}v4" stroke="black"/>')
        drawn.append(text(x(at), bottom + 16, "middle", f"{label} s"))
    return drawn


def legend(keys, top):
    drawn = []
    for place, (label, paint) in enumerate(keys):
        at = LEFT + place * 110
        drawn.append(f'<rect class="key" x="{at}" y="{top:.1f}" width="12" height="12" fill="{paint}"/>')
        drawn.append(text(at + 18, top + 10, "start", label))
    return drawn


def rtt_panel(database, run, started, top):
    """The panel and its lower end: quantiles of the RTT of the packets sent in each second, or longer bin."""
    span = database.execute(
        "SELECT (max(sent_unix_ns) - min(sent_unix_ns)) / 1000000000 FROM rtt_packets WHERE run_id = ?", (run,)
    ).fetchone()[0]
    bin_seconds = span // MAX_BINS + 1
    rows = database.execute(RTTS_OVER_TIME, {"run": run, "started": started, "bin": bin_seconds})
    # The RTTs of each bin, in ascending order; none where all packets were lost.
    bins = {}
    for at, rtt in rows:
        bins.setdefault(at, []).extend([] if rtt is None else [rtt])
    first, last = min(bins) * bin_seconds, (max(bins) + 1) * bin_seconds
    lines = [[(at, quantile(rtts, share) if rtts else None) for at, rtts in bins.items()] for _, share, _ in QUANTILES]
    drawn_rtts = [rtt for line in lines for _, rtt in line if rtt is not None]
    low, high = min(drawn_rtts, default=0), max(drawn_rtts, default=1)
    # At least 1 % of the RTT, so that insignificant differences stay small.
    margin = max(0.05 * (high - low), 0.01 * high)

    top, bottom = top + 34, top + 34 + RTT_HEIGHT
    x = scale(first, last, LEFT, WIDTH)
    y = scale(low - margin, high + margin, bottom, -RTT_HEIGHT)
    title = f"RTT (ms) over time, run {run}" + ("" if drawn_rtts else ": all packets lost")
    drawn = heading_and_axis(title, x, first, last, top, bottom)
    drawn.append(f'<path d="M{LEFT} {top}V{bottom}H{LEFT + WIDTH}" fill="none" stroke="black"/>')
    for rtt, label in ticks(low - margin, high + margin):
        drawn.append(f'<path d="M{LEFT} {y(rtt):.2f}L{LEFT - 4} {y(rtt):.2f}" stroke="black"/>')
        drawn.append(text(LEFT - 8, y(rtt) + 4, "end", label))
    for (name, _, paint), line in zip(QUANTILES, lines):
        points = [(x((at + 0.5) * bin_seconds), None if rtt is None else y(rtt)) for at, rtt in line]
        drawn.append(f'<g id="{name}" shape-rendering="auto">')
        for (from_x, from_y), (to_x, to_y) in zip(points, points[1:]):
            if from_y is not None and to_y is not None:
                drawn.append(f'<path d="M{from_x:.2f} {from_y:.2f}L{to_x:.2f} {to_y:.2f}" stroke="{paint}"/>')
        for at, rtt in points:
            if rtt is not None:
                drawn.append(f'<circle cx="{at:.2f}" cy="{rtt:.2f}" r="1.5" fill="{paint}"/>')
        drawn.append("</g>")
    drawn += legend([(name, paint) for name, _, paint in QUANTILES], bottom + 30)
    return drawn, bottom + 60


def loss_panel(database, run, started, top):
    """The panel and its lower end: a lane per flow, a cell per second, or longer bin; the colour is the loss."""
    lanes = [row[:2] for row in database.execute(FLOWS, (run,))]
    span = database.execute(
        "SELECT (max(unix_ns) - min(unix_ns)) / 1000000000 FROM flow_seconds WHERE run_id = ?", (run,)
    ).fetchone()[0]
    bin_seconds = span // max(1, min(MAX_BINS, MAX_CELLS // len(lanes))) + 1
    cells = database.execute(CELLS, {"run": run, "started": started, "bin": bin_seconds}).fetchall()
    first = min(cell[2] for cell in cells)
    last = max(cell[3] for cell in cells)

    height = max(2.0, min(18.0, 720 / len(lanes)))
    top, bottom = top + 34, top + 34 + height * len(lanes)
    named_every = -(-12 // int(height))
    # Below a pixel, gaps between lanes would cause a pattern.
    filled = 0.85 * height if height > 6 else height
    x = scale(first, last, LEFT, WIDTH)
    drawn = heading_and_axis(f"Loss by flow over time, run {run}", x, first, last, top, bottom)
    by_lane = {lane: list(rows) for lane, rows in itertools.groupby(cells, key=lambda cell: cell[:2])}
    for place, (direction, flow) in enumerate(lanes):
        y = top + place * height
        drawn.append(f'<g class="lane" id="{direction}-{flow}">')
        if place % named_every == 0:
            drawn.append(text(LEFT - 6, y + height / 2 + 4, "end", f"{direction} {flow}"))
        for _, _, begin, end, sent, lost in by_lane[direction, flow]:
            # Nothing received and nothing known to be lost: white.
            if sent == 0:
                continue
            drawn.append(
                f'<rect x="{x(begin):.2f}" y="{y:.2f}" width="{x(end) - x(begin):.2f}" height="{filled:.2f}" '
                f'fill="{colour(sent, lost)}"><title>{begin:.1f} s: {lost} of {sent} lost</title></rect>'
            )
        drawn.append("</g>")
    drawn += legend([("no loss", NO_LOSS)] + [(f"to {limit:g} %", paint) for limit, paint in COLOURS], bottom + 30)
    return drawn, bottom + 60


def plot(database, with_rtt, with_flows, path):
    """Draws the RTT, the loss by flow, or both, of the last run with each."""
    drawn, height = [], 0
    for panel, runs in ((rtt_panel, with_rtt), (loss_panel, with_flows)):
        if runs:
            run, _, started, _ = runs[-1]
            elements, height = panel(database, run, started, height)
            drawn += elements
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {height:.0f}" '
        'font-family="sans-serif" font-size="11" shape-rendering="crispEdges">'
    )
    background = '<rect width="100%" height="100%" fill="white"/>'
    try:
        pathlib.Path(path).write_text("\n".join([head, background, *drawn, "</svg>\n"]), encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from error
    print(f"plot written to {path}")


def run_number(written):
    if not re.fullmatch("[0-9]{1,18}", written):
        raise argparse.ArgumentTypeError(f"'{written}' is not a run number; 'weir runs list' lists them")
    return int(written)


def svg_file(written):
    if not written.endswith(".svg"):
        raise argparse.ArgumentTypeError(f"'{written}' does not end in .svg, the only format of this script")
    return written


def arguments():
    parser = argparse.ArgumentParser(
        description="Print P90 of the RTT and loss by flow from a Weir database.",
        epilog="Exit status: 0 success; 2 wrong arguments; 3 missing or unreadable data.",
    )
    # One line, without the usage text.
    parser.error = lambda message: fail(2, f"{message}; try --help")
    parser.add_argument("database", metavar="DATABASE", help="SQLite file, such as weir.db; opened read-only")
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs="?",
        type=run_number,
        help="run number; of a survey, its last steps with RTTs and with flows (default: the last runs with either)",
    )
    parser.add_argument("--plot", metavar="FILE", type=svg_file, help="draw RTT and loss by flow over time, as SVG")
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
            plot(database, with_rtt, with_flows, given.plot)


def fail(status, message):
    print(f"rtt_and_loss.py: {message}", file=sys.stderr)
    sys.exit(status)


def main():
    # End without a message under `| head`.
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
