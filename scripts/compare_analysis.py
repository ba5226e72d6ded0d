#!/usr/bin/env python3
"""Compare the output and the plot of a script of analysis/ with `weir runs export` of the same runs. It shares no code
with the scripts and reads no database: the numbers come from weir.

    scripts/compare_analysis.py WEIR DATABASE PRINTED [SVG]
"""

import itertools
import json
import math
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}"
# Colours of lanes and of their legend, light grey for no loss first.
PAINTS = ["#d9d9d9", "#fed976", "#feb24c", "#fd8d3c", "#f03b20", "#bd0026"]
# Quantiles of the RTT panel in percent, and their colours.
QUANTILES = {50: "#6baed6", 90: "#08519c"}
BLACK = ("black", "#000000")
# As in the scripts.
MAX_BINS = 300


def same(what, found, wanted):
    if found != wanted:
        sys.exit(f"error: {what}: the script has\n  {found}\nand weir\n  {wanted}")


def export(weir, database, run, form="json"):
    command = [weir, "--db", database, "runs", "export", str(run), "--as", form]
    return subprocess.run(command, check=True, capture_output=True).stdout


def report_of(weir, database, run):
    return json.loads(export(weir, database, run))["runs"][0]


def rows_of(run, series, *columns):
    found = run["series"][series]["columns"]
    return list(zip(*(found[column]["values"] for column in columns)))


def tables(printed):
    """Per table, the run and the rows as lists of words."""
    found = {}
    for block in printed.split("\n\n"):
        run = re.match(r"(RTT|loss by flow) of run (\d+) ", block)
        if run:
            words = [line.split() for line in block.splitlines()]
            rows = [row for row in words if row[0] in ("all", "forward", "reverse") or row[0].isdigit()]
            found[run[1]] = (run[2], rows)
    return found


def compare_rtt(run, rows):
    lengths = rows_of(run, "rtt_by_length", "length", "count", "lost", "rtt_p90_ns")
    wanted = [(str(length), count + lost, lost, p90) for length, count, lost, p90 in lengths]
    p90_of_all = dict(rows_of(run, "rtt_distribution", "share", "rtt_ns"))[0.9]
    wanted.append(("all", sum(row[1] for row in wanted), sum(row[2] for row in wanted), p90_of_all))
    # To the nanosecond.
    nanoseconds = [None if row[3] == "-" else round(float(row[3]) * 1e6) for row in rows]
    found = [(row[0], int(row[1]), int(row[2]), p90) for row, p90 in zip(rows, nanoseconds)]
    same(f"RTT of run {run['run_id']}", found, wanted)
    # The quantiles of the summary are from a histogram, accurate to 0.1 %.
    summed = run["summary"]["rtt"]["p90"]
    if abs(summed - p90_of_all) > 0.001 * summed + 1:
        sys.exit(f"error: the P90 is {p90_of_all} ns and in weir's summary {summed} ns")


def compare_loss(run, rows):
    totals = rows_of(run, "flow_totals", "direction", "flow", "port", "received", "lost")
    sent = {way: [flow["sent"] for flow in run["summary"][way]["per_flow"]] for way in {row[0] for row in totals}}
    wanted = []
    for direction, flow, port, received, lost in totals:
        loss = f"{100 * lost / (received + lost):.3g}"
        wanted.append([direction, str(flow), str(port), str(sent[direction][flow]), str(lost), loss])
    same(f"loss by flow of run {run['run_id']}", rows, wanted)
    # Without loss on some flows the test would prove nothing.
    losing = [row[1] for row in wanted if row[0] == "forward" and int(row[4]) > 0]
    same("flows with forward loss", losing, [row[1] for row in wanted if row[0] == "forward"])


def paint_of(element, use):
    """The colour for `fill` or `stroke`. R's device writes percentages; the attribute depends on Cairo's version."""
    style = re.search(rf"\b{use}: ?([^;]+)", element.get("style", ""))
    paint = element.get(use) or (style[1] if style else "")
    shares = re.match(r"rgb\(([\d.]+)%, ?([\d.]+)%, ?([\d.]+)%\)", paint)
    return "#" + "".join(f"{round(float(share) * 2.55):02x}" for share in shares.groups()) if shares else paint


def vertices_of(element):
    found = re.findall(r"[ML] ?([-\d.]+) ([-\d.]+)", element.get("d", ""))
    return [(float(x), float(y)) for x, y in found]


