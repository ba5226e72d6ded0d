// What charts of lanes over time have alike: the lanes with their names, and how a pointer and keys move over them.
import { s } from "../dom";
import { both, toDate } from "../time";
import { drawAxes, type Scale, textWidth, time, timeLabel } from "./axes";
import { lowerBound } from "./decimate";
import { drawLegend } from "./draw";
import type { TipLine } from "./frame";
import type { Common } from "./model";
import { PlottedChart } from "./plotted";
import type { TimeView } from "./view";
import { ZOOM_HINT, zoomKey } from "./zoom";

interface Laned extends Common {
  view: TimeView;
  startedUnixNs: number;
}

type LegendItem = Parameters<typeof drawLegend>[1][number];

export abstract class LanedChart<Spec extends Laned> extends PlottedChart<Spec> {
  protected lane = 0;
  private cursor: number | null = null;
  protected x: Scale | null = null;

  constructor(
    spec: Spec,
    things: string,
    protected readonly laneHeight: number,
  ) {
    super(spec, `Up and down choose a ${things}. Left and right move from event to event. ${ZOOM_HINT}`, spec.view);
  }

  /** Names of the lanes, from the top. */
  protected abstract labels(): string[];
  /** Times of what begins in the chosen lane within the view. */
  protected abstract events(): number[];
  /** What is at this time in the chosen lane; nothing before the first drawing. */
  protected abstract tell(at: number, px: number): TipLine[] | null;

  /** Draws axes and lanes; `fill` draws into them, from the top of the first lane. */
  protected drawLanes(items: LegendItem[], fill: (body: SVGGElement, x: Scale, top: number) => void): void {
    const { spec, laneHeight, width } = this;
    const labels = this.labels();
    const legend = s("g");
    const top = drawLegend(legend, items, 2, width) + 10;
    const bottom = top + labels.length * laneHeight;
    const left = Math.max(56, ...labels.map((label) => textWidth(label) + 12));
    this.box = { left, right: width - 14, top, bottom };
    const x = time([spec.view.from, spec.view.to], [left, this.box.right], spec.startedUnixNs);
    this.x = x;
    const axes = s("g");
    drawAxes(axes, this.box, x, null, { x: timeLabel(spec.startedUnixNs), y: "" });
    const clip = this.newClip();
    const body = s("g", { "clip-path": `url(#${clip})` });
    labels.forEach((label, row) => {
      const y = top + row * laneHeight;
      const floor = y + laneHeight - 1;
      body.append(s("line", { class: "lane-line", x1: left, x2: this.box.right, y1: floor, y2: floor }));
      axes.append(
        s("text", { class: "tick", x: left - 8, y: y + laneHeight / 2, dy: "0.32em", "text-anchor": "end" }, label),
      );
    });
    fill(body, x, top);
    const room = { x: left, y: top, width: this.box.right - left, height: bottom - top };
    this.put(width, bottom + 44, this.clipPath(clip, room), legend, body, axes);
  }

  protected again(): void {
    if (this.cursor !== null) this.showPoint(this.cursor, false);
  }

  protected point(px: number, py: number): void {
    if (!this.x) return;
    if (px < this.box.left || px > this.box.right || py < this.box.top || py > this.box.bottom) return this.clear();
    this.lane = Math.min(this.labels().length - 1, Math.floor((py - this.box.top) / this.laneHeight));
    this.showPoint(this.x.invert(px), false);
  }

  protected key(event: KeyboardEvent): void {
    const { view } = this.spec;
    if (zoomKey(event, view, this.cursor ?? undefined)) return event.preventDefault();
    if (event.key === "Escape") return this.clear();
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      const last = this.labels().length - 1;
      this.lane = Math.max(0, Math.min(last, this.lane + (event.key === "ArrowUp" ? -1 : 1)));
      return this.showPoint(this.cursor ?? view.from, true);
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || event.shiftKey) return;
    event.preventDefault();
    const stops = [...new Set(this.events())].sort((a, b) => a - b);
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
    const { spec, box, laneHeight } = this;
    const px = this.x?.(at);
    const lines = px === undefined ? null : this.tell(at, px);
    if (px === undefined || !lines) return;
    this.cursor = at;
    const y = box.top + this.lane * laneHeight;
    this.mark.replaceChildren(
      s("line", { class: "cursor", x1: px, x2: px, y1: box.top, y2: box.bottom }),
      s("rect", { class: "lane-chosen", x: box.left, y, width: box.right - box.left, height: laneHeight }),
    );
    const head = both(toDate(spec.startedUnixNs, at), spec.view.span < 600e9 ? 3 : 0);
    this.frame.showTip(px, y + laneHeight, head, lines, speak);
  }
}
