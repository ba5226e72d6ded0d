// The scatter chart: many points in groups, and curves to compare them with. A group is drawn as one path, so that tens of
// thousands of points cost no more than a few.
import { line, symbol } from "d3-shape";
import { s } from "../dom";
import { drawAxes, type Scale, textWidth, xScale, yScale } from "./axes";
import { drawLegend, SHAPES } from "./draw";
import type { PointGroup, ScatterSpec } from "./model";
import { PlottedChart } from "./plotted";

/** How far a pointer may be from a point, pixels. */
const REACH = 24;

/** Where a point of one shape begins and how it goes on from there, half as wide as `r`. */
function stamp(shape: PointGroup["shape"], r: number): { dx: number; dy: number; rest: string } {
  const n = (value: number) => String(Math.round(value * 100) / 100);
  switch (shape) {
    case "circle":
      return { dx: -r, dy: 0, rest: `a${n(r)} ${n(r)} 0 1 0 ${n(2 * r)} 0a${n(r)} ${n(r)} 0 1 0 ${n(-2 * r)} 0` };
    case "square":
      return { dx: -r * 0.9, dy: -r * 0.9, rest: `h${n(1.8 * r)}v${n(1.8 * r)}h${n(-1.8 * r)}z` };
    case "diamond":
      return {
        dx: 0,
        dy: -r * 1.2,
        rest: `l${n(1.2 * r)} ${n(1.2 * r)}l${n(-1.2 * r)} ${n(1.2 * r)}l${n(-1.2 * r)} ${n(-1.2 * r)}z`,
      };
    case "triangle":
      return { dx: 0, dy: -r * 1.1, rest: `l${n(1.1 * r)} ${n(2 * r)}h${n(-2.2 * r)}z` };
  }
}

export class ScatterChart extends PlottedChart<ScatterSpec> {
  private readonly groupOf: PointGroup[] = [];
  /** Points from left to right: of each group, and of all. */
  private readonly orders: number[][];
  /** Which of `orders` the keys go through; the last one has all. */
  private order: number;
  private x: Scale | null = null;
  private y: Scale | null = null;
  private chosen: number | null = null;

  constructor(spec: ScatterSpec) {
    const hint =
      spec.groups.length > 1
        ? "Left and right move from point to point, up and down from group to group."
        : "Left and right move from point to point.";
    super(spec, hint);
    for (const group of spec.groups) for (const point of group.points) this.groupOf[point] = group;
    const byX = (points: number[]) => [...points].sort((a, b) => spec.xs[a]! - spec.xs[b]!);
    this.orders = spec.groups.map((group) => byX(group.points));
    this.orders.push(byX(spec.groups.flatMap((group) => group.points)));
    this.order = this.orders.length - 1;
  }

  draw(): void {
    const { spec, width } = this;
    const height = spec.height ?? 300;
    const legend = s("g");
    const top = this.drawLegend(legend, width) + 24;
    const bottom = height - 44;
    const y = yScale(spec.y, domain(spec.ys, spec.y), [bottom, top]);
    const left = Math.max(44, ...y.ticks.map((tick) => textWidth(tick.text) + 14));
    this.box = { left, right: width - 14, top, bottom };
    const x = xScale(spec.x, domain(spec.xs, spec.x), [left, this.box.right], 0);
    [this.x, this.y] = [x, y];
    const axes = s("g");
    drawAxes(axes, this.box, x, y, { x: spec.x.label, y: spec.y.label });
    const clip = this.newClip();
    const marks = s("g", { "clip-path": `url(#${clip})` });
    this.drawCurves(marks, x, y);
    this.drawPoints(marks, x, y);
    const room = { x: left - 5, y: top - 6, width: this.box.right - left + 12, height: bottom - top + 11 };
    this.put(width, height, this.clipPath(clip, room), axes, marks, legend);
  }

  protected again(): void {
    if (this.chosen !== null) this.show(this.chosen, false);
  }

  private drawLegend(legend: SVGGElement, width: number): number {
    const { groups, curves } = this.spec;
    const ofGroups = groups.map((group) => ({
      name: group.name,
      draw: (x: number, y: number) =>
        s("path", {
          d: symbol(SHAPES[group.shape], 64)() ?? "",
          transform: `translate(${x + 9} ${y})`,
          fill: group.colour,
        }),
    }));
    const ofCurves = curves.map((curve) => ({
      name: curve.name,
      draw: (x: number, y: number) =>
        s("line", {
          class: "line",
          x1: x,
          x2: x + 18,
          y1: y,
          y2: y,
          stroke: curve.colour,
          "stroke-dasharray": curve.dash ?? null,
        }),
    }));
    return drawLegend(legend, [...(groups.length > 1 ? ofGroups : []), ...ofCurves], 2, width);
  }

  private drawCurves(marks: SVGGElement, x: Scale, y: Scale): void {
    const path = line<[number, number]>()
      .x((point) => Math.round(x(point[0]) * 10) / 10)
      .y((point) => Math.round(y(point[1]) * 10) / 10);
    for (const curve of this.spec.curves)
      marks.append(
        s("path", {
          class: "line",
          d: within(curve.points, this.spec, x.domain, y.domain)
            .map((part) => path(part))
            .join(""),
          stroke: curve.colour,
          "stroke-dasharray": curve.dash ?? null,
          "data-curve": curve.name,
        }),
      );
  }