def cells_of(elements):
    """Per lane, from top to bottom: which cells show loss, from left to right."""
    cells = {}
    for element in elements:
        paint, vertices = paint_of(element, "fill"), vertices_of(element)
        if paint not in PAINTS or element.get("class") == "key":
            continue
        if element.tag == f"{SVG}rect":
            x, y = float(element.get("x")), float(element.get("y"))
        elif element.tag == f"{SVG}path" and vertices:
            x, y = (min(vertex[axis] for vertex in vertices) for axis in (0, 1))
        else:
            continue
        cells.setdefault(y, []).append((x, paint))
    lanes = [[paint != PAINTS[0] for _, paint in sorted(cells[y])] for y in sorted(cells)]
    # R's legend has the same elements, below the lanes.
    return lanes[:-1] if lanes and len(lanes[-1]) == len(PAINTS) and lanes[-1] == [False] + 5 * [True] else lanes


def compare_loss_panel(run, elements):
    lanes = {}
    for direction, flow, received, lost in rows_of(run, "flow_bins", "direction", "flow", "received", "lost"):
        if received + lost > 0:
            lanes.setdefault((direction, flow), []).append(lost > 0)
    same("lanes of the plot", cells_of(elements), [lanes[lane] for lane in sorted(lanes)])


def points_of(elements, paint):
    """Centres of the circles of this colour, from left to right. R's device makes a circle of three curves."""
    points = []
    for element in elements:
        if paint_of(element, "fill") != paint:
            continue
        if element.tag == f"{SVG}circle":
            points.append((float(element.get("cx")), float(element.get("cy"))))
        elif element.tag == f"{SVG}path" and "C" in element.get("d"):
            numbers = [float(number) for number in re.findall(r"[-\d.]+", element.get("d"))]
            points.append(tuple((min(numbers[axis::2]) + max(numbers[axis::2])) / 2 for axis in (0, 1)))
    return sorted(points)


def near(one, other):
    return math.dist(one, other) < 0.1


def distance(point, begin, end):
    """From the point to the straight line between two others."""
    along = [b - a for a, b in zip(begin, end)]
    share = sum((p - a) * d for p, a, d in zip(point, begin, along)) / sum(d * d for d in along)
    return math.dist(point, [a + min(max(share, 0), 1) * d for a, d in zip(begin, along)])


def compare_lines(percent, elements, answered, points):
    """A line through the points of each uninterrupted time. R's device leaves out vertices on a straight line; Python's
    script draws each piece for itself."""
    pieces = [vertices_of(element) for element in elements if paint_of(element, "stroke") == QUANTILES[percent]]
    paths = []
    for piece in sorted(piece for piece in pieces if len(piece) > 1):
        if paths and near(paths[-1][-1], piece[0]):
            paths[-1] += piece[1:]
        else:
            paths.append(piece)
    wanted, rest = [], iter(points)
    for known, group in itertools.groupby(answered):
        through = [next(rest) for _ in group] if known else []
        wanted += [through] if len(through) > 1 else []
    same(f"lines of the P{percent}", len(paths), len(wanted))
    for path, through in zip(paths, wanted):
        if not near(path[0], through[0]) or not near(path[-1], through[-1]):
            sys.exit(f"error: a line of the P{percent} is from {path[0]} to {path[-1]}, not {through[0]} to {through[-1]}")
        for vertex in path:
            if not any(near(vertex, point) for point in through):
                sys.exit(f"error: a line of the P{percent} has a vertex at {vertex}, where no point is")
        for point in through:
            if min(distance(point, *piece) for piece in zip(path, path[1:])) > 0.1:
                sys.exit(f"error: a line of the P{percent} misses the point at {point}")


