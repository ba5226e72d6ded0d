// The result of a run of `weir lab pacing` from its summary: the comparison of variants, and every trial. It knows no
// chart.
import type { Json, Run } from "./document";
import { dig, num, objects } from "./facts";

export interface Change {
  variant: string;
  difference: number;
  relative: number | null;
  /** 95 % bootstrap interval of the difference. */
  interval: [number, number] | null;
  asExpected: boolean | null;
}

export interface FigureRow {
  case: string;
  congestion: string;
  /** `voip.owd.p95`: of whom, and what. */
  figure: string;
  /** Median with the neighbours alone on the line. */
  alone: number | null;
  variants: { name: string; median: number }[];
  changes: Change[];
  expected: string | null;
  paperPercent: number | null;
}

export interface Distribution {
  neighbour: string;
  of: string;
  p50: number | null;
  p95: number | null;
  edges: number[];
  counts: number[];
  below: number;
  above: number;
}

export interface Reading {
  unixNs: number;
  remotePort: number;
  rttNs: number | null;
  ackedBytes: number;
}

export interface Trial {
  case: string;
  congestion: string;
  /** Null: the neighbours alone. */
  variant: string | null;
  repeat: number;
  startedUnixNs: number;
  durationNs: number;
  connection: Reading[];
  queue: { unixNs: number; meanBytes: number }[];
  distributions: Distribution[];
}

const text = (value: unknown) => (typeof value === "string" ? value : "");
const numbers = (value: unknown): number[] => (Array.isArray(value) ? value.map((one) => num(one) ?? 0) : []);

function change(value: Json): Change {
  const [low = null, high = null] = Array.isArray(value.interval) ? value.interval.map(num) : [];
  return {
    variant: text(value.variant),
    difference: num(value.difference) ?? 0,
    relative: num(value.relative),
    interval: low === null || high === null ? null : [low, high],
    asExpected: typeof value.as_expected === "boolean" ? value.as_expected : null,
  };
}

/** Every figure of every case and congestion control, in the order of the scenario. */
export function figureRows(run: Run): FigureRow[] {
  return objects(run.summary, "comparisons").flatMap((comparison) =>
    objects(comparison, "figures").map((row) => ({
      case: text(comparison.case),
      congestion: text(comparison.congestion),
      figure: text(row.figure),
      alone: num(dig(row.alone, "median")),
      variants: objects(row, "variants").flatMap((one) => {
        const median = num(one.median);
        return median === null ? [] : [{ name: text(one.variant), median }];
      }),
      changes: objects(row, "changes").map(change),
      expected: text(row.expected) || null,
      paperPercent: num(row.paper_percent),
    })),
  );
}

function distributions(value: unknown): Distribution[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([neighbour, one]) => {
    const edges = numbers(dig(one, "bins", "edges_ns"));
    const counts = numbers(dig(one, "bins", "counts"));
    if (edges.length < 2 || counts.length !== edges.length - 1) return [];
    return [
      {
        neighbour,
        of: text(dig(one, "of")),
        p50: num(dig(one, "quantiles", "p50")),
        p95: num(dig(one, "quantiles", "p95")),
        edges,
        counts,
        below: num(dig(one, "bins", "below")) ?? 0,
        above: num(dig(one, "bins", "above")) ?? 0,
      },
    ];
  });
}

export function trials(run: Run): Trial[] {
  return objects(run.summary, "trials").map((one) => ({
    case: text(one.case),
    congestion: text(one.congestion),
    variant: typeof one.variant === "string" ? one.variant : null,
    repeat: num(one.repeat) ?? 0,
    startedUnixNs: num(one.started_unix_ns) ?? 0,
    durationNs: num(one.duration_ns) ?? 0,
    connection: objects(one, "connection").map((reading) => ({
      unixNs: num(reading.unix_ns) ?? 0,
      remotePort: num(reading.remote_port) ?? 0,
      rttNs: num(reading.rtt_ns),
      ackedBytes: num(reading.acked_bytes) ?? 0,
    })),
    queue: objects(one, "queue").map((second) => ({
      unixNs: num(second.unix_ns) ?? 0,
      meanBytes: num(second.mean_bytes) ?? 0,
    })),
    distributions: distributions(one.distributions),
  }));
}

