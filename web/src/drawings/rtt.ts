// Charts of a windowed RTT test.
import type { Layer, XYSpec } from "../charts/model";
import { CLOUDS_NOTE, rttRules } from "../clouds";
import { quantile } from "../data/facts";
import { Table } from "../data/table";
import { count, nanoseconds, percent, plural } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { contentOf, gapOf, median, overTime, peak, xs } from "./columns";
import { C } from "./palette";
import { completeness, notes, when } from "./wording";

export const exactNs = (value: number) => nanoseconds(value, 7);
const NONE = "No packets were answered; no RTT to draw.";

/** Within two decades a linear axis tells more, beyond them only a logarithmic one shows the bulk and the tail. */
function spread(...columns: (number | null)[][]): "linear" | "log" {
  let low = Infinity;
  let high = 0;
  for (const column of columns)
    for (const value of column) {
      if (value === null || value <= 0) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  return high / low > 20 ? "log" : "linear";
}

export const rttOverTime: Drawing = (context): XYSpec => {
  const table = Table.of(context.run, "rtt_seconds").sortedBy("at_ns");
  const x = xs(table, "at_ns");
  const [min, p50, p90, p99, max] = ["min", "p50", "p90", "p99", "max"].map((q) => table.numbers(`rtt_${q}_ns`)) as [
    (number | null)[],
    (number | null)[],
    (number | null)[],
    (number | null)[],
    (number | null)[],
  ];
  const top = peak(max);
  const middle = median(p50);
  const network = table.numbers("network_p50_ns");
  const gap = gapOf(table);
  const layers: Layer[] = [
    { kind: "area", name: "min to P99", colour: C.sky, x, y: [], lo: min, hi: p99, gap, opacity: 0.28 },
    { kind: "area", name: "P50 to P90", colour: C.blue, x, y: [], lo: p50, hi: p90, gap, opacity: 0.4 },
    { kind: "line", name: "P50", colour: C.blue, x, y: p50, gap },
    { kind: "line", name: "P90", colour: C.green, x, y: p90, gap },
    { kind: "line", name: "largest", colour: C.red, x, y: max, gap, dash: "1 3" },
  ];
  if (network.some((value) => value !== null)) {
    layers.push({ kind: "line", name: "P50 on the network", colour: C.purple, x, y: network, gap, dash: "5 3" });
  }
  return {
    ...overTime(context, table),
    id: "rtt-over-time",
    title:
      top && middle !== null
        ? `RTT: P50 ${nanoseconds(middle)}, maximum ${nanoseconds(top.value)} at ${when(context, x[top.index]!)}`
        : "RTT over time",
    note: notes(completeness(table), CLOUDS_NOTE),
    empty: top ? null : NONE,
    y: { kind: spread(min, max), label: "RTT", format: (v) => nanoseconds(v), exact: exactNs },
    layers,
    rules: rttRules("y"),
    height: 320,
  };
};

export const rttLostOverTime: Drawing = (context): XYSpec | null => {
  const table = Table.of(context.run, "rtt_seconds").sortedBy("at_ns");
  const lost = table.sum("lost");
  if (lost === 0) return null;
  const sent = table.sum("sent");
  const x = xs(table, "at_ns");
  const top = peak(table.numbers("lost"))!;
  return {
    ...overTime(context, table),
    id: "rtt-lost",
    title: `${plural(lost, "packet")} of ${count(sent)} ${lost === 1 ? "was" : "were"} not answered in time, most at ${when(context, x[top.index]!)}`,
    note: completeness(table),
    y: { kind: "linear", label: "packets lost", format: count },
    layers: [{ kind: "line", name: "lost", colour: C.red, x, y: table.numbers("lost"), gap: gapOf(table) }],
    height: 190,
  };
};

/** The distribution as 1 - share over RTT: the tail gets as much room as the bulk. The last share, 1, is not drawn. */
export function tail(table: Table): { x: number[]; y: number[] } {
  const shares = table.numbers("share");
  const values = table.numbers("rtt_ns");
  const x: number[] = [];
  const y: number[] = [];
  for (let i = 0; i < shares.length; i++) {
    const share = shares[i];
    const value = values[i];
    if (share === null || share === undefined || value === null || value === undefined || share >= 1 || value <= 0)
      continue;
    x.push(value);
    y.push(1 - share);
  }
  return { x, y };
}

/** "1 in 1,000" reads better than 0.001 where most people look. */
export function oneIn(share: number): string {
  if (share >= 0.0995) return percent(share);
  return `1 in ${count(Math.round(1 / share))}`;
}

export const rttDistribution: Drawing = ({ run }): XYSpec => {
  const table = Table.of(run, "rtt_distribution").sortedBy("share");
  const p90 = quantile(run, 0.9);
  const p99 = quantile(run, 0.99);
  return {
    type: "xy",
    id: "rtt-distribution",
    title: p90 !== null ? `RTT: P90 ${nanoseconds(p90)}, P99 ${nanoseconds(p99)}` : "RTT distribution",
    note: `Share of packets with a longer RTT than on the x-axis. ${CLOUDS_NOTE}`,
    empty: table.length === 0 ? NONE : null,
    x: { kind: "log", label: "RTT", format: (v) => nanoseconds(v) },
    y: {
      kind: "log",
      label: "share of packets with a longer RTT",
      format: oneIn,
      exact: oneIn,
      domain: tailDomain([table]),
    },
    layers: [{ kind: "line", name: "packets with a longer RTT", colour: C.blue, ...tail(table) }],
    rules: rttRules("x"),
    height: 320,
    content: contentOf(table),
  };
};

export function tailDomain(tables: Table[]): [number, number] {
  let low = 0.05;
  for (const table of tables) for (const y of tail(table).y) if (y > 1e-12 && y < low) low = y;
  return [low * 0.8, 1];
}

function byGroup(
  id: string,
  series: string,
  key: string,
  label: string,
  told: (first: number, last: number, from: number, to: number) => string,
): Drawing {
  return ({ run }: Context): XYSpec => {
    const table = Table.of(run, series).sortedBy(key);
    const x = xs(table, key);
    const p90 = table.numbers("rtt_p90_ns");
    const known = p90
      .map((value, i) => [x[i]!, value] as const)
      .filter((pair): pair is readonly [number, number] => pair[1] !== null);
    // A few at each end are surer than the first and the last alone.
    const few = Math.max(1, Math.round(known.length / 10));
    const mean = (pairs: (readonly [number, number])[]) => pairs.reduce((sum, pair) => sum + pair[1], 0) / pairs.length;
    const unit = series === "rtt_by_length" ? "B" : "";
    return {
      type: "xy",
      id,
      title:
        known.length > 0
          ? told(mean(known.slice(0, few)), mean(known.slice(-few)), known[0]![0], known[known.length - 1]![0])
          : `P90 of the RTT by ${label}`,
      empty: known.length === 0 ? NONE : null,
      x: { kind: "linear", label, format: (v) => `${count(Math.round(v * 100) / 100)}${unit ? ` ${unit}` : ""}` },
      y: {
        kind: spread(table.numbers("rtt_p50_ns"), table.numbers("rtt_p99_ns")),
        label: "RTT",
        format: (v) => nanoseconds(v),
        exact: exactNs,
      },
      layers: [
        { kind: "line", name: "P50", colour: C.blue, x, y: table.numbers("rtt_p50_ns") },
        { kind: "line", name: "P90", colour: C.green, x, y: p90 },
        { kind: "line", name: "P99", colour: C.red, x, y: table.numbers("rtt_p99_ns"), dash: "4 3" },
      ],
      rules: rttRules("y"),
      height: 290,
      content: contentOf(table),
    };
  };
}

/** How much the one is above the other, as people say it. */
function change(first: number, last: number, more: string): string {
  const ratio = last / first;
  if (ratio > 1.15) return `${more}: P90 goes from ${nanoseconds(first)} to ${nanoseconds(last)}`;
  if (ratio < 1 / 1.15) return `P90 falls from ${nanoseconds(first)} to ${nanoseconds(last)}`;
  return `P90 stays near ${nanoseconds((first + last) / 2)}`;
}

export const rttByLength = byGroup(
  "rtt-by-length",
  "rtt_by_length",
  "length",
  "UDP payload (bytes)",
  (first, last, from, to) =>
    from === to
      ? `P90 is ${nanoseconds(first)} with packets of ${count(from)} bytes`
      : `${change(first, last, "Longer packets take longer")}, over ${count(from)} to ${count(to)} bytes`,
);

export const rttByPosition = byGroup(
  "rtt-by-position",
  "rtt_by_position",
  "position",
  "position in the window (from 0)",
  (first, last, from, to) =>
    from === to
      ? `P90 is ${nanoseconds(first)}: each window has one packet`
      : `${change(first, last, "Packets late in the window wait")}, over ${plural(to - from + 1, "position")}`,
);
