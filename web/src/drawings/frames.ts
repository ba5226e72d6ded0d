// Charts of the frames that a receiver of media output: complete frames, their delay, and their use of the latency
// budget.
import type { Layer, XYSpec } from "../charts/model";
import type { Run } from "../data/document";
import { dig, num } from "../data/facts";
import { Table } from "../data/table";
import { count, nanoseconds, percent, plural } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { gapOf, median, overTime, peak, xs } from "./columns";
import { C } from "./palette";
import { each } from "./received";
import { exactNs } from "./rtt";
import { type Part, stackOf } from "./stack";
import { completeness, notes, when } from "./wording";

/** What is wrong stands on the axis, where it is seen; whole frames stand above it. */
const PARTS: Part[] = [
  { column: "lost", name: "lost: no packets", colour: C.red },
  { column: "damaged", name: "damaged: incomplete", colour: C.orange },
  { column: "dropped", name: "dropped: slow output", colour: C.purple },
  { column: "frames", name: "complete", colour: "var(--delivered)", good: true },
];

export interface Frames {
  whole: number;
  damaged: number;
  lost: number;
  dropped: number;
  all: number;
  verified: number;
  unequal: number;
}

/** What the summary says; what the seconds come to before there is one. */
export function framesOf(run: Run): Frames {
  const table = Table.of(run, "frame_seconds");
  const of = (name: string) => num(dig(run.summary, `frames_${name}`)) ?? table.sum(name);
  const whole = num(dig(run.summary, "frames")) ?? table.sum("frames");
  const [damaged, lost, dropped] = [of("damaged"), of("lost"), of("dropped")];
  const all = whole + damaged + lost + dropped;
  return { whole, damaged, lost, dropped, all, verified: of("verified"), unequal: of("unequal") };
}

/** The share of complete frames, with enough digits to differ from 100 %. */
export function wholeShare({ whole, all }: Frames): string {
  const bad = all > 0 ? (all - whole) / all : 0;
  return percent(1 - bad, bad > 0 ? Math.max(4, Math.ceil(-Math.log10(bad)) + 2) : 3);
}

/** Counts of frames, as a sentence without a full stop. */
export function framesSentence(frames: Frames): string {
  if (frames.all === 0) return "No frames were output";
  const wrong = [
    [frames.damaged, "damaged"],
    [frames.lost, "lost"],
    [frames.dropped, "dropped for a slow output"],
  ] as const;
  const told = wrong.filter(([n]) => n > 0).map(([n, what]) => `${count(n)} ${what}`);
  const hashes =
    frames.unequal > 0
      ? `; ${count(frames.unequal)} differ from the sender's hash`
      : frames.verified > 0
        ? `; ${frames.verified >= frames.whole ? "all" : count(frames.verified)} match the sender's hashes`
        : "";
  if (told.length === 0) return `All ${plural(frames.all, "frame")} were complete${hashes}`;
  return `${count(frames.whole)} of ${plural(frames.all, "frame")} were complete (${wholeShare(frames)}): ${told.join(", ")}${hashes}`;
}

export const framesOverTime: Drawing = (context): XYSpec | null => {
  const table = Table.of(context.run, "frame_seconds").sortedBy("at_ns");
  if (table.length === 0) return null;
  const frames = framesOf(context.run);
  return {
    ...overTime(context, table),
    id: "frames",
    title: framesSentence(frames),
    note: notes(
      frames.damaged + frames.lost > 0 && "Missing parts of damaged and lost frames are concealed.",
      completeness(table),
    ),
    empty: frames.all === 0 ? "No frames were output." : null,
    y: { kind: "linear", label: `frames in ${each(table)}`, format: count },
    layers: stackOf(table, PARTS),
    height: 220,
  };
};

/** A quantile of `delay` or `used` over the whole run; before there is a summary, the median of those of the seconds. */
export function overall(run: Run, prefix: "delay" | "used", q: "p50" | "p999"): number | null {
  const said = dig(run.summary, prefix);
  if (num(dig(said, "count"))) return num(dig(said, q));
  return median(Table.of(run, "frame_seconds").numbers(`${prefix}_${q}_ns`));
}

/** Quantiles of `delay` or `used` over time, with the budget as a line to compare with. */
function quantiles(
  context: Context,
  prefix: "delay" | "used",
): { table: Table; layers: Layer[]; middle: number | null } {
  const table = Table.of(context.run, "frame_seconds").sortedBy("at_ns");
  const x = xs(table, "at_ns");
  const gap = gapOf(table);
  const line = (q: string, name: string, paint: string, dash?: string): Layer => ({
    kind: "line",
    name,
    colour: paint,
    dash,
    x,
    y: table.numbers(`${prefix}_${q}_ns`),
    gap,
  });
  return {
    table,
    middle: overall(context.run, prefix, "p50"),
    layers: [
      line("p50", "P50", C.blue),
      line("p99", "P99", C.green, "8 3"),
      line("p999", "P99.9", C.orange, "5 3"),
      line("max", "largest", C.red, "1 3"),
      {
        kind: "line",
        name: "latency budget",
        colour: "var(--text)",
        dash: "12 4",
        x,
        y: table.numbers("budget_ns"),
        gap,
      },
    ],
  };
}

function chart(
  context: Context,
  prefix: "delay" | "used",
  told: { id: string; title: string; note: string; label: string; zero: boolean },
) {
  const { table, layers } = quantiles(context, prefix);
  return {
    ...overTime(context, table),
    id: told.id,
    title: told.title,
    note: notes(told.note, completeness(table)),
    y: { kind: "linear", label: told.label, format: (v) => nanoseconds(v), exact: exactNs, zero: told.zero },
    layers,
    height: 240,
  } satisfies XYSpec;
}

export const frameDelay: Drawing = (context): XYSpec | null => {
  const { table, middle } = quantiles(context, "delay");
  if (middle === null) return null;
  const high = overall(context.run, "delay", "p999");
  const budget = median(table.numbers("budget_ns"));
  return chart(context, "delay", {
    id: "frame-delay",
    title: `Capture-to-output delay of frames: ${nanoseconds(middle)} (P50), ${nanoseconds(high)} (P99.9), latency budget ${nanoseconds(budget)}`,
    note: "Measured from the time at which the sender sent the first packet of a frame.",
    label: "capture to output",
    // It is the budget and little more: from 0 on, all lines would be one.
    zero: false,
  });
};

export const budgetUse: Drawing = (context): XYSpec | null => {
  const { table, middle } = quantiles(context, "used");
  if (middle === null) return null;
  const top = peak(table.numbers("used_max_ns"));
  const budget = top ? (table.numbers("budget_ns")[top.index] ?? null) : null;
  const most =
    top && budget
      ? `, at most ${nanoseconds(top.value)} (${percent(top.value / budget)} of it) at ${when(context, xs(table, "at_ns")[top.index]!)}`
      : "";
  return chart(context, "used", {
    id: "budget-use",
    title: `Frames were complete after ${nanoseconds(middle)} of the latency budget (P50)${most}`,
    note: "Share of the budget that had passed when a frame was complete: its last packet had arrived or was repaired.",
    label: "budget used",
    zero: true,
  });
};
