// The x-y chart: most charts of the page. Over time it shares its zoom with the other charts of its run.
import { s } from "../dom";
import { both, toDate } from "../time";
import { drawAxes, type Scale, textWidth, timeLabel, xScale, yScale } from "./axes";
import { lowerBound, nearest, visible } from "./decimate";
import { drawLayer, drawLegend, drawRules, legendKey } from "./draw";
import type { TipLine } from "./frame";
import type { XYSpec } from "./model";
import { PlottedChart } from "./plotted";
import { ZOOM_HINT, zoomKey } from "./zoom";

export class XYChart extends PlottedChart<XYSpec> {
  private x: Scale | null = null;
  private y: Scale | null = null;
  /** The x of all rows that are drawn, ascending: where the point can be. */
  private stops: number[] = [];
  private cursor: number | null = null;

  constructor(spec: XYSpec) {
    super(spec, spec.view ? ZOOM_HINT : "Left and right move the point.", spec.view);
  }

  draw(): void {
    const { spec, width } = this;
    const narrow = width < 520;
    const height = spec.height ?? 270;
    const legend = s("g");
    const named = spec.layers.filter((layer) => !layer.silent);
    const items =
      named.length > 1 || named[0]?.kind === "area"
        ? named.map((layer) => ({ name: layer.name, draw: legendKey(layer) }))
        : [];
    const legendHeight = drawLegend(legend, items, 2, width);

    const xDomain = this.xDomain();
    const yDomain = this.yDomain(xDomain);
    const top = legendHeight + 24;
    const bottom = height - 44;
    const rules = spec.rules ?? [];
    const across = rules.filter((rule) => rule.axis === "y" && rule.value >= yDomain[0] && rule.value <= yDomain[1]);
    const ruleWidth =
      across.length > 0 ? Math.max(...across.map((rule) => textWidth(narrow ? rule.short : rule.label, 11))) + 12 : 14;
    const y = yScale(spec.y, yDomain, [bottom, top]);
    const left = Math.max(44, ...y.ticks.map((tick) => textWidth(tick.text) + 14));
    this.box = { left, right: width - ruleWidth, top, bottom };
    const x = xScale(spec.x, xDomain, [this.box.left, this.box.right], spec.startedUnixNs ?? 0);
    this.x = x;
    this.y = y;

    const axes = s("g");
    drawAxes(axes, this.box, x, y, {
      x: spec.x.kind === "time" ? timeLabel(spec.startedUnixNs ?? 0) : spec.x.label,
      y: spec.y.label,
    });
    const clip = this.newClip();
    const marks = s("g", { "clip-path": `url(#${clip})` });
    const stops = new Set<number>();
    for (const layer of spec.layers) {
      for (const i of drawLayer(marks, layer, spec, x, y, this.box)) {
        const at = layer.x[i]!;
        if (at >= xDomain[0] && at <= xDomain[1]) stops.add(at);
      }
    }
    this.stops = [...stops].sort((a, b) => a - b);
    const ruled = s("g");
    drawRules(ruled, rules, x, y, this.box, narrow);
    const room = { x: left, y: top - 8, width: this.box.right - left, height: bottom - top + 14 };
    this.put(width, height, this.clipPath(clip, room), axes, ruled, marks, legend);
  }

  protected again(): void {
    if (this.cursor !== null) this.showPoint(this.cursor, false);
  }