/** Trials of one case with one congestion control. */
export interface Group {
  case: string;
  congestion: string;
  /** In the order of the scenario. */
  variants: string[];
  trials: Trial[];
}

/** Trials by case and congestion control, in the order in which they were first made. */
export function groups(run: Run): Group[] {
  const named = objects(run.parameters, "variants").map((one) => text(one.name));
  const found = new Map<string, Group>();
  for (const trial of trials(run)) {
    const key = JSON.stringify([trial.case, trial.congestion]);
    const group = found.get(key) ?? { case: trial.case, congestion: trial.congestion, variants: [], trials: [] };
    found.set(key, group);
    group.trials.push(trial);
    if (trial.variant !== null && !group.variants.includes(trial.variant)) group.variants.push(trial.variant);
  }
  const place = (name: string) => (named.includes(name) ? named.indexOf(name) : named.length);
  for (const group of found.values()) group.variants.sort((a, b) => place(a) - place(b));
  return [...found.values()];
}

export interface Point {
  /** Since what counts began, nanoseconds. */
  at: number;
  value: number | null;
}

const inside = (trial: Trial, unixNs: number) =>
  unixNs >= trial.startedUnixNs && unixNs <= trial.startedUnixNs + trial.durationNs;

interface Sampled {
  at: number;
  /** Confirmed since the reading before, over all connections of the stream, and in what time. */
  bytes: number;
  tookNs: number;
  /** Of the connection that confirmed the most. */
  rttNs: number | null;
}

/** What the kernel told at each time that counts, of all connections together: a player may have had to make a new one. */
function samples(trial: Trial): Sampled[] {
  const before = new Map<number, Reading>();
  const found = new Map<number, Sampled & { best: number }>();
  for (const reading of trial.connection) {
    const last = before.get(reading.remotePort);
    before.set(reading.remotePort, reading);
    if (!inside(trial, reading.unixNs)) continue;
    const bytes = last ? Math.max(0, reading.ackedBytes - last.ackedBytes) : 0;
    const at = reading.unixNs - trial.startedUnixNs;
    const one = found.get(reading.unixNs) ?? { at, bytes: 0, tookNs: 0, rttNs: null, best: -1 };
    found.set(reading.unixNs, one);
    one.bytes += bytes;
    if (last) one.tookNs = Math.max(one.tookNs, reading.unixNs - last.unixNs);
    if (bytes > one.best) {
      one.best = bytes;
      one.rttNs = reading.rttNs;
    }
  }
  return [...found.values()];
}

/** Payload confirmed between readings, bits per second; at the later of the two. */
export function throughputOf(trial: Trial): Point[] {
  return samples(trial).map((one) => ({ at: one.at, value: one.tookNs > 0 ? (one.bytes * 8e9) / one.tookNs : null }));
}

/** Smoothed RTT, nanoseconds. */
export function rttOf(trial: Trial): Point[] {
  return samples(trial).map((one) => ({ at: one.at, value: one.rttNs }));
}

/** Mean number of bytes that waited in each second, at its end. */
export function queueOf(trial: Trial): Point[] {
  return trial.queue
    .filter((second) => inside(trial, second.unixNs))
    .map((second) => ({ at: second.unixNs - trial.startedUnixNs, value: second.meanBytes }));
}

/** Share of times at or above each edge, from the last edge that all reach to the first that none does. */
export function tailOf(distribution: Distribution): { x: number[]; y: number[] } {
  const { edges, counts, below, above } = distribution;
  const total = below + above + counts.reduce((sum, one) => sum + one, 0);
  const x: number[] = [];
  const y: number[] = [];
  let left = total - below;
  for (let i = 0; i < edges.length && left > 0; i++) {
    x.push(edges[i]!);
    y.push(left / total);
    left -= counts[i] ?? 0;
  }
  const from = y.findIndex((share) => share < 1);
  const first = from < 0 ? y.length - 1 : Math.max(0, from - 1);
  return { x: x.slice(first), y: y.slice(first) };
}
