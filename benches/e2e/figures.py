#!/usr/bin/env python3
"""Reads what the tools under test print, and draws the tables of flows.sh and rtt.sh.

    figures.py iperf3 FILE           rate at the receiver in bit/s, packets sent, packets lost
    figures.py weir FILE             the same
    figures.py flows FILE            tables from the rows that flows.sh collects
    figures.py rtt-irtt FILE         median round trip in ns
    figures.py rtt-weir FILE FIELD   the same; FIELD is rtt or network_rtt
    figures.py rtt FILE              table from the rows that rtt.sh collects
"""

import json
import statistics
import sys
from collections import namedtuple

ROW_FIELDS = "case length tool kind rate sent lost send_ms receive_ms seconds"
Row = namedtuple("Row", ROW_FIELDS)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def iperf3_figures(path):
    """iperf3 3.12 gives the sender's rate as the receiver's, so the receiver's is worked out from its counters."""
    result = load(path)
    total = result["end"]["sum"]
    length = result["start"]["test_start"]["blksize"]
    sent = result["end"]["sum_sent"]["packets"]
    received = total["packets"] - total["lost_packets"]
    # Packets lost after the last one that arrived are missing from lost_packets.
    return round(received * length * 8 / total["seconds"]), sent, max(sent - received, total["lost_packets"])


def weir_figures(path):
    result = load(path)["forward"]
    return round(result["rate"]), result["sent"], result["lost"]


def irtt_figure(path):
    return load(path)["stats"]["rtt"]["median"]


def weir_rtt_figure(path, field):
    return load(path)[field]["p50"]


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            case, length, tool, kind, *numbers = line.rstrip("\n").split("\t")
            yield Row(case, int(length), tool, kind, *map(int, numbers))


def gigabits(row):
    return (row.sent - row.lost) * row.length * 8 / 1e9


def per_gigabit(row, milliseconds):
    return f"{milliseconds / 1000 / gigabits(row):.3f}" if gigabits(row) else "-"


def cores(row, milliseconds):
    return f"{milliseconds / 1000 / row.seconds:.2f}"


def gbit(row):
    return f"{row.rate / 1e9:.2f}" if row else "-"


def loss(row):
    return f"{row.lost / row.sent:.1e}" if row.lost else "0"


def ratio(rows, case, kind):
    ours, theirs = rows.get((case, "weir", kind)), rows.get((case, "iperf3", kind))
    return f"{ours.rate / theirs.rate:.2f}" if ours and theirs and theirs.rate else "-"


def draw(head, body):
    table = [head, ["-" * len(cell) for cell in head], *body]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        cells = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        cells += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:])]
        print("| " + " | ".join(cells) + " |")
    print()


def search_line(rows, case, tool):
    best, flat = rows.get((case, tool, "clean")), rows.get((case, tool, "flat"))
    line = [case, tool, gbit(best)]
    if best:
        line += [f"{best.rate / 8 / best.length:,.0f}"]
        line += [per_gigabit(best, best.send_ms), per_gigabit(best, best.receive_ms)]
    else:
        line += ["-", "-", "-"]
    line += [gbit(flat), loss(flat) if flat else "-"]
    weir = tool == "weir"
    return line + [ratio(rows, case, "clean") if weir else "", ratio(rows, case, "flat") if weir else ""]


def draw_flows(path):
    found = list(read_rows(path))
    rows = {(row.case, row.tool, row.kind): row for row in found}
    pairs = dict.fromkeys((row.case, row.tool) for row in found)
    print("Highest rate without loss (at most 0.001 %), and flat out. Rates are payload at the receiver; CPU is that of the")
    print("whole process at the rate without loss, in seconds for each gigabit received.\n")
    draw(
        ["case", "tool", "Gbit/s", "packets/s", "CPU send", "CPU receive", "flat out", "its loss", "Weir/iperf3", "flat"],
        [search_line(rows, case, tool) for case, tool in pairs],
    )
    formats = [row for row in found if row.kind not in ("clean", "flat")]
    if formats:
        print("Weir at the rates of two video formats; CPU in cores.\n")
        draw(
            ["case", "format", "seconds", "Gbit/s", "sent", "lost", "loss", "CPU send", "CPU receive"],
            [
                [row.case, row.kind, str(row.seconds), gbit(row), str(row.sent), str(row.lost), loss(row)]
                + [cores(row, row.send_ms), cores(row, row.receive_ms)]
                for row in formats
            ],
        )


def draw_rtt(path):
    """Rows of rtt.sh: what was measured, which tool, nanoseconds."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            what, tool, value = line.rstrip("\n").split("\t")
            found.setdefault(what, {}).setdefault(tool, []).append(int(value))
    body = []
    for what, tools in found.items():
        medians = {tool: statistics.median(values) for tool, values in tools.items()}
        for tool, values in tools.items():
            share = f"{medians['weir'] / medians['irtt']:.2f}" if tool == "weir" and "irtt" in medians else ""
            repeats = "  ".join(f"{value / 1000:.1f}" for value in values)
            body.append([what, tool, repeats, f"{medians[tool] / 1000:.1f}", share])
    draw(["round trip", "tool", "P50 of each repeat, us", "median, us", "Weir/irtt"], body)


def main(arguments):
    commands = {
        "iperf3": lambda path: print(*iperf3_figures(path)),
        "weir": lambda path: print(*weir_figures(path)),
        "flows": draw_flows,
        "rtt-irtt": lambda path: print(irtt_figure(path)),
        "rtt-weir": lambda path, field: print(weir_rtt_figure(path, field)),
        "rtt": draw_rtt,
    }
    if not arguments or arguments[0] not in commands:
        sys.exit(__doc__)
    commands[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
