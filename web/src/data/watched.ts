// What the store has of watched paths over a span: the document of /api/v1/watch, and a path of it as a run that is drawn.
import { BadDocument, type Json, type Run, type Series, VERSION } from "./document";

export interface Change {
  metric: string;
  since_unix_ns: number;
  before: number;
  after: number;
  low: number;
  high: number;
}

export interface Trend {
  metric: string;
  since_s: number;
  until_s: number;
  level: number;
  per_day: number;
  low: number;
  high: number;
}

export interface HourOfDay {
  hour: number;
  days: number;
  median: number;
  low: number;
  high: number;
}

export interface TimeOfDay {
  metric: string;
  days: number;
  hours: HourOfDay[];
  highest: number;
  lowest: number;
  swing: number;
  p_value: number;
  is_pattern: boolean;
}

export interface Placement {
  since_unix_ns: number;
  metrics: string[];
  ends: { host: string; zone: string; instance_before: string; instance_after: string }[];
  is_replaced: boolean;
}

export interface Rate {
  event: string;
  events: number;
  watched_s: number;
  per_day: number;
  low: number;
  high: number;
}

export interface PairHistory {
  from: string;
  to: string;
  measured_s: number;
  sent: number;
  lost: number;
  p50_ns: number | null;
  p90_ns: number | null;
  p99_ns: number | null;
  changes: Change[];
  placements: Placement[];
  trends: Trend[];
  time_of_day: TimeOfDay[];
  rates: Rate[];
}

export interface Fault {
  scope: string;
  name: string;
  event: string;
  events: number;
  low: number;
  high: number;
}

export interface WatchedPath {
  from: string;
  to: string;
  from_zone: string | null;
  to_zone: string | null;
}

export interface Watched {
  since_unix_ns: number;
  until_unix_ns: number;
  first_unix_ns: number | null;
  last_unix_ns: number | null;
  paths: WatchedPath[];
  history: { pairs: PairHistory[]; faults: Fault[] };
  series: Record<string, Series>;
}

/** Checks a value as such a document. */
export function checkWatched(value: unknown): Watched {
  const document = value as (Watched & { format?: unknown; version?: unknown }) | null;
  if (typeof document !== "object" || document === null || document.format !== "weir-watched") {
    throw new BadDocument("This is not what the server has of watched paths.");
  }
  if (typeof document.version !== "number" || document.version > VERSION) {
    throw new BadDocument("The server is newer than this page: load the page again.");
  }
  return document;
}

export type MatrixMetric = "p50" | "p90" | "loss";
export const MATRIX_METRICS: [MatrixMetric, string][] = [
  ["p50", "P50 of the RTT"],
  ["p90", "P90 of the RTT"],
  ["loss", "loss rate"],
];

export const pairName = (pair: { from: string; to: string }) => `${pair.from}..${pair.to}`;

/** The rows of a series that are of a path. */
function ofPair(series: Series | undefined, pair: string): Series | null {
  const names = series?.columns.pair?.values;
  if (!series || !names) return null;
  const rows: number[] = [];
  for (let i = 0; i < names.length; i++) if (names[i] === pair) rows.push(i);
  if (rows.length === 0) return null;
  const columns: Series["columns"] = {};
  for (const [name, column] of Object.entries(series.columns))
    if (name !== "pair") columns[name] = { unit: column.unit, values: rows.map((i) => column.values[i] ?? null) };
  return { ...series, rows: rows.length === names.length ? series.rows : rows.length, columns };
}

/** The names under which the drawings of an RTT test find a path's rows. */
const AS: Record<string, string> = { watch_history: "rtt_seconds", watch_distribution: "rtt_distribution" };

/** Series of one path, as if a run had measured it. */
export function seriesOfPair(series: Record<string, Series>, pair: string): Record<string, Series> {
  const found: Record<string, Series> = {};
  for (const name of ["watch_history", "watch_distribution", "watch_changes", "watch_alarms"]) {
    const own = ofPair(series[name], pair);
    if (own) found[AS[name] ?? name] = own;
  }
  return found;
}

/** The document as a run; `id` is no run's number. */
export function runOfWatched(document: Watched, target: string, id: number): Run {
  return {
    run_id: id,
    parent_run_id: null,
    kind: "watch",
    target,
    started_unix_ns: document.since_unix_ns,
    ended_unix_ns: document.until_unix_ns,
    last_unix_ns: document.until_unix_ns,
    outcome: "finished",
    reason: null,
    local_host: null,
    remote_host: null,
    parameters: {} satisfies Json,
    summary: null,
    weir_version: "",
    merged_records: 0,
    lost_records: 0,
    note: "",
    tags: [],
    diagnosis: null,
    no_diagnosis: null,
    clock_steps: [],
    series: document.series,
  };
}
