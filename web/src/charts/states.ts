// One lane for each thing that has a state over time, and one for what happened: states differ in colour and in height.
import { symbol } from "d3-shape";
import { s } from "../dom";
import { count, nanoseconds } from "../format";
import { both, toDate } from "../time";
import { type Box, drawAxes, type Scale, textWidth, time, timeLabel } from "./axes";
import { lowerBound } from "./decimate";
import { drawLegend, SHAPES } from "./draw";
import { Frame, type TipLine } from "./frame";
import { gather, type Together } from "./gather";
import type { Moment, StateLook, StatesSpec } from "./model";
import { type Drawable, invalidate, manage } from "./schedule";
import { attachZoom, ZOOM_HINT, zoomKey } from "./zoom";

/** Above this many, the states of a lane are one path, and only the longest are elements of their own. */
const SINGLE = 80;
const LONGEST = 12;
/** What is shorter than this on the screen is drawn this wide, so that a second of a day is seen. */
const LEAST = 3;

type Drawn = Record<string, Together[]>;

export class StatesChart implements Drawable {
  readonly element: HTMLElement;
  private readonly frame: Frame;
  private box: Box = { left: 0, right: 0, top: 0, bottom: 0 };
  private readonly laneHeight: number;
  /** The lane of what happened is the first, where there is one. */
  private readonly above: number;
  private lane = 0;
  private cursor: number | null = null;
  private mark: SVGGElement | null = null;
  private x: Scale | null = null;
  private drawn: Drawn[] = [];

  constructor(private readonly spec: StatesSpec) {
    this.frame = new Frame(spec, `Up and down choose a lane. Left and right move from event to event. ${ZOOM_HINT}`);
    this.element = this.frame.figure;
    this.laneHeight = spec.lanes.length > 24 ? 16 : 24;
    this.above = spec.moments.length > 0 ? 1 : 0;
    if (spec.empty) return;
    const plot = this.frame.plot;
    attachZoom(plot, spec.view, () => this.box);
    spec.view.onChange(() => invalidate(this));
    plot.classList.add("zoomable");
    plot.addEventListener("pointermove", (event) => this.point(event));
    plot.addEventListener("pointerleave", () => this.clear());
    plot.addEventListener("blur", () => this.clear());
    plot.addEventListener("keydown", (event) => this.key(event));
    manage(this);
  }

  private get rows(): number {
    return this.above + this.spec.lanes.length;
  }

  draw(): void {
    const { spec, laneHeight } = this;
    const { view, lanes, looks, moments } = spec;
    const width = Math.max(240, this.frame.plot.clientWidth);
    const legend = s("g");
    const used = looks.filter((look) => lanes.some((lane) => (lane.states[look.state]?.at.length ?? 0) > 0));
    const kinds = [...new Map(moments.map((one) => [one.kind, one])).values()];
    const top =
      drawLegend(
        legend,
        [
          ...used.map((look) => ({ name: look.name, draw: (x: number, y: number) => stateKey(look, x, y) })),
          ...kinds.map((one) => ({
            name: one.name,
            draw: (x: number, y: number) => this.momentMark(one, x + 9, y),
          })),
        ],
        2,
        width,
      ) + 10;
    const bottom = top + this.rows * laneHeight;
    const height = bottom + 44;
    const labels = [...(this.above ? ["events"] : []), ...lanes.map((lane) => lane.label)];
    const left = Math.max(56, ...labels.map((label) => textWidth(label) + 12));
    this.box = { left, right: width - 14, top, bottom };
    const x = time([view.from, view.to], [left, this.box.right], spec.startedUnixNs);
    this.x = x;
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true", class: "chart" });
    const axes = s("g");
    drawAxes(axes, this.box, x, null, { x: timeLabel(spec.startedUnixNs), y: "" });
    const clip = `clip-${spec.id}-${Math.random().toString(36).slice(2)}`;
    const body = s("g", { "clip-path": `url(#${clip})` });
    labels.forEach((label, row) => {
      const y = top + row * laneHeight;
      const floor = y + laneHeight - 1;
      body.append(s("line", { class: "lane-line", x1: left, x2: this.box.right, y1: floor, y2: floor }));
      axes.append(
        s("text", { class: "tick", x: left - 8, y: y + laneHeight / 2, dy: "0.32em", "text-anchor": "end" }, label),
      );
    });
    if (this.above) body.append(this.momentLane(x, top + laneHeight / 2));
    this.drawn = lanes.map((lane, i) => {
      const group = s("g", { "data-lane": lane.name });
      body.append(group);
      const together: Drawn = {};
      for (const look of looks) {
        const marks = lane.states[look.state];
        if (!marks) continue;
        together[look.state] = gather(marks, view.from, view.to, x, 1);
        const floor = top + (this.above + i + 1) * laneHeight - 1;
        const drawn = drawStates(look, together[look.state]!, floor, laneHeight - 4);
        if (drawn) group.append(drawn);
      }
      return together;
    });
    this.mark = s("g", { "data-screen-only": "" });
    svg.append(
      s(
        "defs",
        null,
        s("clipPath", { id: clip }, s("rect", { x: left, y: top, width: this.box.right - left, height: bottom - top })),
      ),
      legend,
      body,
      axes,
      this.mark,
    );
    this.frame.show(svg);
    this.frame.figure.dataset.drawn = "true";
    if (this.cursor !== null && document.activeElement === this.frame.plot) this.showPoint(this.cursor, false);
  }

  private momentLane(x: Scale, y: number): SVGGElement {
    const { view, moments } = this.spec;
    const group = s("g", { "data-lane": "events" });
    for (const one of moments) {
      if (one.at < view.from || one.at > view.to) continue;
      group.append(this.momentMark(one, x(one.at), y, one.at));
    }
    return group;
  }

