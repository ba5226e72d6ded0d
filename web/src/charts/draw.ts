// Draws the layers of an x-y chart: lines, areas, bars and points, from the rows that are in view.
import {
  area,
  curveLinear,
  curveStepAfter,
  line,
  symbol,
  symbolCircle,
  symbolDiamond,
  symbolSquare,
  symbolTriangle,
} from "d3-shape";
import { s } from "../dom";
import type { Box, Scale } from "./axes";
import { textWidth } from "./axes";
import { decimate, decimateBand, visible } from "./decimate";
import type { Layer, Rule, XYSpec } from "./model";

export const SHAPES = { circle: symbolCircle, square: symbolSquare, diamond: symbolDiamond, triangle: symbolTriangle };

/** Marks of single values are drawn up to this many; beyond them a line says it all. */
const MARKS = 80;

interface Point {
  x: number;
  y: number | null;
}

function withGaps(points: Point[], gap: number | undefined): Point[] {
  if (!gap) return points;
  const out: Point[] = [];
  for (const point of points) {
    const before = out[out.length - 1];
    if (before && point.x - before.x > gap) out.push({ x: point.x, y: null });
    out.push(point);
  }
  return out;
}

/** Draws a layer; returns the indices of its rows that were drawn. */
export function drawLayer(group: SVGGElement, layer: Layer, spec: XYSpec, x: Scale, y: Scale, box: Box): number[] {
  const width = Math.max(1, box.right - box.left);
  const [from, to] = x.domain;
  const range: [number, number] = spec.x.kind === "band" ? [0, layer.x.length] : visible(layer.x, from, to);
  // A log axis has no place for 0: such a value lies on the floor.
  const place = (value: number) => (spec.y.kind === "log" && value <= y.domain[0] ? box.bottom : y(value));
  const parent = s("g", { "data-layer": layer.name, "data-rows": layer.x.length });
  group.append(parent);
  if (layer.kind === "area") return drawArea(parent, layer, range, x, place, width);
  if (layer.kind === "stack") return drawStack(parent, layer, range, x, place);
  const gap = layer.gap && spec.view ? Math.max(layer.gap, (3 * spec.view.span) / width) : layer.gap;
  const kept = decimate(layer.x, layer.y, range, x, width);
  parent.setAttribute("data-drawn", String(kept.length));
  if (layer.kind === "line") {
    const points = withGaps(
      kept.map((i) => ({ x: layer.x[i]!, y: layer.y[i] ?? null })),
      gap,
    );
    const path = line<Point>()
      .curve(layer.step ? curveStepAfter : curveLinear)
      .defined((p) => p.y !== null && (spec.y.kind !== "log" || p.y > 0))
      .x((p) => round(x(p.x)))
      .y((p) => round(place(p.y!)));
    parent.append(
      s("path", { class: "line", d: path(points), stroke: layer.colour, "stroke-dasharray": layer.dash ?? null }),
    );
  }
  if (layer.kind === "bars") drawBars(parent, layer, kept, spec, x, place, box);
  else if (kept.length <= MARKS || layer.kind === "points") drawPoints(parent, layer, kept, x, place);
  return kept;
}

const round = (value: number) => Math.round(value * 10) / 10;

function drawArea(
  parent: SVGGElement,
  layer: Layer,
  range: [number, number],
  x: Scale,
  place: (v: number) => number,
  width: number,
): number[] {
  const band = decimateBand(layer.x, layer.lo ?? [], layer.hi ?? [], range, x, width);
  const rows = band.x.map((at, i) => ({ x: at, lo: band.lo[i] ?? null, hi: band.hi[i] ?? null }));
  const filled: typeof rows = [];
  for (const row of rows) {
    const before = filled[filled.length - 1];
    if (before && layer.gap && row.x - before.x > Math.max(layer.gap, (3 * (x.domain[1] - x.domain[0])) / width)) {
      filled.push({ x: row.x, lo: null, hi: null });
    }
    filled.push(row);
  }
  const path = area<(typeof rows)[number]>()
    .defined((r) => r.lo !== null && r.hi !== null)
    .x((r) => round(x(r.x)))
    .y0((r) => round(place(r.lo!)))
    .y1((r) => round(place(r.hi!)));
  parent.setAttribute("data-drawn", String(rows.length));
  parent.append(
    s("path", { class: "area", d: path(filled), fill: layer.colour, "fill-opacity": layer.opacity ?? 0.2 }),
  );
  return [];
}

