// A watched path over time: quantiles and loss with the changes that were found, what was dark or unreachable, the distribution,
// the hours of the day, and the matrix of paths. It knows no page.
import { classesOf } from "../charts/classes";
import type { ChartSpec, Marks, MatrixSpec, Moment, StateLane, StateLook, StatesSpec, XYSpec } from "../charts/model";
import type { Run } from "../data/document";
import { quantile } from "../data/facts";
import { Table } from "../data/table";
import {
  MATRIX_METRICS,
  type MatrixMetric,
  type PairHistory,
  pairName,
  seriesOfPair,
  type TimeOfDay,
  type WatchedPath,
} from "../data/watched";
import { h, table as tableOf } from "../dom";
import { count, digits, nanoseconds, percent, plural } from "../format";
import type { Context } from "../kinds/describe";
import { bothLines, toDate } from "../time";
import { C } from "./palette";
import { oneIn, rttLostOverTime, rttOverTime, tail, tailDomain } from "./rtt";
import { completeness, notes } from "./wording";

/** Paths of a run, in its order. */
export function pairsOf(run: Run): string[] {
  return Table.of(run, "watch_history").distinct("pair").map(String);
}

/** A path of a run that has several. */
export function contextOfPair(context: Context, pair: string): Context {
  return { ...context, run: { ...context.run, series: seriesOfPair(context.run.series, pair) } };
}

const CHANGED: Record<string, { name: string; colour: string; shape: "diamond" | "triangle" }> = {
  p50: { name: "P50 changed", colour: C.orange, shape: "diamond" },
  p90: { name: "P90 changed", colour: C.purple, shape: "triangle" },
};

/** Quantiles over time, with marks where a quantile changed. */
export function rttOfPair(context: Context): XYSpec {
  const spec = rttOverTime(context) as XYSpec;
  const changes = Table.of(context.run, "watch_changes");
  for (const [metric, look] of Object.entries(CHANGED)) {
    const own = changes.where("metric", metric);
    if (own.length === 0) continue;
    spec.layers.push({
      kind: "points",
      name: look.name,
      colour: look.colour,
      shape: look.shape,
      x: own.numbers("at_ns").map((at) => at ?? 0),
      y: own.numbers("after"),
      lo: own.numbers("low"),
      hi: own.numbers("high"),
    });
  }
  const [p50, p90] = [quantile(context.run, 0.5), quantile(context.run, 0.9)];
  return {
    ...spec,
    id: "watch-rtt",
    title: p50 === null ? "RTT" : `RTT: P50 ${nanoseconds(p50)}, P90 ${nanoseconds(p90)} over the whole span`,
    note: notes(
      completeness(Table.of(context.run, "rtt_seconds")),
      "Each point has the quantiles of all its packets. Marks are changes, at the value after them with its 95 % interval.",
    ),
  };
}

/** Loss over time; null without loss. */
export function lossOfPair(context: Context): XYSpec | null {
  const spec = rttLostOverTime(context) as XYSpec | null;
  if (!spec) return null;
  const table = Table.of(context.run, "rtt_seconds");
  const sent = table.numbers("sent");
  const share = table.numbers("lost").map((lost, i) => (sent[i] ? (lost ?? 0) / sent[i]! : null));
  return {
    ...spec,
    id: "watch-loss",
    title: `${plural(table.sum("lost"), "packet")} of ${count(table.sum("sent"))} lost: ${percent(table.sum("lost") / table.sum("sent"))}`,
    y: { kind: "linear", label: "loss rate", format: (value) => percent(value) },
    layers: spec.layers.map((layer) => ({ ...layer, name: "loss rate", y: share })),
  };
}

const LOOKS: StateLook[] = [
  { state: "quiet", name: "nothing stands", colour: "var(--delivered)", height: 0.3 },
  { state: "rule", name: "alarm of a rule", colour: C.orange, height: 0.75 },
  { state: "flow_dark", name: "flow dark", colour: C.purple, height: 0.75 },
  { state: "unreachable", name: "unreachable", colour: C.red, height: 1 },
];
const MOMENTS: StatesSpec["momentLooks"] = {
  p50: { colour: C.orange, shape: "diamond" },
  p90: { colour: C.purple, shape: "triangle" },
  loss: { colour: C.red, shape: "square" },
  hops: { colour: C.blue, shape: "circle" },
  routes_forward: { colour: C.blue, shape: "triangle" },
  routes_reverse: { colour: C.blue, shape: "diamond" },
  mtu_forward: { colour: C.green, shape: "triangle" },
  mtu_reverse: { colour: C.green, shape: "diamond" },
};
const METRICS: Record<string, string> = {
  p50: "P50 changed",
  p90: "P90 changed",
  loss: "loss changed",
  hops: "hops changed",
  routes_forward: "forward routes changed",
  routes_reverse: "reverse routes changed",
  mtu_forward: "forward path MTU changed",
  mtu_reverse: "reverse path MTU changed",
};

