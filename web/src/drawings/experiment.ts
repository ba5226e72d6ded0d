// Charts and tables of an experiment: configurations over the ramp, results of each, and the throughput model.
import type { Layer, XYSpec } from "../charts/model";
import type { Json, Run } from "../data/document";
import { dig, num, objects } from "../data/facts";
import { Table } from "../data/table";
import { h, table as tableOf } from "../dom";
import { count, digits, nanoseconds, percent, plural, rate } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { kinds, perSecond } from "./load";
import { colour } from "./palette";

const DASHES = [undefined, "5 3", "1 3", "8 3 2 3"];

export const groups = (run: Run): Json[] => objects(run.summary, "groups");

/** The parts of an experiment, in the order of its file. */
export function partNames(run: Run): string[] {
  return [...new Set(groups(run).map((group) => String(group.part)))];
}

const word = (value: unknown) => String(value ?? "");
const seconds = (ns: unknown) => nanoseconds(num(ns));
const mean = (group: Json, name: string) => num(dig(group, name, "mean"));

/** Runs of a group: those of its repeats that are in the document. */
function runsOf(parts: Run[], group: Json): Run[] {
  return parts.filter((part) => word(dig(part.parameters, "cell", "key")).replace(/#\d+$/, "") === group.key);
}

/** What tells a group from the others of its part. */
export function label(group: Json, among: Json[]): string {
  const differs = (name: string) => new Set(among.map((one) => one[name])).size > 1;
  const names: [string, (one: Json) => string][] = [
    ["configuration", (one) => word(one.configuration)],
    ["segment_ns", (one) => `${seconds(one.segment_ns)} segments`],
    ["video_bps", (one) => rate(num(one.video_bps))],
    ["viewers", (one) => `${word(one.viewers)} viewers`],
    ["cache", (one) => word(one.cache)],
  ];
  const said = names.filter(([name]) => differs(name)).map(([, say]) => say(group));
  return said.join(", ") || word(group.configuration);
}

/** Means of values by the number of viewers there were, over all seconds of all repeats. */
export function byViewers(runs: Run[], values: (run: Run) => Map<number, number>): { x: number[]; y: number[] } {
  const sums = new Map<number, { sum: number; n: number }>();
  for (const run of runs) {
    const of = values(run);
    const viewers = Table.of(run, "viewer_seconds").sortedBy("at_ns");
    const at = viewers.numbers("at_ns");
    const there = viewers.numbers("viewers");
    for (let i = 0; i < at.length; i++) {
      const value = of.get(Math.round((at[i] ?? 0) / 1e9));
      const x = there[i];
      if (value === undefined || x === null || x === undefined || x === 0) continue;
      const before = sums.get(x) ?? { sum: 0, n: 0 };
      sums.set(x, { sum: before.sum + value, n: before.n + 1 });
    }
  }
  const x = [...sums.keys()].sort((a, b) => a - b);
  return { x, y: x.map((one) => sums.get(one)!.sum / sums.get(one)!.n) };
}

/** A column of one kind of request, or the sum over all kinds, by the second. */
function bySecond(run: Run, column: string, kind: string | null): Map<number, number> {
  const found = new Map<number, number>();
  for (const one of kinds(run)) {
    if (kind !== null && one.name !== kind) continue;
    const at = one.table.numbers("at_ns");
    const values = kind === null ? perSecond(one.table, column) : one.table.numbers(column);
    for (let i = 0; i < at.length; i++) {
      const value = values[i];
      if (value === null || value === undefined) continue;
      const second = Math.round((at[i] ?? 0) / 1e9);
      found.set(second, (found.get(second) ?? 0) + value);
    }
  }
  return found;
}

/** Parts whose number of viewers changes while a run goes on. */
function ramps(run: Run): string[] {
  return partNames(run).filter((name) =>
    groups(run).some((one) => one.part === name && /\.\.|,/.test(word(one.viewers))),
  );
}

function overRamp(
  { run, parts }: Context,
  name: string,
  what: { id: string; title: string; note: string; y: XYSpec["y"] },
  values: (run: Run) => Map<number, number>,
): XYSpec | null {
  const all = groups(run).filter((one) => one.part === name);
  const layers: Layer[] = [];
  for (const [i, group] of all.entries()) {
    const { x, y } = byViewers(runsOf(parts, group), values);
    if (x.length > 0)
      layers.push({
        kind: "line",
        name: label(group, all),
        colour: colour(i),
        dash: DASHES[Math.floor(i / 7) % DASHES.length],
        x,
        y,
      });
  }
  if (layers.length === 0) return null;
  return {
    type: "xy",
    id: `${what.id}-${name}`,
    title: what.title,
    note: what.note,
    x: { kind: "linear", label: "viewers", format: count },
    y: what.y,
    layers,
    height: 300,
    content: () => ({
      columns: ["run", "viewers", what.y.label],
      rows: layers.flatMap((layer) => layer.x.map((x, i) => [layer.name, x, layer.y[i] ?? null])),
    }),
  };
}

/** The group of a part with the most, or least, of something. */
function best(run: Run, part: string, name: string, least: boolean): Json | null {
  const all = groups(run).filter((one) => one.part === part && mean(one, name) !== null);
  all.sort((a, b) => (mean(a, name)! - mean(b, name)!) * (least ? 1 : -1));
  return all[0] ?? null;
}

/** Figure 1 of the background: response times over the ramp. */
export const rampTimes: Drawing = (context) =>
  ramps(context.run)
    .map((name) => {
      const all = groups(context.run).filter((one) => one.part === name);
      const medians = (run: Run) => bySecond(run, "last_byte_p50_ns", "video");
      // Of what is drawn, so that the title says what the lines show: the mean of a line over its numbers of viewers.
      const [first] = all
        .map((group) => ({ group, y: byViewers(runsOf(context.parts, group), medians).y }))
        .filter(({ y }) => y.length > 0)
        .map(({ group, y }) => ({ group, height: y.reduce((sum, one) => sum + one, 0) / y.length }))
        .sort((a, b) => a.height - b.height);
      return overRamp(
        context,
        name,
        {
          id: "experiment-times",
          title: first
            ? `${label(first.group, all)} responds fastest: median time of video segments ${nanoseconds(first.height)}, mean over the ramp`
            : name,
          note: "Median time to last byte of video segments, mean over all seconds with this number of viewers and over all repeats.",
          y: {
            kind: "linear",
            label: "time to last byte",
            format: (v) => nanoseconds(v),
            exact: (v) => nanoseconds(v, 4),
          },
        },
        medians,
      );
    })
    .filter((one) => one !== null);

/** Figure 2 of the background: requests per second over the ramp. */
export const rampRequests: Drawing = (context) =>
  ramps(context.run)
    .map((name) => {
      const all = groups(context.run).filter((one) => one.part === name);
      const first = best(context.run, name, "requests_per_second", false);
      return overRamp(
        context,
        name,
        {
          id: "experiment-requests",
          title: first
            ? `${label(first, all)} serves the most requests: ${digits(mean(first, "requests_per_second") ?? 0)} per second on average`
            : name,
          note: "Requests per second, mean over all seconds with this number of viewers and over all repeats.",
          y: { kind: "linear", label: "requests per second", format: (v) => digits(v), exact: (v) => digits(v, 5) },
        },
        (run) => bySecond(run, "requests", null),
      );
    })
    .filter((one) => one !== null);

function shown(group: Json, name: string, format: (value: number) => string): string {
  const middle = mean(group, name);
  if (middle === null) return "–";
  const [low, high] = [num(dig(group, name, "low")), num(dig(group, name, "high"))];
  const spread = low !== null && high !== null && low !== high ? ` (${format(low)} to ${format(high)})` : "";
  return `${format(middle)}${spread}`;
}

/** Table 1 of the background, for each part. */
export const resultTables: Drawing = ({ run }) =>
  partNames(run).map((name) => {
    const all = groups(run).filter((one) => one.part === name);
    const head = [
      "",
      "IN",
      "OUT",
      "OUT/IN",
      "requests/s",
      "mean time",
      "P99",
      "CPU per request",
      "cores used by the origin",
      "failed",
    ];
    const rows = all.map((group) => [
      label(group, all),
      shown(group, "in_bps", rate),
      shown(group, "out_bps", rate),
      shown(group, "efficiency", (v) => digits(v)),
      shown(group, "requests_per_second", (v) => digits(v)),
      shown(group, "mean_ns", (v) => nanoseconds(v)),
      shown(group, "p99_ns", (v) => nanoseconds(v)),
      shown(group, "origin_cpu_each_ns", (v) => nanoseconds(v)),
      shown(group, "origin_cores", (v) => digits(v)),
      count(num(group.failed)),
    ]);
    const caption = `Part ${name}: mean of the repeats, minimum and maximum in parentheses`;
    return h(
      "div",
      { class: "panel", "data-table": `experiment-${name}` },
      tableOf(caption, head, rows, { numeric: [1, 2, 3, 4, 5, 6, 7, 8, 9] }),
    );
  });

export const publishedTable: Drawing = ({ run }) => {
  const rows = objects(run.summary, "published", "rows");
  if (rows.length === 0) return null;
  const head = [
    "",
    "IN there",
    "IN here",
    "OUT there",
    "OUT here",
    "OUT/IN there",
    "OUT/IN here",
    "relative published",
    "relative measured",
  ];
  const known = (value: unknown, format: (value: number) => string) => {
    const found = num(value);
    return found === null ? "–" : format(found);
  };
  const caption = `Compared with ${word(dig(run.summary, "published", "source"))}; relative to the first configuration`;
  return h(
    "div",
    { class: "panel", "data-table": "experiment-published" },
    tableOf(
      caption,
      head,
      rows.map((row) => [
        word(row.configuration),
        known(row.published_in_bps, rate),
        known(row.in_bps, rate),
        known(row.published_out_bps, rate),
        known(row.out_bps, rate),
        known(row.published_efficiency, (v) => digits(v)),
        known(row.efficiency, (v) => digits(v)),
        known(row.published_relative, (v) => digits(v)),
        known(row.relative, (v) => digits(v)),
      ]),
      { numeric: [1, 2, 3, 4, 5, 6, 7, 8] },
    ),
  );
};

/** Figure 4 of the background: OUT by bit rate, one line per segment duration. */
export const throughput: Drawing = ({ run }) =>
  partNames(run)
    .map((name): XYSpec | null => {
      const all = groups(run).filter((one) => one.part === name && mean(one, "out_bps") !== null);
      const durations = [...new Set(all.map((one) => num(one.segment_ns) ?? 0))].sort((a, b) => a - b);
      if (durations.length < 2 || new Set(all.map((one) => one.configuration)).size > 1) return null;
      const top = best(run, name, "out_bps", false)!;
      const of = (duration: number) =>
        all
          .filter((one) => one.segment_ns === duration)
          .sort((a, b) => (num(a.video_bps) ?? 0) - (num(b.video_bps) ?? 0));
      return {
        type: "xy",
        id: `experiment-throughput-${name}`,
        title: `Throughput is highest with ${seconds(top.segment_ns)} segments of ${rate(num(top.video_bps))}: ${rate(mean(top, "out_bps"))}`,
        note: "With minimum and maximum of the repeats.",
        x: { kind: "linear", label: "video bit rate", format: rate },
        y: { kind: "linear", label: "sent to viewers (OUT)", format: rate, exact: (v) => rate(Math.round(v)) },
        layers: durations.flatMap((duration, i): Layer[] => {
          const there = of(duration);
          const line = {
            name: `${nanoseconds(duration)} segments`,
            colour: colour(i),
            x: there.map((one) => num(one.video_bps) ?? 0),
            y: there.map((one) => mean(one, "out_bps")),
          };
          return [
            { ...line, kind: "line", silent: true },
            {
              ...line,
              kind: "points",
              shape: (["circle", "square", "diamond", "triangle"] as const)[i % 4],
              lo: there.map((one) => num(dig(one, "out_bps", "low"))),
              hi: there.map((one) => num(dig(one, "out_bps", "high"))),
            },
          ];
        }),
        height: 300,
        content: () => ({
          columns: ["segment_ns", "video_bps", "out_bps", "out_low_bps", "out_high_bps"],
          rows: all.map((one) => [
            num(one.segment_ns),
            num(one.video_bps),
            mean(one, "out_bps"),
            num(dig(one, "out_bps", "low")),
            num(dig(one, "out_bps", "high")),
          ]),
        }),
      };
    })
    .filter((one) => one !== null);

/** The model's line through the runs that it was fitted to. */
export const model: Drawing = ({ run }): XYSpec | null => {
  const points = objects(run.summary, "model", "points");
  const factor = num(dig(run.summary, "model", "factor"));
  if (points.length === 0 || factor === null) return null;
  const number = (point: Json, name: string) => num(point[name]) ?? 0;
  const most = Math.max(...points.map((point) => number(point, "product_bps")));
  const durations = [...new Set(points.map((point) => number(point, "segment_s")))].sort((a, b) => a - b);
  const bounds = [num(dig(run.summary, "model", "factor_low")), num(dig(run.summary, "model", "factor_high"))];
  return {
    type: "xy",
    id: "experiment-model",
    title: `OUT is ${digits(factor, 4)} × R × S × B, which explains ${percent(num(dig(run.summary, "model", "r_squared")), 5)} of its variation`,
    note: `R: requests for segments a second, S: duration of a segment, B: mean bit rate of the media. 95 %: ${digits(bounds[0] ?? 0, 4)} to ${digits(bounds[1] ?? 0, 4)}; the largest residual is ${percent(num(dig(run.summary, "model", "largest_residual")))} of what was sent, over ${plural(points.length, "run")}.`,
    x: { kind: "linear", label: "R × S × B", format: rate, domain: [0, most * 1.05] },
    y: { kind: "linear", label: "sent to viewers (OUT)", format: rate, exact: (v) => rate(Math.round(v)) },
    layers: [
      {
        kind: "line",
        name: "the model",
        colour: colour(6),
        dash: "5 3",
        x: [0, most * 1.05],
        y: [0, factor * most * 1.05],
      },
      ...durations.map((duration, i): Layer => {
        const there = points
          .filter((point) => number(point, "segment_s") === duration)
          .sort((a, b) => number(a, "product_bps") - number(b, "product_bps"));
        return {
          kind: "points",
          name: `${digits(duration)} s segments`,
          colour: colour(i),
          shape: (["circle", "square", "diamond", "triangle"] as const)[i % 4],
          x: there.map((point) => number(point, "product_bps")),
          y: there.map((point) => number(point, "out_bps")),
        };
      }),
    ],
    height: 320,
    content: () => {
      const columns = [
        "run",
        "key",
        "media_per_second",
        "segment_s",
        "media_bps",
        "product_bps",
        "out_bps",
        "residual_bps",
      ];
      return {
        columns,
        rows: points.map((point) => columns.map((name) => (name === "key" ? word(point.key) : num(point[name])))),
      };
    },
  };
};

/** Stalls of viewers by group, where runs play in real time. */
export const stalls: Drawing = ({ run }) => {
  const done = objects(run.summary, "done").filter((one) => num(dig(one, "outcome", "rebuffer_ratio")) !== null);
  if (done.length === 0) return null;
  const all = groups(run);
  const bars = all
    .map((group, i) => {
      const of = done.filter((one) => word(one.key).replace(/#\d+$/, "") === group.key);
      const sum = of.reduce((total, one) => total + (num(dig(one, "outcome", "rebuffer_ratio")) ?? 0), 0);
      return { group, value: of.length > 0 ? sum / of.length : null, colour: colour(i) };
    })
    .filter((one) => one.value !== null);
  const worst = Math.max(...bars.map((bar) => bar.value ?? 0));
  return {
    type: "bars",
    id: "experiment-stalls",
    title:
      worst === 0 ? "No viewer stalled in any run" : `Viewers stalled for up to ${percent(worst)} of the viewing time`,
    unit: "share of the viewing time that was stalled",
    bars: bars.map((bar) => ({
      name: label(bar.group, all),
      value: bar.value ?? 0,
      text: percent(bar.value),
      colour: bar.colour,
    })),
    content: () => ({
      columns: ["run", "rebuffer_ratio"],
      rows: bars.map((bar) => [word(bar.group.key), bar.value]),
    }),
  };
};