/**
 * A part of a stack of columns that stand side by side. Of several columns in one pixel the weightiest is drawn: it
 * is the same one for all parts, so that they still stand on each other.
 */
function drawStack(
  parent: SVGGElement,
  layer: Layer,
  [first, end]: [number, number],
  x: Scale,
  place: (v: number) => number,
): number[] {
  const kept: number[] = [];
  let taken = Number.NaN;
  for (let i = first; i < end; i++) {
    const column = Math.round(x(layer.x[i]!));
    const last = kept.length - 1;
    if (column !== taken) kept.push(i);
    else if ((layer.weight?.[i] ?? 0) > (layer.weight?.[kept[last]!] ?? 0)) kept[last] = i;
    taken = column;
  }
  parent.setAttribute("data-drawn", String(kept.length));
  const shape = (i: number) => {
    const left = Math.round(x(layer.x[i]!));
    const right = Math.max(left + 1, Math.round(x(layer.x[i]! + (layer.wide?.[i] ?? 0))));
    const top = round(place(layer.hi?.[i] ?? 0));
    const bottom = round(place(layer.lo?.[i] ?? 0));
    // One packet among a hundred thousand is still seen.
    return { left, right, bottom, top: Math.min(top, bottom - 1.5) };
  };
  const there = kept.filter((i) => (layer.y[i] ?? 0) > 0);
  if (there.length > MARKS) {
    const d = there.map((i) => {
      const { left, right, top, bottom } = shape(i);
      return `M${left} ${bottom}V${top}H${right}V${bottom}Z`;
    });
    parent.append(s("path", { class: "stack", d: d.join(""), fill: layer.colour }));
    return kept;
  }
  for (const i of there) {
    const { left, right, top, bottom } = shape(i);
    parent.append(
      s("rect", {
        class: "stack",
        x: left,
        width: right - left,
        y: top,
        height: round(bottom - top),
        fill: layer.colour,
        "data-x": layer.x[i]!,
        "data-value": layer.y[i] ?? 0,
      }),
    );
  }
  return kept;
}

function drawBars(
  parent: SVGGElement,
  layer: Layer,
  kept: number[],
  spec: XYSpec,
  x: Scale,
  place: (v: number) => number,
  box: Box,
): void {
  // Bars of several layers share the place of a value: drawn over each other, one would hide the other.
  const beside = spec.layers.filter((one) => one.kind === "bars");
  const nth = beside.indexOf(layer);
  for (const i of kept) {
    const value = layer.y[i] ?? null;
    if (value === null) continue;
    const at = layer.x[i]!;
    const left = spec.x.kind === "log" ? x(Math.max(at * 0.93, at - 0.45)) : x(at - 0.4);
    const right = spec.x.kind === "log" ? x(Math.min(at * 1.075, at + 0.45)) : x(at + 0.4);
    const wide = Math.max(3, (right - left) / beside.length);
    const top = place(value);
    parent.append(
      s("rect", {
        x: round((left + right) / 2 + (nth - beside.length / 2) * wide),
        width: round(wide),
        y: round(top),
        height: round(Math.max(1, box.bottom - top)),
        fill: layer.colour,
        "data-x": at,
        "data-value": value,
      }),
    );
  }
}

function drawPoints(parent: SVGGElement, layer: Layer, kept: number[], x: Scale, place: (v: number) => number): void {
  const size = layer.kind === "points" ? 64 : 26;
  const mark = symbol(SHAPES[layer.shape ?? "circle"], size)() ?? "";
  for (const i of kept) {
    const value = layer.y[i] ?? null;
    const at = x(layer.x[i]!);
    const lo = layer.kind === "points" ? (layer.lo?.[i] ?? null) : null;
    const hi = layer.kind === "points" ? (layer.hi?.[i] ?? null) : null;
    if (lo !== null && hi !== null) {
      const [top, bottom] = [place(hi), place(lo)];
      parent.append(
        s("path", {
          class: "interval",
          d: `M${round(at)} ${round(bottom)}V${round(top)}m-5 0h10M${round(at) - 5} ${round(bottom)}h10`,
          stroke: layer.colour,
        }),
      );
    }
    if (value === null) continue;
    parent.append(
      s("path", {
        class: "mark",
        d: mark,
        transform: `translate(${round(at)} ${round(place(value))})`,
        fill: layer.colour,
        "data-x": layer.x[i]!,
        "data-value": value,
        "data-low": lo,
        "data-high": hi,
      }),
    );
  }
}

