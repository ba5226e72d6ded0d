// Trials of pacing laid over each other: throughput, RTT and queue from the beginning of each, and neighbours'
// distributions with the neighbours alone as the base.
import type { Layer, XYSpec } from "../charts/model";
import {
  type Distribution,
  type Group,
  groups,
  type Point,
  queueOf,
  rttOf,
  type Trial,
  tailOf,
  throughputOf,
} from "../data/pacing";
import { bytes, nanoseconds, rate } from "../format";
import type { Choice, Drawing } from "../kinds/describe";
import { median } from "./columns";
import { C, colour } from "./palette";
import { oneIn } from "./rtt";

const label = (group: Group) => `${group.case}, ${group.congestion}`;
const DASHES = [undefined, "5 3", "1 3", "8 3 2 3"];

interface Measure {
  id: string;
  points: (trial: Trial) => Point[];
  title: (told: string) => string;
  empty: string;
  label: string;
  note: string;
  column: string;
  unit: (value: number) => string;
  /** Value in the title, from all values. */
  told: (values: number[]) => number;
}

const most = (values: number[]) => values.reduce((a, b) => Math.max(a, b), 0);

const MEASURES: Measure[] = [
  {
    id: "throughput",
    points: throughputOf,
    title: (told) => `While data flowed, the stream's rate was ${told}`,
    empty: "The kernel gave no data about the media connections.",
    label: "payload confirmed",
    note: "Between kernel samples, ten per second. When a loss is repaired, much is confirmed at once.",
    column: "throughput_bits_per_second",
    unit: rate,
    told: (values) => median(values.filter((value) => value > 0)) ?? 0,
  },
  {
    id: "rtt",
    points: rttOf,
    title: (told) => `The stream's smoothed RTT was up to ${told}`,
    empty: "The kernel gave no data about the media connections.",
    label: "smoothed RTT",
    note: "It does not change while nothing is sent.",
    column: "rtt_ns",
    unit: (value) => nanoseconds(value),
    told: most,
  },
  {
    id: "queue",
    points: queueOf,
    title: (told) => `The queue held at most ${told} (mean of a second)`,
    empty: "The link gave no data about its queue.",
    label: "bytes queued",
    note: "Means over seconds, each at the second's end.",
    column: "queue_mean_bytes",
    unit: (value) => bytes(Math.round(value)),
    told: most,
  },
];

/** The first repeat of each variant. */
function shown(group: Group): Trial[] {
  return group.variants.flatMap((name) => {
    const all = group.trials.filter((trial) => trial.variant === name).sort((a, b) => a.repeat - b.repeat);
    return all.slice(0, 1);
  });
}

function overTime(group: Group, place: number, measure: Measure): XYSpec {
  const lines = shown(group).map((trial) => ({ trial, points: measure.points(trial) }));
  const told = lines.flatMap(({ trial, points }) => {
    const values = points.map((point) => point.value).filter((value) => value !== null);
    return values.length > 0 ? [`${measure.unit(measure.told(values))} ${trial.variant}`] : [];
  });
  const repeats = [...new Set(lines.map(({ trial }) => trial.repeat))];
  const which = repeats.length === 1 ? `Repeat ${repeats[0]} of each variant` : "The first repeat of each variant";
  const write = (ns: number) => nanoseconds(ns);
  return {
    type: "xy",
    id: `pacing-${measure.id}-${place}`,
    title: told.length > 0 ? measure.title(told.join(", ")) : measure.empty,
    note: `${which}, ${label(group)}. ${measure.note}`,
    empty: told.length > 0 ? null : measure.empty,
    x: {
      kind: "linear",
      label: "time since the measured interval began",
      format: write,
      domain: [0, Math.max(1e9, ...lines.map(({ trial }) => trial.durationNs))],
    },
    y: { kind: "linear", label: measure.label, format: measure.unit, exact: measure.unit },
    layers: lines.map(
      ({ trial, points }, i): Layer => ({
        kind: "line",
        name: trial.variant ?? "",
        colour: colour(i),
        dash: DASHES[i % DASHES.length],
        x: points.map((point) => point.at),
        y: points.map((point) => point.value),
        gap: measure.id === "queue" ? 2.5e9 : 1e9,
      }),
    ),
    height: 240,
    content: () => ({
      columns: ["case", "congestion", "variant", "repeat", "at_ns", measure.column],
      rows: lines.flatMap(({ trial, points }) =>
        points.map((point) => [
          trial.case,
          trial.congestion,
          trial.variant,
          trial.repeat,
          Math.round(point.at),
          point.value,
        ]),
      ),
    }),
  };
}

