// One lane per flow over time: packets received, and a mark with its own shape and colour for each kind of impairment.
import { s } from "../dom";
import { count, nanoseconds, plural } from "../format";
import { both, toDate } from "../time";
import { type Box, drawAxes, type Scale, textWidth, time, timeLabel } from "./axes";
import { lowerBound, visible } from "./decimate";
import { drawLegend } from "./draw";
import { Frame, type TipLine } from "./frame";
import { gather, type Together } from "./gather";
import type { Lane, LanesSpec, MarkKind } from "./model";
import { type Drawable, invalidate, manage } from "./schedule";
import { attachZoom, ZOOM_HINT, zoomKey } from "./zoom";

export const MARK_NAMES: Record<MarkKind, string> = {
  silence: "silent: no packets",
  loss: "packets lost",
  burst: "loss burst",
  drop: "dropped at the socket",
  reversal: "reversals",
};
const KINDS = Object.keys(MARK_NAMES) as MarkKind[];
/** What matters most is drawn last, over the rest. */
const DRAWN: MarkKind[] = ["loss", "reversal", "drop", "burst", "silence"];

export class LanesChart implements Drawable {
  readonly element: HTMLElement;
  private readonly frame: Frame;
  private box: Box = { left: 0, right: 0, top: 0, bottom: 0 };
  private readonly laneHeight: number;
  private lane = 0;
  private cursor: number | null = null;
  private mark: SVGGElement | null = null;
  private x: Scale | null = null;
  private gathered: Record<MarkKind, Together[]>[] = [];

