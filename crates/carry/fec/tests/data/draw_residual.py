#!/usr/bin/env python3
"""Draws docs/fec-residual.svg from residual.json (computed) and simulated.tsv (simulated), and prints the table of
docs/fec.md that compares them. Run it in its folder; it needs nothing but Python.

The colours and greys are of middle brightness: the drawing is readable on white and on black."""

import csv
import json
import math
import pathlib

COLOURS = {(64, 128): "#d9822b", (20, 80): "#a66bd4", (12, 48): "#4a90d9", (12, 96): "#2a9d76", (6, 48): "#d64f6d"}
GREY = "#808080"
LEFT, TOP, WIDTH, HEIGHT = 70, 20, 560, 420
X_DECADES, Y_DECADES = (-3, -0.8), (-9, 0)
DRAWING = pathlib.Path("../../../../../docs/fec-residual.svg")


def x(loss):
    return LEFT + WIDTH * (math.log10(loss) - X_DECADES[0]) / (X_DECADES[1] - X_DECADES[0])


def y(share):
    share = max(share, 1e-30)
    return TOP + HEIGHT * (Y_DECADES[1] - math.log10(share)) / (Y_DECADES[1] - Y_DECADES[0])


def line(points, colour, dash=""):
    """A curve, cut where it leaves the drawing at the bottom."""
    floor = 10.0 ** Y_DECADES[0]
    shown = []
    for before, after in zip([None] + points, points):
        if after[1] < floor:
            continue
        if before and before[1] < floor:
            part = math.log(floor / before[1]) / math.log(after[1] / before[1])
            shown.append((before[0] * (after[0] / before[0]) ** part, floor))
        shown.append(after)
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in shown)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashes}/>'


def text(at_x, at_y, words, anchor="middle", colour=GREY, more=""):
    return f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" fill="{colour}"{more}>{words}</text>'


def frame():
    parts = []
    for decade in range(Y_DECADES[0], Y_DECADES[1] + 1):
        at = y(10.0**decade)
        parts.append(f'<path d="M{LEFT} {at:.1f}h{WIDTH}" stroke="{GREY}" stroke-opacity="0.3"/>')
        label = "1" if decade == 0 else f'10<tspan dy="-5" font-size="10">{decade}</tspan>'
        parts.append(text(LEFT - 8, at + 4, label, "end"))
    for loss, label in ((1e-3, "0.1 %"), (2e-3, "0.2 %"), (5e-3, "0.5 %"), (1e-2, "1 %"), (2e-2, "2 %"), (5e-2, "5 %"),
                        (1e-1, "10 %")):
        at = x(loss)
        parts.append(f'<path d="M{at:.1f} {TOP}v{HEIGHT}" stroke="{GREY}" stroke-opacity="0.3"/>')
        parts.append(text(at, TOP + HEIGHT + 18, label))
    parts.append(text(LEFT + WIDTH / 2, TOP + HEIGHT + 40, "loss rate of sources and repairs"))
    middle = TOP + HEIGHT / 2
    parts.append(text(16, middle, "residual loss of sources", more=f' transform="rotate(-90 16 {middle})"'))
    return parts


def legend():
    parts, at = [], TOP + 20
    for (n, w), colour in COLOURS.items():
        parts.append(f'<path d="M650 {at}h28" stroke="{colour}" stroke-width="3"/>')
        parts.append(text(686, at + 4, f"{n}/{w}, or RS({w + w // n}, {w})", "start"))
        at += 22
    at += 14
    for dash, words in (("", "sliding window, computed"), ("5 4", "Reed-Solomon, computed")):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<path d="M650 {at}h28" stroke="{GREY}" stroke-width="1.8"{dashes}/>')
        parts.append(text(686, at + 4, words, "start"))
        at += 22
    parts.append(f'<circle cx="664" cy="{at}" r="3.5" fill="{GREY}"/>')
    parts.append(text(686, at + 4, "simulated, with 95 %", "start"))
    return parts


def simulated_points(rows):
    parts = []
    for row in rows:
        colour = COLOURS[int(row["sources_per_repair"]), int(row["window"])]
        share, low, high = (float(row[name]) for name in ("residual", "low", "high"))
        if not int(row["unrecovered"]):
            continue
        at, low = x(float(row["loss"])), max(low, 10.0 ** Y_DECADES[0])
        parts.append(f'<path d="M{at:.1f} {y(low):.1f}V{y(high):.1f}" stroke="{colour}" stroke-width="1.2"/>')
        parts.append(f'<circle cx="{at:.1f}" cy="{y(share):.1f}" r="3.2" fill="{colour}"/>')
    return parts


def draw(computed, simulated):
    parts = frame()
    for (n, w), colour in COLOURS.items():
        rows = [row for row in computed["drawn"] if (row["sources"], row["window"]) == (n, w)]
        parts.append(line([(row["loss"], row["block"]) for row in rows], colour, "5 4"))
        parts.append(line([(row["loss"], row["residual"]) for row in rows], colour))
    parts += simulated_points(simulated) + legend()
    DRAWING.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 490" width="880" height="490" '
        'font-family="sans-serif" font-size="13" role="img" aria-label="Residual loss against loss rate, '
        'for a sliding window and for Reed-Solomon blocks of the same overhead and latency">\n'
        + "\n".join(parts) + "\n</svg>\n", encoding="ascii")


def number(value):
    digits = f"{value:.3g}"
    return digits.replace("e-0", "e-") if value else "0"


def compare(computed, simulated):
    """All rows count; those of which the simulation has seen nothing are not printed."""
    theory = {(row["sources"], row["window"], row["loss"]): row for row in computed["compared"]}
    inside = 0
    print("| code | lost | computed | simulated | its 95 % | Reed-Solomon |\n| --- | --- | --- | --- | --- | --- |")
    for row in simulated:
        key = int(row["sources_per_repair"]), int(row["window"]), float(row["loss"])
        expected, low, high = theory[key]["residual"], float(row["low"]), float(row["high"])
        matches = low <= expected <= high
        inside += matches
        if int(row["unrecovered"]):
            print(f"| {key[0]}/{key[1]} | {key[2] * 100:g} % | {number(expected)} | {number(float(row['residual']))} "
                  f"| {number(low)} to {number(high)}{'' if matches else ' *'} | {number(theory[key]['block'])} |")
    print(f"\n{inside} of {len(simulated)} computed values are inside the interval of the simulation.")


def main():
    computed = json.loads(pathlib.Path("residual.json").read_text(encoding="ascii"))
    with open("simulated.tsv", encoding="ascii") as file:
        simulated = list(csv.DictReader(file, delimiter="\t"))
    draw(computed, simulated)
    compare(computed, simulated)


main()
