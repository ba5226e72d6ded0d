#!/usr/bin/env python3
"""Compares what a script of analysis/ printed, and drew, with what `weir runs export` says of the same runs. It shares
no code with the scripts, and reads no database: the numbers come from weir.

    scripts/compare_analysis.py WEIR DATABASE PRINTED [SVG]
"""

import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"
# Of lanes and of the legend, light grey for no loss first.
PAINTS = ["#d9d9d9", "#fed976", "#feb24c", "#fd8d3c", "#f03b20", "#bd0026"]


def same(what, found, wanted):
    if found != wanted:
        sys.exit(f"error: {what}: the script has\n  {found}\nand weir\n  {wanted}")


def export(weir, database, run):
    command = [weir, "--db", database, "runs", "export", run, "--as", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["runs"][0]


def rows_of(run, series, *columns):
    found = run["series"][series]["columns"]
    return list(zip(*(found[column]["values"] for column in columns)))


def tables(printed):
    """The run and the rows, as lists of words, of each table."""
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
    # The summary's quantiles come from a histogram: within 0.1 %.
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
    # The test is worth nothing without loss on some flows.
    losing = [row[1] for row in wanted if row[0] == "forward" and int(row[4]) > 0]
    same("flows with loss on the way there", losing, [row[1] for row in wanted if row[0] == "forward"])


def cells_of(path):
    """Rectangles in the colours of lanes, by their height in the picture: which are a loss, from left to right."""
    cells = {}
    for element in xml.parse(path).iter():
        if element.tag == f"{SVG}rect" and element.get("class") != "key" and element.get("fill") in PAINTS:
            x, y, paint = float(element.get("x")), float(element.get("y")), element.get("fill")
        elif element.tag == f"{SVG}path":
            # As R's device writes them, colours in percent; which attribute has them depends on Cairo's version.
            style = f"{element.get('fill')} {element.get('style')}"
            filled = re.search(r"rgb\(([\d.]+)%, ?([\d.]+)%, ?([\d.]+)%\)", style)
            corners = re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", element.get("d", ""))
            paint = filled and "#" + "".join(f"{round(float(share) * 2.55):02x}" for share in filled.groups())
            if paint not in PAINTS or not corners:
                continue
            x, y = (min(float(corner[axis]) for corner in corners) for axis in (0, 1))
        else:
            continue
        cells.setdefault(y, []).append((x, paint))
    lanes = [[paint != PAINTS[0] for _, paint in sorted(cells[y])] for y in sorted(cells)]
    # R's legend is drawn of the same, below the lanes.
    return lanes[:-1] if lanes and len(lanes[-1]) == len(PAINTS) and lanes[-1] == [False] + 5 * [True] else lanes


def compare_plot(run, path):
    lanes = {}
    for direction, flow, received, lost in rows_of(run, "flow_bins", "direction", "flow", "received", "lost"):
        if received + lost > 0:
            lanes.setdefault((direction, flow), []).append(lost > 0)
    same(f"lanes of {path}", cells_of(path), [lanes[lane] for lane in sorted(lanes)])


def main():
    weir, database, printed, *plot = sys.argv[1:]
    found = tables(pathlib.Path(printed).read_text(encoding="utf-8"))
    if not found:
        sys.exit(f"error: there is no table in {printed}")
    if "RTT" in found:
        number, rows = found["RTT"]
        compare_rtt(export(weir, database, number), rows)
    if "loss by flow" in found:
        number, rows = found["loss by flow"]
        run = export(weir, database, number)
        compare_loss(run, rows)
        if plot:
            compare_plot(run, plot[0])


if __name__ == "__main__":
    main()