  constructor(private readonly spec: LanesSpec) {
    this.frame = new Frame(spec, `Up and down choose a flow. Left and right move from event to event. ${ZOOM_HINT}`);
    this.element = this.frame.figure;
    this.laneHeight = spec.lanes.length > 24 ? 18 : 26;
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

  draw(): void {
    const { spec, laneHeight } = this;
    const { view, lanes } = spec;
    const width = Math.max(240, this.frame.plot.clientWidth);
    const legend = s("g");
    const used = KINDS.filter((kind) => lanes.some((lane) => lane.marks[kind].at.length > 0));
    const top =
      drawLegend(
        legend,
        [
          {
            name: "packets received",
            draw: (x, y) => s("rect", { class: "delivered", x, y: y - 6, width: 18, height: 12 }),
          },
          ...used.map((kind) => ({ name: MARK_NAMES[kind], draw: (x: number, y: number) => key(kind, x, y) })),
        ],
        2,
        width,
      ) + 10;
    const bottom = top + lanes.length * laneHeight;
    const height = bottom + 44;
    const left = Math.max(56, ...lanes.map((lane) => textWidth(lane.label) + 12));
    this.box = { left, right: width - 14, top, bottom };
    const x = time([view.from, view.to], [left, this.box.right], spec.startedUnixNs);
    this.x = x;
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true", class: "chart" });
    const axes = s("g");
    drawAxes(axes, this.box, x, null, { x: timeLabel(spec.startedUnixNs), y: "" });
    const clip = `clip-${spec.id}-${Math.random().toString(36).slice(2)}`;
    const body = s("g", { "clip-path": `url(#${clip})` });
    this.gathered = [];
    lanes.forEach((lane, i) => {
      const y = top + i * laneHeight;
      const group = s("g", { "data-lane": lane.name });
      group.append(
        s("line", { class: "lane-line", x1: left, x2: this.box.right, y1: y + laneHeight - 1, y2: y + laneHeight - 1 }),
      );
      const delivered = this.delivered(lane, x, y);
      if (delivered) group.append(delivered);
      const together = {} as Record<MarkKind, Together[]>;
      for (const kind of DRAWN) {
        // Marks that are wider than a line are taken together over more pixels.
        const grain = kind === "loss" || kind === "silence" ? 1 : 7;
        together[kind] = gather(lane.marks[kind], view.from, view.to, x, grain);
        const drawn = drawMarks(kind, together[kind], y, laneHeight);
        if (drawn) group.append(drawn);
      }
      this.gathered.push(together);
      body.append(group);
      axes.append(
        s(
          "text",
          { class: "tick", x: left - 8, y: y + laneHeight / 2, dy: "0.32em", "text-anchor": "end" },
          lane.label,
        ),
      );
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

  /** Packets received, as one stepped area that falls to 0 where a flow is dark. */
  private delivered(lane: Lane, x: Scale, y: number): SVGElement | null {
    const [first, end] = visible(lane.at, x.domain[0] - lane.binNs, x.domain[1]);
    let most = 0;
    for (const value of lane.received) if (value > most) most = value;
    if (most === 0) return null;
    const floor = y + this.laneHeight - 1;
    const room = this.laneHeight - 5;
    let d = "";
    let from = 0;
    let to = Number.NaN;
    let top = 0;
    // Neighbours of the same height are one step.
    const flush = () => {
      if (!Number.isNaN(to)) d += `M${from.toFixed(1)} ${floor}V${top}H${to.toFixed(1)}V${floor}Z`;
    };
    for (let i = first; i < end; i++) {
      const left = x(lane.at[i]!);
      const high = Math.round(2 * (floor - Math.min(1, lane.received[i]! / most) * room)) / 2;
      if (!(high === top && Math.abs(left - to) < 0.5)) {
        flush();
        from = left;
        top = high;
      }
      to = x(lane.at[i]! + lane.binNs);
    }
    flush();
    return d ? s("path", { class: "delivered", d }) : null;
  }

  private point(event: PointerEvent): void {
    if (!this.x) return;
    const bounds = this.frame.plot.getBoundingClientRect();
    const px = event.clientX - bounds.left;
    const py = event.clientY - bounds.top;
    if (px < this.box.left || px > this.box.right || py < this.box.top || py > this.box.bottom) return this.clear();
    this.lane = Math.min(this.spec.lanes.length - 1, Math.floor((py - this.box.top) / this.laneHeight));
    this.showPoint(this.x.invert(px), false);
  }

  /** Times of what is marked in the chosen lane, ascending. */
  private stops(): number[] {
    const all = this.gathered[this.lane];
    if (!all) return [];
    const { from, to } = this.spec.view;
    return [...new Set(KINDS.flatMap((kind) => all[kind].map((one) => Math.max(from, Math.min(to, one.from)))))].sort(
      (a, b) => a - b,
    );
  }

  private key(event: KeyboardEvent): void {
    const { view, lanes } = this.spec;
    if (zoomKey(event, view, this.cursor ?? undefined)) return event.preventDefault();
    if (event.key === "Escape") return this.clear();
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      this.lane = Math.max(0, Math.min(lanes.length - 1, this.lane + (event.key === "ArrowUp" ? -1 : 1)));
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
    const lane = spec.lanes[this.lane];
    const together = this.gathered[this.lane];
    if (!x || !mark || !lane || !together) return;
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
    const lines: TipLine[] = [{ name: lane.name, text: lane.summary }];
    for (const kind of KINDS) {
      const near = together[kind].find((one) => px >= one.left - 4 && px <= one.right + 5);
      if (near) lines.push({ name: MARK_NAMES[kind], text: tell(kind, near), colour: `var(--mark-${kind})` });
    }
    const bin = lowerBound(lane.at, at + 1) - 1;
    const came = bin >= 0 && at < lane.at[bin]! + lane.binNs ? lane.received[bin]! : 0;
    lines.push({
      name: `came in ${nanoseconds(lane.binNs)}`,
      text: plural(came, "packet"),
      colour: "var(--delivered)",
    });
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

function tell(kind: MarkKind, one: Together): string {
  if (kind === "silence")
    return one.marks === 1 ? nanoseconds(one.most) : `${count(one.marks)} times, ${nanoseconds(one.sum)} in all`;
  if (kind === "burst")
    return one.marks === 1 ? plural(one.sum, "packet") : `${plural(one.marks, "burst")}, longest ${count(one.most)}`;
  return count(one.sum);
}

/** Above this many, marks of a lane are one path, and only the largest are elements of their own. */
const SINGLE = 80;
const LARGEST = 12;

/** All marks of a kind in a lane; each is an element with its time and value. */
function drawMarks(kind: MarkKind, all: Together[], y: number, height: number): SVGElement | null {
  if (all.length === 0) return null;
  const group = s("g", { class: `mark-${kind}`, "data-mark": kind, "data-count": all.length });
  let single = all;
  if (all.length > SINGLE && kind !== "silence") {
    const weight = (one: Together) => (kind === "burst" ? one.most : one.sum);
    single = [...all].sort((a, b) => weight(b) - weight(a)).slice(0, LARGEST);
    const d = all.map((one) => {
      if (kind !== "loss") return shape(kind, one.peak, kind === "burst" ? y + 1 : y + height - 7, one.most);
      const tall = lossHeight(one.sum, height);
      return `M${one.left.toFixed(1)} ${(y + height - 2 - tall).toFixed(1)}h${Math.max(2, one.right - one.left).toFixed(1)}v${tall.toFixed(1)}H${one.left.toFixed(1)}Z`;
    });
    group.append(s("path", { class: "dense", d: d.join("") }));
  }
  for (const one of single) {
    const values = {
      "data-at": one.from,
      "data-end": one.to,
      "data-value": kind === "silence" || kind === "burst" ? one.most : one.sum,
      "data-marks": one.marks,
    };
    if (kind === "silence") {
      group.append(
        s("rect", {
          ...values,
          x: one.left.toFixed(1),
          width: Math.max(5, one.right - one.left).toFixed(1),
          y: y + 0.5,
          height: height - 2,
        }),
      );
    } else if (kind === "loss") {
      const tall = lossHeight(one.sum, height);
      const wide = Math.max(2, one.right - one.left);
      group.append(
        s("rect", {
          ...values,
          x: one.left.toFixed(1),
          width: wide.toFixed(1),
          y: (y + height - 2 - tall).toFixed(1),
          height: tall.toFixed(1),
        }),
      );
    } else {
      group.append(
        s("path", { ...values, d: shape(kind, one.peak, kind === "burst" ? y + 1 : y + height - 7, one.most) }),
      );
    }
  }
  return group;
}

/** By the logarithm: one lost packet is still seen, a thousand do not hide it. */
function lossHeight(lost: number, height: number): number {
  return Math.min(height - 4, 5 + Math.log10(Math.max(1, lost)) * 5);
}

/** Marks grow with the logarithm of what they stand for, so that a long burst stands out among many short ones. */
function shape(kind: MarkKind, x: number, y: number, value = 10): string {
  const at = x.toFixed(1);
  if (kind === "burst") {
    const half = Math.min(8, 2 + 1.7 * Math.log10(Math.max(1, value)));
    return `M${at} ${(y + 1.7 * half).toFixed(1)}l${(-half).toFixed(1)} ${(-1.7 * half).toFixed(1)}h${(2 * half).toFixed(1)}Z`;
  }
  if (kind === "drop") return `M${at} ${y - 5}l5 5l-5 5l-5 -5Z`;
  const radius = Math.min(4, 1.6 + 0.9 * Math.log10(Math.max(1, value)));
  const r = radius.toFixed(1);
  return `M${(x - radius).toFixed(1)} ${y}a${r} ${r} 0 1 0 ${(2 * radius).toFixed(1)} 0a${r} ${r} 0 1 0 ${(-2 * radius).toFixed(1)} 0Z`;
}

function key(kind: MarkKind, x: number, y: number): SVGElement {
  const group = s("g", { class: `mark-${kind}` });
  if (kind === "silence") group.append(s("rect", { x, y: y - 6, width: 18, height: 12 }));
  else if (kind === "loss") group.append(s("rect", { x: x + 8, y: y - 7, width: 3, height: 14 }));
  else group.append(s("path", { d: shape(kind, x + 9, kind === "burst" ? y - 4 : y, 30) }));
  return group;
}
