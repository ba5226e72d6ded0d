// One lane per flow over time: packets received, and a mark with its own shape and colour for each kind of impairment.
import { s } from "../dom";
import { count, nanoseconds, plural } from "../format";
import type { Scale } from "./axes";
import { lowerBound, visible } from "./decimate";
import type { TipLine } from "./frame";
import { gather, type Together } from "./gather";
import { LanedChart } from "./laned";
import type { Lane, LanesSpec, MarkKind } from "./model";

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

export class LanesChart extends LanedChart<LanesSpec> {
  private gathered: Record<MarkKind, Together[]>[] = [];

  constructor(spec: LanesSpec) {
    super(spec, "flow", spec.lanes.length > 24 ? 18 : 26);
  }

  protected labels(): string[] {
    return this.spec.lanes.map((lane) => lane.label);
  }

  draw(): void {
    const { laneHeight } = this;
    const { view, lanes } = this.spec;
    const used = KINDS.filter((kind) => lanes.some((lane) => lane.marks[kind].at.length > 0));
    const received = {
      name: "packets received",
      draw: (x: number, y: number) => s("rect", { class: "delivered", x, y: y - 6, width: 18, height: 12 }),
    };
    const marks = used.map((kind) => ({ name: MARK_NAMES[kind], draw: (x: number, y: number) => key(kind, x, y) }));
    this.drawLanes([received, ...marks], (body, x, top) => {
      this.gathered = lanes.map((lane, i) => {
        const y = top + i * laneHeight;
        const group = s("g", { "data-lane": lane.name });
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
        body.append(group);
        return together;
      });
    });
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

  protected events(): number[] {
    const all = this.gathered[this.lane];
    if (!all) return [];
    const { from, to } = this.spec.view;
    return KINDS.flatMap((kind) => all[kind].map((one) => Math.max(from, Math.min(to, one.from))));
  }

  protected tell(at: number, px: number): TipLine[] | null {
    const lane = this.spec.lanes[this.lane];
    const together = this.gathered[this.lane];
    if (!lane || !together) return null;
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
    return lines;
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