/** Lines to compare with, their labels pushed apart. */
export function drawRules(group: SVGGElement, rules: Rule[], x: Scale, y: Scale, box: Box, narrow: boolean): void {
  const across = rules.filter((rule) => rule.axis === "y" && rule.value >= y.domain[0] && rule.value <= y.domain[1]);
  const places = across.map((rule) => ({ rule, at: y(rule.value), text: 0 })).sort((a, b) => a.at - b.at);
  let taken = box.top - 6;
  for (const place of places) {
    place.text = Math.max(place.at, taken + 13);
    taken = place.text;
  }
  // What was pushed past the bottom goes up again.
  let limit = box.bottom - 4;
  for (const place of [...places].reverse()) {
    place.text = Math.min(place.text, limit);
    limit = place.text - 13;
  }
  for (const { rule, at, text } of places) {
    group.append(
      s("line", {
        class: "rule",
        x1: box.left,
        x2: box.right,
        y1: at,
        y2: at,
        "data-rule": rule.label,
        "data-value": rule.value,
      }),
      s("path", { class: "rule-lead", d: `M${box.right} ${round(at)}L${box.right + 6} ${round(text)}` }),
      s("text", { class: "rule-label", x: box.right + 9, y: text, dy: "0.32em" }, narrow ? rule.short : rule.label),
    );
  }
  const ends: number[] = [];
  const upright = rules.filter((rule) => rule.axis === "x" && rule.value >= x.domain[0] && rule.value <= x.domain[1]);
  for (const rule of upright.sort((a, b) => a.value - b.value)) {
    const at = x(rule.value);
    const text = narrow ? rule.short : rule.label;
    const before = at + 4 + textWidth(text, 11) > box.right + 60;
    let row = ends.findIndex((end) => end < at);
    if (row < 0) row = ends.length;
    ends[row] = at + textWidth(text, 11) + 12;
    group.append(
      s("line", {
        class: "rule",
        x1: at,
        x2: at,
        y1: box.top,
        y2: box.bottom,
        "data-rule": rule.label,
        "data-value": rule.value,
      }),
      s(
        "text",
        {
          class: "rule-label",
          x: before ? at - 4 : at + 4,
          y: box.top + 10 + row * 14,
          "text-anchor": before ? "end" : "start",
        },
        text,
      ),
    );
  }
}

/** The legend above the plot, in as many rows as it needs. Returns its height. */
export function drawLegend(
  group: SVGGElement,
  items: { name: string; draw: (x: number, y: number) => SVGElement }[],
  left: number,
  width: number,
): number {
  let x = left;
  let row = 0;
  for (const item of items) {
    const wide = 26 + textWidth(item.name) + 14;
    if (x > left && x + wide > width) {
      x = left;
      row++;
    }
    const y = 10 + row * 19;
    group.append(item.draw(x, y), s("text", { class: "legend", x: x + 24, y, dy: "0.34em" }, item.name));
    x += wide;
  }
  return items.length > 0 ? (row + 1) * 19 + 6 : 0;
}

export function legendKey(layer: Layer): (x: number, y: number) => SVGElement {
  return (x, y) => {
    if (layer.kind === "area")
      return s("rect", {
        x,
        y: y - 6,
        width: 18,
        height: 12,
        fill: layer.colour,
        "fill-opacity": layer.opacity ?? 0.2,
      });
    if (layer.kind === "bars" || layer.kind === "stack")
      return s("rect", { x: x + 3, y: y - 6, width: 12, height: 12, fill: layer.colour });
    if (layer.kind === "points")
      return s("path", {
        d: symbol(SHAPES[layer.shape ?? "circle"], 64)() ?? "",
        transform: `translate(${x + 9} ${y})`,
        fill: layer.colour,
      });
    return s("line", {
      class: "line",
      x1: x,
      x2: x + 18,
      y1: y,
      y2: y,
      stroke: layer.colour,
      "stroke-dasharray": layer.dash ?? null,
    });
  };
}