  private drawPoints(marks: SVGGElement, x: Scale, y: Scale): void {
    const { groups, xs, ys } = this.spec;
    const all = groups.reduce((sum, group) => sum + group.points.length, 0);
    const r = all < 300 ? 3.6 : all < 3000 ? 2.8 : 2;
    for (const group of groups) {
      // Arcs of tens of thousands of circles take long; that small, nobody sees that they are squares.
      const { dx, dy, rest } = stamp(all > 3000 ? "square" : group.shape, r);
      const taken = new Set<number>();
      const parts: string[] = [];
      for (const point of group.points) {
        const [left, top] = [Math.round(x(xs[point]!) * 2) / 2, Math.round(y(ys[point]!) * 2) / 2];
        // Where a point of the group is drawn already, another one changes nothing.
        const place = left * 2 + top * 2 * 16_384;
        if (taken.has(place)) continue;
        taken.add(place);
        parts.push(`M${Math.round((left + dx) * 100) / 100} ${Math.round((top + dy) * 100) / 100}${rest}`);
      }
      const attributes = { "data-layer": group.name, "data-rows": group.points.length, "data-drawn": parts.length };
      const path = s("path", {
        class: "points",
        d: parts.join(""),
        fill: group.colour,
        "fill-opacity": all > 300 ? 0.6 : 0.85,
      });
      marks.append(s("g", attributes, path));
    }
  }

  protected point(left: number, top: number): void {
    const { x, y, spec } = this;
    if (!x || !y) return;
    let nearest: number | null = null;
    let least = REACH ** 2;
    for (const point of this.orders[this.orders.length - 1]!) {
      const far = (x(spec.xs[point]!) - left) ** 2 + (y(spec.ys[point]!) - top) ** 2;
      if (far < least) [nearest, least] = [point, far];
    }
    if (nearest === null) this.clear();
    else this.show(nearest, false);
  }

  protected key(event: KeyboardEvent): void {
    if (event.key === "Escape") return this.clear();
    const turn = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (turn !== undefined && this.orders.length > 2) {
      event.preventDefault();
      this.order = (this.order + turn + this.orders.length) % this.orders.length;
      const first = this.orders[this.order]![0];
      if (first !== undefined) this.show(first, true);
      return;
    }
    const points = this.orders[this.order]!;
    const page = Math.max(2, Math.round(points.length / 20));
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -page, PageDown: page, Home: -1e9, End: 1e9 }[event.key];
    if (step === undefined || points.length === 0) return;
    event.preventDefault();
    const now = this.chosen === null ? -1 : points.indexOf(this.chosen);
    const next = now < 0 ? (step > 0 ? step - 1 : points.length + step) : now + step;
    this.show(points[Math.max(0, Math.min(points.length - 1, next))]!, true);
  }

  private show(point: number, speak: boolean): void {
    const { spec, x, y, mark } = this;
    if (!x || !y) return;
    this.chosen = point;
    const [left, top] = [x(spec.xs[point]!), y(spec.ys[point]!)];
    const group = this.groupOf[point];
    mark.replaceChildren(
      s("circle", { class: "cursor-point", cx: left, cy: top, r: 5.5, stroke: group?.colour ?? "var(--text)" }),
    );
    const named = group && spec.groups.length > 1 ? [{ name: group.name, text: "", colour: group.colour }] : [];
    this.frame.showTip(left, top, spec.head(point), [...named, ...spec.tell(point)], speak);
  }

  protected override clear(): void {
    this.chosen = null;
    super.clear();
  }
}

type Point = [number, number];

/** The parts of a curve that are inside the axes (Liang and Barsky, 1984): a log axis has no place for the rest. */
function within(points: Point[], axes: Pick<ScatterSpec, "x" | "y">, xs: Point, ys: Point): Point[][] {
  const kinds = [axes.x.kind, axes.y.kind];
  const there = (value: number, i: number) => (kinds[i] === "log" ? Math.log10(Math.max(value, 1e-300)) : value);
  const back = (value: number, i: number) => (kinds[i] === "log" ? 10 ** value : value);
  const bounds = [xs, ys].map((domain, i) => domain.map((value) => there(value, i)));
  return points.slice(1).flatMap((end, i): Point[][] => {
    const from = points[i]!.map(there);
    const by = end.map((value, axis) => there(value, axis) - from[axis]!);
    let [first, last] = [0, 1];
    for (const axis of [0, 1]) {
      const [low, high] = bounds[axis]! as Point;
      const cuts = [(low - from[axis]!) / by[axis]!, (high - from[axis]!) / by[axis]!];
      if (by[axis] === 0) {
        if (from[axis]! < low || from[axis]! > high) return [];
        continue;
      }
      first = Math.max(first, Math.min(...cuts));
      last = Math.min(last, Math.max(...cuts));
    }
    if (first >= last) return [];
    const at = (share: number): Point => [back(from[0]! + share * by[0]!, 0), back(from[1]! + share * by[1]!, 1)];
    return [[at(first), at(last)]];
  });
}

/** From the smallest to the largest value with a little room; a linear axis begins at 0. */
function domain(values: number[], axis: ScatterSpec["x"] | ScatterSpec["y"]): [number, number] {
  if (axis.domain) return axis.domain;
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (axis.kind === "log" && value <= 0) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (axis.kind !== "log") return [0, high > 0 ? high * 1.04 : 1];
  if (!Number.isFinite(low)) return [1, 10];
  return high / low < 4 ? [low / 2, high * 2] : [low * 0.8, high * 1.25];
}