  private momentMark(one: Moment, x: number, y: number, at?: number): SVGElement {
    const look = this.spec.momentLooks[one.kind];
    return s("path", {
      class: "mark",
      d: symbol(SHAPES[look?.shape ?? "circle"], 80)() ?? "",
      transform: `translate(${x.toFixed(1)} ${y})`,
      fill: look?.colour ?? "var(--c-grey)",
      "data-event": at === undefined ? null : one.kind,
      "data-at": at,
    });
  }

  private point(event: PointerEvent): void {
    if (!this.x) return;
    const bounds = this.frame.plot.getBoundingClientRect();
    const px = event.clientX - bounds.left;
    const py = event.clientY - bounds.top;
    if (px < this.box.left || px > this.box.right || py < this.box.top || py > this.box.bottom) return this.clear();
    this.lane = Math.min(this.rows - 1, Math.floor((py - this.box.top) / this.laneHeight));
    this.showPoint(this.x.invert(px), false);
  }

  /** Times at which something begins in the chosen lane, ascending. */
  private stops(): number[] {
    const { from, to } = this.spec.view;
    const drawn = this.drawn[this.lane - this.above];
    const all = drawn
      ? Object.values(drawn).flatMap((marks) => marks.map((one) => Math.max(from, one.from)))
      : this.spec.moments.map((one) => one.at);
    return [...new Set(all.filter((at) => at >= from && at <= to))].sort((a, b) => a - b);
  }

  private key(event: KeyboardEvent): void {
    const { view } = this.spec;
    if (zoomKey(event, view, this.cursor ?? undefined)) return event.preventDefault();
    if (event.key === "Escape") return this.clear();
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      this.lane = Math.max(0, Math.min(this.rows - 1, this.lane + (event.key === "ArrowUp" ? -1 : 1)));
      return this.showPoint(this.cursor ?? view.from, true);
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || event.shiftKey) return;
    event.preventDefault();
    const stops = this.stops();
    if (stops.length === 0) return this.showPoint(this.cursor ?? view.from, true);
    let next = 0;
    if (this.cursor !== null) {
      next = lowerBound(stops, this.cursor);
      if (step < 0) next -= 1;
      else if (stops[next] === this.cursor) next += 1;
    } else if (step < 0) next = stops.length - 1;
    this.showPoint(stops[Math.max(0, Math.min(stops.length - 1, next))]!, true);
  }

  private showPoint(at: number, speak: boolean): void {
    const { spec, x, mark } = this;
    if (!x || !mark) return;
    this.cursor = at;
    const px = x(at);
    const top = this.box.top + this.lane * this.laneHeight;
    mark.replaceChildren(
      s("line", { class: "cursor", x1: px, x2: px, y1: this.box.top, y2: this.box.bottom }),
      s("rect", {
        class: "lane-chosen",
        x: this.box.left,
        y: top,
        width: this.box.right - this.box.left,
        height: this.laneHeight,
      }),
    );
    const lines: TipLine[] = [];
    const lane = spec.lanes[this.lane - this.above];
    const drawn = this.drawn[this.lane - this.above];
    if (lane && drawn) {
      lines.push({ name: lane.name, text: lane.summary });
      for (const look of spec.looks) {
        const near = drawn[look.state]?.find(
          (one) => px >= one.left - 1 && px <= Math.max(one.right, one.left + LEAST),
        );
        if (near) lines.push({ name: look.name, text: told(near), colour: look.colour });
      }
    } else {
      const near = spec.moments.filter((one) => Math.abs(x(one.at) - px) <= 6);
      for (const one of near.slice(0, 6))
        lines.push({ name: one.name, text: one.text, colour: spec.momentLooks[one.kind]?.colour });
      if (near.length > 6) lines.push({ name: "more", text: count(near.length - 6) });
      if (near.length === 0) lines.push({ name: "events", text: "none" });
    }
    this.frame.showTip(
      px,
      top + this.laneHeight,
      both(toDate(spec.startedUnixNs, at), spec.view.span < 600e9 ? 3 : 0),
      lines,
      speak,
    );
  }

  private clear(): void {
    this.mark?.replaceChildren();
    this.frame.hideTip();
  }
}

function told(one: Together): string {
  return one.marks === 1 ? nanoseconds(one.most) : `${count(one.marks)} times, ${nanoseconds(one.sum)} in all`;
}

/** All times of a state in a lane; each is an element with its time and length. */
function drawStates(look: StateLook, all: Together[], floor: number, height: number): SVGElement | null {
  if (all.length === 0) return null;
  const tall = Math.round(height * look.height);
  const group = s("g", { class: "state", fill: look.colour, "data-state": look.state, "data-count": all.length });
  const wide = (one: Together) => Math.max(LEAST, one.right - one.left).toFixed(1);
  let single = all;
  if (all.length > SINGLE) {
    single = [...all].sort((a, b) => b.most - a.most).slice(0, LONGEST);
    const d = all.map((one) => `M${one.left.toFixed(1)} ${floor - tall}h${wide(one)}v${tall}H${one.left.toFixed(1)}Z`);
    group.append(s("path", { class: "dense", d: d.join("") }));
  }
  for (const one of single)
    group.append(
      s("rect", {
        x: one.left.toFixed(1),
        width: wide(one),
        y: floor - tall,
        height: tall,
        "data-at": one.from,
        "data-end": one.to,
        "data-value": one.sum,
        "data-marks": one.marks,
      }),
    );
  return group;
}

function stateKey(look: StateLook, x: number, y: number): SVGElement {
  const tall = Math.max(3, Math.round(13 * look.height));
  return s("rect", { x, y: y + 6 - tall, width: 18, height: tall, fill: look.colour });
}