def quantiles_over_time(weir, database, run):
    """Middle of each bin in seconds, and per quantile the RTT of each bin in ns: None where all packets were lost."""
    rows = [json.loads(line) for line in export(weir, database, run["run_id"], "jsonl").splitlines()]
    packets = [row for row in rows if row["table"] == "rtt_packets"]
    sent = [packet["sent_unix_ns"] - rows[0]["started_unix_ns"] for packet in packets]
    bin_seconds = (max(sent) - min(sent)) // 10**9 // MAX_BINS + 1
    bins = {}
    for at, packet in zip(sent, packets):
        bins.setdefault(at // (bin_seconds * 10**9), []).append(packet["rtt_ns"])
    found = {percent: [] for percent in QUANTILES}
    for at in sorted(bins):
        answered = sorted(rtt for rtt in bins[at] if rtt is not None)
        for percent, values in found.items():
            values.append(answered[-(-percent * len(answered) // 100) - 1] if answered else None)
    if bin_seconds == 1:
        reported = rows_of(run, "rtt_seconds", "at_ns", "rtt_p50_ns", "rtt_p90_ns")
        same("RTT over time", [(at * 10**9, *rtts) for at, *rtts in zip(sorted(bins), *found.values())], reported)
    return [(at + 0.5) * bin_seconds for at in sorted(bins)], found


def value_at(what, values, pixels):
    """The linear function from pixels to values. Every point must be within 0.05 of a pixel of it."""
    (first, begin), (last, end) = min(zip(values, pixels)), max(zip(values, pixels))
    unit = (last - first) / (end - begin)
    for value, pixel in zip(values, pixels):
        if abs(first + unit * (pixel - begin) - value) > 0.05 * abs(unit):
            sys.exit(f"error: {what}: {value} is drawn at {first + unit * (pixel - begin)}")
    return lambda pixel: first + unit * (pixel - begin)


def compare_rtt_ticks(elements, rtt_at):
    """The labels of the axis against the values at its ticks. R's device draws glyphs: one for each character."""
    labels = []
    for element in elements:
        uses = element.findall(f"{SVG}use")
        if element.tag == f"{SVG}text":
            labels.append((float(element.get("x")), float(element.get("y")), list(element.text)))
        elif uses:
            glyphs = [use.get(f"{XLINK}href") for use in uses]
            labels.append((float(uses[0].get("x")), float(uses[0].get("y")), glyphs))
    found = []
    for vertices in (vertices_of(element) for element in elements if paint_of(element, "stroke") in BLACK):
        if len(vertices) == 2 and vertices[0][1] == vertices[1][1] and abs(vertices[0][0] - vertices[1][0]) < 10:
            (x, y), _ = vertices
            beside = [symbols for left, base, symbols in labels if left < x and 0 < base - y < 6]
            same("labels at a tick of the RTT", len(beside), 1)
            found.append((rtt_at(y), beside[0]))
    if len(found) < 2:
        sys.exit(f"error: {len(found)} ticks at the axis of the RTT")
    # What is read off the plot may lie a little below zero: a label has no "-0".
    written = [[f"{round(rtt, digits) + 0:.{digits}f}" for rtt, _ in found] for digits in range(7)]
    lengths = [len(symbols) for _, symbols in found]
    fitting = [labels for labels in written if [len(label) for label in labels] == lengths]
    same("numbers of digits that fit the labels of the RTT", len(fitting), 1)
    pairs = {pair for label, (_, symbols) in zip(fitting[0], found) for pair in zip(label, symbols)}
    characters, symbols = (set(column) for column in zip(*pairs))
    same("different symbols in the labels of the RTT", len(symbols), len(characters))
    same("symbols of the characters in the labels of the RTT", len(pairs), len(characters))
    if not any(symbol.startswith("#") for symbol in symbols):
        same("labels of the RTT", pairs, {(character, character) for character in characters})


def compare_rtt_panel(weir, database, run, elements):
    middles, wanted = quantiles_over_time(weir, database, run)
    values, points = [], []
    for percent, paint in QUANTILES.items():
        answered = [rtt is not None for rtt in wanted[percent]]
        drawn = points_of(elements, paint)
        same(f"points of the P{percent}", len(drawn), sum(answered))
        compare_lines(percent, elements, answered, drawn)
        values += [(at, rtt / 1e6) for at, rtt in zip(middles, wanted[percent]) if rtt is not None]
        points += drawn
    value_at("time of the RTT", *([pair[0] for pair in pairs] for pairs in (values, points)))
    rtt_at = value_at("RTT", *([pair[1] for pair in pairs] for pairs in (values, points)))
    compare_rtt_ticks(elements, rtt_at)


def main():
    weir, database, printed, *plot = sys.argv[1:]
    elements = list(xml.parse(plot[0]).iter()) if plot else []
    found = tables(pathlib.Path(printed).read_text(encoding="utf-8"))
    if not found:
        sys.exit(f"error: there is no table in {printed}")
    if "RTT" in found:
        number, rows = found["RTT"]
        run = report_of(weir, database, number)
        compare_rtt(run, rows)
        if plot:
            compare_rtt_panel(weir, database, run, elements)
    else:
        same("points without RTTs", [points_of(elements, paint) for paint in QUANTILES.values()], [[], []])
    if "loss by flow" in found:
        number, rows = found["loss by flow"]
        run = report_of(weir, database, number)
        compare_loss(run, rows)
        if plot:
            compare_loss_panel(run, elements)
    else:
        same("lanes without flows", cells_of(elements), [])


if __name__ == "__main__":
    main()