  private xDomain(): [number, number] {
    const { x, view, layers } = this.spec;
    if (view) return [view.from, view.to];
    if (x.domain) return x.domain;
    if (x.kind === "band") return [0, Math.max(0, (x.places?.length ?? 1) - 1)];
    let low = Infinity;
    let high = -Infinity;
    for (const layer of layers)
      for (const value of layer.x) {
        if (x.kind === "log" && value <= 0) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    if (!Number.isFinite(low)) return x.kind === "log" ? [1, 10] : [0, 1];
    if (x.kind === "log") return low * 1.5 > high ? [low / 2, high * 2] : [low * 0.85, high * 1.15];
    if (low === high) return [low - 1, high + 1];
    return [low, high];
  }

  /** Over a zoomed part only what is in it counts, so that small things become visible. */
  private yDomain(x: [number, number]): [number, number] {
    const { y, layers, rules, view } = this.spec;
    if (y.domain) return y.domain;
    let low = Infinity;
    let high = -Infinity;
    const take = (value: number | null | undefined) => {
      if (value === null || value === undefined || (y.kind === "log" && value <= 0)) return;
      if (value < low) low = value;
      if (value > high) high = value;
    };
    for (const layer of layers) {
      const [first, end] = view ? visible(layer.x, x[0], x[1]) : [0, layer.x.length];
      for (let i = first; i < end; i++) {
        if (layer.kind !== "area") take(layer.y[i]);
        take(layer.lo?.[i]);
        take(layer.hi?.[i]);
      }
    }
    if (!Number.isFinite(low)) return y.kind === "log" ? [1, 10] : [0, 1];
    // Lines to compare with belong into the picture unless they would squeeze what was measured.
    const [least, most] = y.kind === "log" ? [low / 30, high * 30] : [0, high * 2];
    for (const rule of rules ?? [])
      if (rule.axis === "y" && rule.value >= least && rule.value <= most) take(rule.value);
    if (y.kind === "log") return high / low < 4 ? [low / 2, high * 2] : [low * 0.8, high * 1.25];
    if (y.zero !== false) {
      if (high === 0 && low === 0) return [0, 1];
      return [Math.min(0, low), high > 0 ? high * 1.06 : 0];
    }
    const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    return [low - room, high + room];
  }

  protected point(at: number, y: number): void {
    if (!this.x || this.stops.length === 0) return;
    if (at < this.box.left - 10 || at > this.box.right + 10) return this.clear();
    this.showPoint(this.stops[nearest(this.stops, this.x.invert(at))]!, false, y);
  }

  protected key(event: KeyboardEvent): void {
    const { view } = this.spec;
    if (view && zoomKey(event, view, this.cursor ?? undefined)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Escape") return this.clear();
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 }[event.key];
    if (step === undefined || this.stops.length === 0 || event.shiftKey) return;
    event.preventDefault();
    const last = this.stops.length - 1;
    const now = this.cursor === null ? (step > 0 ? -1 : last + 1) : lowerBound(this.stops, this.cursor);
    const next = now + step;
    if (view && !view.whole && this.cursor !== null && (next < 0 || next > last) && Math.abs(step) < 1e9)
      view.pan(step < 0 ? -0.5 : 0.5);
    this.showPoint(this.stops[Math.max(0, Math.min(last, next))]!, true);
  }

  /** Shows the values at an x that is drawn. */
  private showPoint(value: number, speak: boolean, y?: number): void {
    const { spec, x, mark } = this;
    if (!x) return;
    this.cursor = value;
    const at = x(value);
    mark.replaceChildren(s("line", { class: "cursor", x1: at, x2: at, y1: this.box.top, y2: this.box.bottom }));
    const near = spec.x.kind === "band" ? 0 : Math.abs(x.invert(at + 4) - x.invert(at));
    const exact = spec.y.exact ?? spec.y.format;
    const lines: TipLine[] = [];
    for (const layer of spec.layers) {
      if (layer.x.length === 0) continue;
      const i = nearest(layer.x, value);
      if (Math.abs(layer.x[i]! - value) > near) continue;
      const write = layer.exact ?? exact;
      const lo = layer.lo?.[i];
      const hi = layer.hi?.[i];
      const between = layer.kind !== "stack" && typeof lo === "number" && typeof hi === "number";
      const interval = between ? `${write(lo)} to ${write(hi)}` : null;
      const own = layer.kind === "area" ? null : layer.y[i];
      const text = typeof own === "number" ? write(own) + (interval ? ` (${interval})` : "") : interval;
      if (text === null) continue;
      lines.push({ name: layer.name, text, colour: layer.colour });
      if (typeof own === "number" && this.y) {
        const level = layer.kind === "stack" ? (hi ?? own) : own;
        const place = spec.y.kind === "log" && level <= this.y.domain[0] ? this.box.bottom : this.y(level);
        mark.append(s("circle", { class: "cursor-point", cx: at, cy: place, r: 4.5, stroke: layer.colour }));
      }
    }
    this.frame.showTip(at, y ?? this.box.top + 12, this.head(value), lines, speak);
  }

  private head(value: number): string {
    const { x, startedUnixNs, view } = this.spec;
    if (x.kind === "time") return both(toDate(startedUnixNs ?? 0, value), (view?.span ?? 0) < 600e9 ? 3 : 0);
    if (x.kind === "band") return x.places?.[value] ?? "";
    return `${x.label.replace(/ *\(.*\)$/, "")}: ${x.format(value)}`;
  }
}