interface Alarm {
  at: number;
  event: string;
  raised: boolean;
  subject: string;
  detail: string;
  runId: number | null;
}

function alarmsOf(run: Run): Alarm[] {
  const table = Table.of(run, "watch_alarms").sortedBy("at_ns");
  const [event, state, subject, detail] = ["event", "state", "subject", "detail"].map((name) =>
    table.values(name).map(String),
  ) as [string[], string[], string[], string[]];
  const runs = table.numbers("run_id");
  return table.numbers("at_ns").map((at, i) => ({
    at: at ?? 0,
    event: event[i]!,
    raised: state[i] === "raised",
    subject: subject[i]!,
    detail: detail[i]!,
    runId: runs[i] ?? null,
  }));
}

/** A lane for each alarm that stood: from when it was raised until it was cleared. */
export function alarmLanes(run: Run, from: number, to: number): StateLane[] {
  const lanes = new Map<string, { lane: StateLane; since: number | null; seen: number }>();
  const put = (lane: StateLane, state: string, begin: number, end: number) => {
    lane.states[state] ??= { at: [], duration: [], value: [] } satisfies Marks;
    if (end <= begin) return;
    lane.states[state].at.push(begin);
    lane.states[state].duration.push(end - begin);
    lane.states[state].value.push(end - begin);
  };
  for (const alarm of alarmsOf(run)) {
    const name = [alarm.event.replaceAll("_", " "), alarm.subject].filter(Boolean).join(": ");
    const one = lanes.get(name) ?? { lane: { name, label: name, states: {}, summary: "" }, since: null, seen: from };
    lanes.set(name, one);
    if (alarm.raised) {
      if (one.since === null) put(one.lane, "quiet", one.seen, alarm.at);
      one.since ??= alarm.at;
    } else {
      // One that is cleared stood before the span if nothing raised it.
      put(one.lane, alarm.event, one.since ?? one.seen, alarm.at);
      [one.since, one.seen] = [null, alarm.at];
    }
  }
  for (const [, one] of lanes) {
    const event = LOOKS.find((look) => one.lane.name.startsWith(look.state.replaceAll("_", " ")))?.state ?? "rule";
    if (one.since !== null) put(one.lane, event, one.since, to);
    else put(one.lane, "quiet", one.seen, to);
    const marks = one.lane.states[event];
    const stood = (marks?.value ?? []).reduce((a, b) => a + b, 0);
    one.lane.summary = `${plural(marks?.at.length ?? 0, "time")}, ${nanoseconds(stood)} in all`;
  }
  return [...lanes.values()].map((one) => one.lane);
}

function changeMoments(run: Run): Moment[] {
  const table = Table.of(run, "watch_changes").sortedBy("at_ns");
  const metric = table.values("metric").map(String);
  const sentence = table.values("sentence").map(String);
  return table.numbers("at_ns").map((at, i) => ({
    at: at ?? 0,
    kind: metric[i]!,
    name: METRICS[metric[i]!] ?? metric[i]!,
    text: sentence[i]!,
  }));
}

/** Alarms as lanes, changes above them; null where there are none. */
export function happenedOnPair(context: Context): StatesSpec | null {
  const { run, view } = context;
  const lanes = alarmLanes(run, view.start, view.end);
  const moments = changeMoments(run);
  if (lanes.length === 0 && moments.length === 0) return null;
  return {
    type: "states",
    id: "watch-happened",
    title: `${plural(moments.length, "change")} found, ${plural(lanes.length, "alarm")} raised`,
    note: "Marks are changes, with their explanation; lanes are alarms while they stood.",
    looks: LOOKS,
    lanes,
    moments,
    momentLooks: MOMENTS,
    view,
    startedUnixNs: run.started_unix_ns,
    content: () => ({
      columns: ["what", "at_ns", "raised", "detail"],
      rows: [
        ...moments.map((one) => [one.kind, one.at, null, one.text]),
        ...alarmsOf(run).map((one) => [one.event, one.at, one.raised, one.detail]),
      ],
    }),
  };
}

