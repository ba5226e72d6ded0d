// Charts of load on an origin: requests, times, throughput, failures, and viewers with their stalls.
import type { Layer, XYSpec } from "../charts/model";
import type { Run } from "../data/document";
import { dig, num } from "../data/facts";
import { Table } from "../data/table";
import { count, digits, nanoseconds, percent, plural, rate } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { gapOf, lineOf, median, overTime, peak, xs } from "./columns";
import { C, colour } from "./palette";
import { perNs } from "./received";
import { completeness, notes, when } from "./wording";

export interface Kind {
  name: string;
  table: Table;
}

/** The seconds of each kind of request, those with the most requests first. */
export function kinds(run: Run): Kind[] {
  const table = Table.of(run, "load_seconds");
  return table
    .distinct("kind")
    .map((name) => ({ name: String(name), table: table.where("kind", name).sortedBy("at_ns") }))
    .sort((a, b) => b.table.sum("requests") - a.table.sum("requests"));
}

/** Values of a column in each second, whatever the length of the bins. */
export function perSecond(table: Table, column: string): (number | null)[] {
  return perNs(table.numbers(column), table.numbers("duration_ns")).map((value) =>
    value === null ? null : value * 1e9,
  );
}

function ofKinds(context: Context, all: Kind[]) {
  return {
    ...overTime(context, ...all.map((one) => one.table)),
    note: all[0] ? completeness(all[0].table) : null,
    height: 240,
  } as const;
}

function lines(all: Kind[], values: (table: Table) => (number | null)[]): Layer[] {
  return all.map((one, i) => lineOf(one.table, one.name, values(one.table), colour(i)));
}

/** What all kinds have together in a run, from its summary, or from the seconds while there is none. */
export function total(run: Run, column: "requests" | "failed" | "body_bytes"): number {
  return num(dig(run.summary, "all", column)) ?? Table.of(run, "load_seconds").sum(column);
}

export const loadRequests: Drawing = (context): XYSpec | null => {
  const all = kinds(context.run);
  if (all.length === 0) return null;
  const each = num(dig(context.run.summary, "all", "requests_per_second"));
  return {
    ...ofKinds(context, all),
    id: "load-requests",
    title: `${plural(total(context.run, "requests"), "request")}${each === null ? "" : `, ${digits(each)} per second`}`,
    y: { kind: "linear", label: "requests per second", format: (v) => digits(v), exact: (v) => digits(v, 5) },
    layers: lines(all, (table) => perSecond(table, "requests")),
  };
};

export const loadTimes: Drawing = (context): XYSpec | null => {
  const all = kinds(context.run).filter((one) => one.table.max("last_byte_p50_ns") !== null);
  if (all.length === 0) return null;
  const most = all
    .map((one) => ({ ...one, peak: peak(one.table.numbers("last_byte_p99_ns")) }))
    .sort((a, b) => (b.peak?.value ?? 0) - (a.peak?.value ?? 0))[0];
  const at = most?.peak ? (most.table.numbers("at_ns")[most.peak.index] ?? 0) : 0;
  return {
    ...ofKinds(context, all),
    id: "load-times",
    title: `The slowest second was at ${when(context, at)}: P99 of ${most?.name} was ${nanoseconds(most?.peak?.value)}`,
    note: notes(
      "From the scheduled start of a request to its last byte: median solid, P99 dashed.",
      all[0] ? completeness(all[0].table) : null,
    ),
    y: { kind: "log", label: "time to last byte", format: (v) => nanoseconds(v), exact: (v) => nanoseconds(v, 4) },
    layers: all.flatMap((one, i): Layer[] =>
      (["p50", "p99"] as const).map((quantile) =>
        lineOf(
          one.table,
          `${one.name}, ${quantile.toUpperCase()}`,
          `last_byte_${quantile}_ns`,
          colour(i),
          quantile === "p99" ? "5 3" : undefined,
        ),
      ),
    ),
    height: 290,
  };
};

export const loadRate: Drawing = (context): XYSpec | null => {
  const all = kinds(context.run).filter((one) => one.table.sum("all_bytes") > 0);
  if (all.length === 0) return null;
  const mean = num(dig(context.run.summary, "all", "bits_per_second"));
  return {
    ...ofKinds(context, all),
    id: "load-rate",
    title: mean === null ? "Rate received by viewers" : `Viewers received ${rate(mean)} on average`,
    y: { kind: "linear", label: "responses received", format: rate, exact: (v) => rate(Math.round(v)) },
    layers: lines(all, (table) => perSecond(table, "all_bytes").map((value) => (value === null ? null : value * 8))),
  };
};