/** Everything of a case and congestion control over time, to be chosen among. */
export const trialsOverTime: Drawing = ({ run }): Choice | null => {
  const all = groups(run).filter((group) => group.variants.length > 0);
  if (all.length === 0) return null;
  return {
    type: "choice",
    id: "pacing-over-time",
    label: "Case and congestion control",
    options: all.map((group, place) => ({
      name: label(group),
      charts: () => MEASURES.map((measure) => overTime(group, place, measure)),
    })),
  };
};

/** Counts of the same neighbour over several trials, added up, with medians of their quantiles; null where there are none. */
export function pooled(all: Distribution[]): Distribution | null {
  const [first] = all;
  if (!first) return null;
  const same = all.filter((one) => one.edges.length === first.edges.length);
  const sum = (of: (one: Distribution) => number) => same.reduce((total, one) => total + of(one), 0);
  return {
    ...first,
    p50: median(same.map((one) => one.p50)),
    p95: median(same.map((one) => one.p95)),
    counts: first.counts.map((_, i) => sum((one) => one.counts[i] ?? 0)),
    below: sum((one) => one.below),
    above: sum((one) => one.above),
  };
}

const TIMED: Record<string, { what: string; items: string }> = {
  owd: { what: "one-way delay", items: "packets" },
  frame_completion: { what: "time until a frame is complete", items: "frames" },
  http_completion: { what: "time of a download", items: "downloads" },
};

interface Tail {
  variant: string | null;
  pooled: Distribution;
  x: number[];
  y: number[];
}

function tails(group: Group, neighbour: string): Tail[] {
  return [null, ...group.variants].flatMap((variant) => {
    const of = group.trials
      .filter((trial) => trial.variant === variant)
      .flatMap((trial) => trial.distributions.filter((one) => one.neighbour === neighbour));
    const sum = pooled(of);
    const tail = sum ? tailOf(sum) : null;
    return sum && tail && tail.x.length > 0 ? [{ variant, pooled: sum, ...tail }] : [];
  });
}

function distribution(group: Group, place: number, neighbour: string): XYSpec | null {
  const all = tails(group, neighbour);
  const [first] = all;
  if (!first) return null;
  const { what, items } = TIMED[first.pooled.of] ?? { what: "time", items: "times" };
  const told = all
    .filter((one) => one.pooled.p95 !== null)
    .map((one) => `${nanoseconds(one.pooled.p95)} ${one.variant ?? "alone"}`);
  const values = all.flatMap((one) => one.x).filter((value) => value > 0);
  const isWide = values.length > 0 && most(values) > 20 * Math.min(...values);
  const base = all.find((one) => one.variant === null)?.pooled.p50 ?? null;
  const marked = base === null ? "" : ` The upright line is its median alone, ${nanoseconds(base)}.`;
  const usable = ({ x }: Tail, i: number) => !isWide || x[i]! > 0;
  return {
    type: "xy",
    id: `pacing-distribution-${place}-${neighbour}`.replace(/[^A-Za-z0-9-]+/g, "-"),
    title: `95 of 100 ${items} of ${neighbour} within ${told.join(", ")}`,
    note: `${label(group)}, all repeats together: how many ${items} took at least the ${what} below.${marked}`,
    x: { kind: isWide ? "log" : "linear", label: what, format: (v) => nanoseconds(v) },
    y: {
      kind: "log",
      label: `share of ${items} that took at least that long`,
      format: oneIn,
      exact: oneIn,
      domain: [0.8 * Math.min(0.05, ...all.flatMap((one) => one.y)), 1],
    },
    layers: all.map((one, i): Layer => {
      const isBase = one.variant === null;
      const order = group.variants.indexOf(one.variant ?? "");
      return {
        kind: "line",
        name: isBase ? "alone (the base)" : one.variant!,
        colour: isBase ? C.grey : colour(order),
        dash: isBase ? "2 2" : DASHES[order % DASHES.length],
        x: one.x.filter((_, at) => usable(all[i]!, at)),
        y: one.y.filter((_, at) => usable(all[i]!, at)),
      };
    }),
    rules:
      base === null ? [] : [{ axis: "x", value: base, label: `alone, P50 ${nanoseconds(base)}`, short: "alone, P50" }],
    height: 300,
    content: () => ({
      columns: ["case", "congestion", "neighbour", "variant", "at_least_ns", "share"],
      rows: all.flatMap((one) =>
        one.x.map((x, at) => [group.case, group.congestion, neighbour, one.variant ?? "alone", x, one.y[at] ?? null]),
      ),
    }),
  };
}

/** The distribution of each neighbour, in each case and with each congestion control. */
export const neighbourDistributions: Drawing = ({ run }) =>
  groups(run).flatMap((group, place) => {
    const neighbours = new Set(group.trials.flatMap((trial) => trial.distributions.map((one) => one.neighbour)));
    return [...neighbours].flatMap((neighbour) => distribution(group, place, neighbour) ?? []);
  });