/** Changes and alarms with their sentences, the latest first; null where there are none. */
export function happenedList(context: Context): HTMLElement | null {
  const { run } = context;
  const all = [
    ...changeMoments(run).map((one) => ({ at: one.at, what: one.name, text: one.text, runId: null as number | null })),
    ...alarmsOf(run).map((one) => ({
      at: one.at,
      what: `${one.event.replaceAll("_", " ")} ${one.raised ? "raised" : "cleared"}`,
      text: one.detail,
      runId: one.raised && one.event === "flow_dark" ? one.runId : null,
    })),
  ].sort((a, b) => b.at - a.at);
  if (all.length === 0) return null;
  const rows = all.slice(0, 200).map((one) => {
    const [local, utc] = bothLines(toDate(run.started_unix_ns, one.at));
    return [
      h("span", null, local, utc ? h("span", { class: "detail" }, utc) : null),
      h(
        "span",
        null,
        h("b", null, one.what),
        `: ${one.text} `,
        one.runId === null ? null : h("a", { href: `#/runs/${one.runId}` }, `run ${one.runId}`),
      ),
    ];
  });
  const caption = all.length > rows.length ? `Events, the last ${rows.length} of ${count(all.length)}` : "Events";
  return h("div", { class: "panel", "data-table": "watch-events" }, tableOf(caption, ["when", "what"], rows));
}

/** All charts of a path over time. */
export function chartsOfPair(context: Context): ChartSpec[] {
  const all = [rttOfPair(context), lossOfPair(context), happenedOnPair(context)];
  return all.filter((one) => one !== null);
}

/** Shares of packets with a longer RTT, of one span or of two beside each other. */
export function distributions(spans: { name: string; run: Run }[]): XYSpec {
  const tables = spans.map(({ run }) => Table.of(run, "rtt_distribution").sortedBy("share"));
  return {
    type: "xy",
    id: "watch-distribution",
    title: spans.length > 1 ? "Distribution of the RTT in both spans" : "Distribution of the RTT",
    note: "Share of packets with a longer RTT than on the x-axis.",
    empty: tables.every((one) => one.length === 0) ? "No packets were answered." : null,
    x: { kind: "log", label: "RTT", format: (value) => nanoseconds(value) },
    y: {
      kind: "log",
      label: "share of packets with a longer RTT",
      format: oneIn,
      exact: oneIn,
      domain: tailDomain(tables),
    },
    layers: tables.map((one, i) => ({
      kind: "line",
      name: spans[i]!.name,
      colour: i === 0 ? C.blue : C.orange,
      dash: i === 0 ? undefined : "5 3",
      ...tail(one),
    })),
    height: 300,
    content: () => ({
      columns: ["span", "share", "rtt_ns"],
      rows: tables.flatMap((one, i) => {
        const ns = one.numbers("rtt_ns");
        return one.numbers("share").map((share, row) => [spans[i]!.name, share, ns[row] ?? null]);
      }),
    }),
  };
}

/** A figure by the hour of the day; null where days are too few. */
export function hoursOfDay(all: TimeOfDay[]): XYSpec | null {
  const found = all.find((one) => one.metric === "p90") ?? all[0];
  if (!found || found.hours.length === 0) return null;
  const metric = found.metric.toUpperCase();
  const hour = (value: number) => `${String(Math.round(value)).padStart(2, "0")} h`;
  const share = (value: number) => digits(value, 4);
  const x = found.hours.map((one) => one.hour);
  return {
    type: "xy",
    id: "watch-hours",
    title: found.is_pattern
      ? `${metric} is ${percent(found.swing)} higher at ${hour(found.highest)} than at ${hour(found.lowest)} (UTC)`
      : `${metric} does not vary with the time of day for certain`,
    note: `Each hour (UTC) beside the median of its day, over ${plural(found.days, "day")}: median and the middle 80 % of the days.`,
    x: { kind: "linear", label: "hour of the day (UTC)", format: hour, domain: [0, 23] },
    y: { kind: "linear", label: `${metric} over that of its day`, format: share, exact: share, zero: false },
    layers: [
      {
        kind: "area",
        name: "80 % of the days",
        colour: C.sky,
        x,
        y: [],
        lo: found.hours.map((one) => one.low),
        hi: found.hours.map((one) => one.high),
        opacity: 0.35,
      },
      { kind: "line", name: "median", colour: C.blue, x, y: found.hours.map((one) => one.median) },
    ],
    rules: [{ axis: "y", value: 1, label: "median of the day", short: "1" }],
    height: 240,
    content: () => ({
      columns: ["hour", "days", "median", "p10", "p90"],
      rows: found.hours.map((one) => [one.hour, one.days, one.median, one.low, one.high]),
    }),
  };
}