export const loadFailures: Drawing = (context): XYSpec | null => {
  const all = kinds(context.run);
  const failed = total(context.run, "failed");
  if (all.length === 0 || failed === 0) return null;
  const causes = Object.entries((dig(context.run.summary, "all", "failures") ?? {}) as Record<string, number>);
  const why = causes.map(([cause, times]) => `${count(times)} ${cause}`).join(", ");
  return {
    ...ofKinds(context, all),
    id: "load-failures",
    title: `${plural(failed, "request")} failed${why ? `: ${why}` : ""}`,
    y: { kind: "linear", label: "failures per second", format: (v) => digits(v), exact: (v) => digits(v, 5) },
    layers: lines(
      all.filter((one) => one.table.sum("failed") > 0),
      (table) => perSecond(table, "failed"),
    ),
  };
};

export const loadViewers: Drawing = (context): XYSpec | null => {
  const table = Table.of(context.run, "viewer_seconds").sortedBy("at_ns");
  if (table.length === 0) return null;
  return {
    ...ofKinds(context, [{ name: "viewers", table }]),
    id: "load-viewers",
    title: `At most ${plural(table.max("viewers") ?? 0, "viewer")} at once`,
    y: { kind: "linear", label: "viewers", format: count },
    layers: [
      {
        kind: "line",
        name: "viewers",
        colour: C.blue,
        x: xs(table, "at_ns"),
        y: table.numbers("viewers"),
        step: true,
        gap: gapOf(table),
      },
    ],
    height: 200,
  };
};

export const loadStalls: Drawing = (context): XYSpec | null => {
  const table = Table.of(context.run, "viewer_seconds").sortedBy("at_ns");
  if (table.sum("sessions") === 0 || table.sum("played_ns") === 0) return null;
  const ratio = num(dig(context.run.summary, "quality", "rebuffer_ratio"));
  const stalls = table.sum("stalls");
  return {
    ...ofKinds(context, [{ name: "viewers", table }]),
    id: "load-stalls",
    title:
      stalls === 0
        ? "No viewer stalled"
        : `Viewers stalled ${plural(stalls, "time")}${ratio === null ? "" : `, ${percent(ratio)} of the viewing time`}`,
    note: notes("Counted when a session ends.", completeness(table)),
    y: { kind: "linear", label: "stalls per second", format: (v) => digits(v), exact: (v) => digits(v, 5) },
    layers: [lineOf(table, "stalls", perSecond(table, "stalls"), C.red)],
    height: 200,
  };
};

export const loadGenerator: Drawing = (context): XYSpec | null => {
  const table = Table.of(context.run, "viewer_seconds").sortedBy("at_ns");
  if (table.length === 0) return null;
  const y = perSecond(table, "cpu_ns").map((value) => (value === null ? null : value / 1e9));
  const limited = dig(context.run.summary, "generator_limited") === true;
  return {
    ...ofKinds(context, [{ name: "generator", table }]),
    id: "load-generator",
    title: limited
      ? "The generator was the limit: times include its own delay"
      : `The generator used ${digits(median(y) ?? 0)} cores`,
    y: { kind: "linear", label: "cores used by viewers", format: (v) => digits(v), exact: (v) => digits(v, 4) },
    layers: [{ kind: "line", name: "viewers' threads", colour: C.purple, x: xs(table, "at_ns"), y, gap: gapOf(table) }],
    height: 200,
  };
};

const QUANTILES: [string, string][] = [
  ["min", "min"],
  ["p50", "P50"],
  ["p90", "P90"],
  ["p99", "P99"],
  ["p999", "P99.9"],
  ["max", "max"],
];

/** The distribution of times of each kind over the whole run, as its summary has it. */
export const loadDistribution: Drawing = ({ run }): XYSpec | null => {
  const list = dig(run.summary, "kinds");
  const all = (Array.isArray(list) ? list : []).filter((kind) => (num(dig(kind, "last_byte", "count")) ?? 0) > 0);
  if (all.length === 0) return null;
  const p99 = num(dig(run.summary, "all", "last_byte", "p99"));
  const value = (kind: unknown, key: string) => num(dig(kind, "last_byte", key));
  return {
    type: "xy",
    id: "load-distribution",
    title: `P99 of the time to last byte: ${nanoseconds(p99)}`,
    note: "Time to last byte over the whole run, by kind of request.",
    x: { kind: "band", label: "quantile", format: count, places: QUANTILES.map(([, name]) => name) },
    y: { kind: "log", label: "time to last byte", format: (v) => nanoseconds(v), exact: (v) => nanoseconds(v, 4) },
    layers: all.map((kind, i) => ({
      kind: "line",
      name: String(dig(kind, "kind")),
      colour: colour(i),
      x: QUANTILES.map((_, place) => place),
      y: QUANTILES.map(([key]) => value(kind, key)),
    })),
    height: 290,
    content: () => ({
      columns: ["kind", "count", ...QUANTILES.map(([key]) => `last_byte_${key}_ns`)],
      rows: all.map((kind) => [
        String(dig(kind, "kind")),
        value(kind, "count"),
        ...QUANTILES.map(([key]) => value(kind, key)),
      ]),
    }),
  };
};
