// One lane for each thing that has a state over time, and one for what happened: states differ in colour and in height.
import { symbol } from "d3-shape";
import { s } from "../dom";
import { count, nanoseconds } from "../format";
import type { Scale } from "./axes";
import { SHAPES } from "./draw";
import type { TipLine } from "./frame";
import { gather, type Together } from "./gather";
import { LanedChart } from "./laned";
import type { Moment, StateLook, StatesSpec } from "./model";

/** Above this many, the states of a lane are one path, and only the longest are elements of their own. */
const SINGLE = 80;
const LONGEST = 12;
/** What is shorter than this on the screen is drawn this wide, so that a second of a day is seen. */
const LEAST = 3;

type Drawn = Record<string, Together[]>;

export class StatesChart extends LanedChart<StatesSpec> {
  private drawn: Drawn[] = [];

  constructor(spec: StatesSpec) {
    super(spec, "lane", spec.lanes.length > 24 ? 16 : 24);
  }

  /** The lane of what happened is the first, where there is one. */
  private get above(): number {
    return this.spec.moments.length > 0 ? 1 : 0;
  }

  protected labels(): string[] {
    return [...(this.above ? ["events"] : []), ...this.spec.lanes.map((lane) => lane.label)];
  }

  draw(): void {
    const { laneHeight } = this;
    const { view, lanes, looks, moments } = this.spec;
    const used = looks.filter((look) => lanes.some((lane) => (lane.states[look.state]?.at.length ?? 0) > 0));
    const kinds = [...new Map(moments.map((one) => [one.kind, one])).values()];
    const items = [
      ...used.map((look) => ({ name: look.name, draw: (x: number, y: number) => stateKey(look, x, y) })),
      ...kinds.map((one) => ({ name: one.name, draw: (x: number, y: number) => this.momentMark(one, x + 9, y) })),
    ];
    this.drawLanes(items, (body, x, top) => {
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
    });
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

  protected events(): number[] {
    const { from, to } = this.spec.view;
    const drawn = this.drawn[this.lane - this.above];
    const all = drawn
      ? Object.values(drawn).flatMap((marks) => marks.map((one) => Math.max(from, one.from)))
      : this.spec.moments.map((one) => one.at);
    return all.filter((at) => at >= from && at <= to);
  }

  protected tell(_at: number, px: number): TipLine[] | null {
    const { spec, x } = this;
    if (!x) return null;
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
      return lines;
    }
    const near = spec.moments.filter((one) => Math.abs(x(one.at) - px) <= 6);
    for (const one of near.slice(0, 6))
      lines.push({ name: one.name, text: one.text, colour: spec.momentLooks[one.kind]?.colour });
    if (near.length > 6) lines.push({ name: "more", text: count(near.length - 6) });
    if (near.length === 0) lines.push({ name: "events", text: "none" });
    return lines;
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