const figureOf = (pair: PairHistory, metric: MatrixMetric): number | null =>
  ({
    p50: pair.p50_ns,
    p90: pair.p90_ns,
    loss: pair.sent > 0 ? pair.lost / pair.sent : null,
  })[metric];

/** The matrix of paths at a time. */
export function watchMatrix(paths: WatchedPath[], pairs: PairHistory[], metric: MatrixMetric): MatrixSpec {
  const zones = new Map<string, string>();
  for (const path of paths) {
    zones.set(path.from, path.from_zone ?? "");
    zones.set(path.to, path.to_zone ?? "");
  }
  const hosts = [...zones.keys()].sort((a, b) => zones.get(a)!.localeCompare(zones.get(b)!) || a.localeCompare(b));
  const of = new Map(pairs.map((pair) => [pairName(pair), pair]));
  const at = (row: number, column: number) => of.get(pairName({ from: hosts[row]!, to: hosts[column]! }));
  const format = metric === "loss" ? (value: number) => percent(value) : (value: number) => nanoseconds(value);
  const values = hosts.flatMap((_, row) =>
    hosts.map((_, column) => {
      const pair = at(row, column);
      return pair ? figureOf(pair, metric) : null;
    }),
  );
  const there = values.filter((value): value is number => value !== null);
  const name = MATRIX_METRICS.find(([one]) => one === metric)?.[1] ?? metric;
  const classes = classesOf(there, format);
  if (there.includes(0)) classes.unshift({ most: 0, text: "none", colour: "var(--delivered)" });
  const silent = pairs.filter((pair) => pair.p50_ns === null).length;
  return {
    type: "matrix",
    id: `watch-matrix-${metric}`,
    title: `${name[0]!.toUpperCase()}${name.slice(1)} of ${plural(there.length, "pair")}${silent > 0 ? `; ${plural(silent, "pair")} answered nothing` : ""}`,
    empty: pairs.length === 0 ? "Nothing was measured at this time." : null,
    places: hosts.map((host) => ({ name: host, group: zones.get(host) || "no zone" })),
    labels: { row: "from", column: "to" },
    values,
    classes,
    tell: (row, column) => {
      const pair = at(row, column);
      if (!pair) return [{ name: "not measured", text: "" }];
      return [
        { name: "P50", text: nanoseconds(pair.p50_ns) },
        { name: "P90", text: nanoseconds(pair.p90_ns) },
        { name: "loss", text: percent(pair.lost / Math.max(1, pair.sent)) },
        { name: "packets", text: count(pair.sent) },
      ];
    },
    content: () => ({
      columns: ["from", "to", "sent", "lost", "p50_ns", "p90_ns", "p99_ns"],
      rows: pairs.map((pair) => [pair.from, pair.to, pair.sent, pair.lost, pair.p50_ns, pair.p90_ns, pair.p99_ns]),
    }),
  };
}

/** How a figure drifts, in words; a dash where it does not for certain. */
export function trendText(pair: PairHistory, metric: string): string {
  const trend = pair.trends.find((one) => one.metric === metric);
  if (!trend || (trend.low <= 0 && trend.high >= 0)) return "–";
  const days = (trend.until_s - trend.since_s) / 86_400;
  const share = (trend.per_day * days) / trend.level;
  return `${share > 0 ? "+" : "−"}${percent(Math.abs(share))} in ${digits(days)} d`;
}

/** Two spans of a path side by side. */
export function comparisonRows(one: PairHistory, other: PairHistory): string[][] {
  const change = (before: number | null, after: number | null) =>
    before && after !== null ? `${after >= before ? "+" : "−"}${percent(Math.abs(after / before - 1))}` : "–";
  const loss = (pair: PairHistory) => pair.lost / Math.max(1, pair.sent);
  const time = (name: string, of: (pair: PairHistory) => number | null) => [
    name,
    nanoseconds(of(other)),
    nanoseconds(of(one)),
    change(of(other), of(one)),
  ];
  return [
    time("P50", (pair) => pair.p50_ns),
    time("P90", (pair) => pair.p90_ns),
    time("P99", (pair) => pair.p99_ns),
    ["loss rate", percent(loss(other)), percent(loss(one)), change(loss(other), loss(one))],
    ["packets", count(other.sent), count(one.sent), ""],
    ["changes", count(other.changes.length), count(one.changes.length), ""],
  ];
}
