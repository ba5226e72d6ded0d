// Charts of the stream of a flow test: rate, delay, bursts, where packets were lost, and the sender's punctuality.
import type { BarsSpec, Layer, XYSpec } from "../charts/model";
import { askedRate, dig, direction, num } from "../data/facts";
import { Table } from "../data/table";
import { h, table as tableOf } from "../dom";
import { bytes, count, digits, nanoseconds, percent, plural, rate } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { contentOf, gapOf, lineOf, median, overTime, peak, xs } from "./columns";
import { flowDirections } from "./lanes";
import { C, colour } from "./palette";
import { exactNs } from "./rtt";
import { completeness, notes, when } from "./wording";

const NONE = "No packets were received.";
/** Nothing between whole numbers is named on an axis of counts. */
const whole = (value: number) => (Number.isInteger(value) ? count(value) : "");

/** When a test that has ended stopped sending: after it the receiver only waits for what is late. */
function sentUntil({ run }: Context, name: string): number {
  if (run.outcome === "running") return Infinity;
  const table = Table.of(run, "sender_seconds").where("direction", name);
  const durations = table.numbers("duration_ns");
  const last = peak(table.numbers("at_ns"));
  return last ? last.value + (durations[last.index] ?? 0) : Infinity;
}

export const mediaRate: Drawing = (context): XYSpec => {
  const names = flowDirections(context);
  const tables = names.map((name) =>
    Table.of(context.run, "stream_seconds").where("direction", name).sortedBy("at_ns"),
  );
  const layers: Layer[] = names.map((name, i) => {
    const table = tables[i]!;
    const durations = table.numbers("duration_ns");
    const x = xs(table, "at_ns");
    const sent = sentUntil(context, name);
    return {
      kind: "line",
      name: names.length > 1 ? name : "received",
      colour: colour(i),
      x,
      y: table
        .numbers("bytes")
        .map((value, row) =>
          value === null || !durations[row] || (value === 0 && x[row]! >= sent) ? null : (value * 8e9) / durations[row],
        ),
      gap: gapOf(table),
    };
  });
  const asked = askedRate(context.run, names[0] ?? "forward");
  const mean = median(layers[0]?.y ?? []);
  let title = "Media rate";
  if (mean !== null) {
    title = `${rate(mean)} arrived`;
    if (asked) {
      const worst = layers[0]!.y.reduce<number | null>(
        (low, value) => (value !== null && (low === null || value < low) ? value : low),
        null,
      );
      const held = mean >= 0.99 * asked;
      title = held ? `${rate(asked)} requested and received` : `${rate(asked)} requested, ${rate(mean)} received`;
      if (held && worst !== null && worst < 0.9 * asked) {
        title += `; the worst second had ${rate(worst)}, at ${when(context, layers[0]!.x[layers[0]!.y.indexOf(worst)]!)}`;
      }
    }
  }
  return {
    ...overTime(context, ...tables),
    id: "media-rate",
    title,
    note: completeness(tables[0] ?? Table.of(context.run, "stream_seconds")),
    empty: mean === null ? NONE : null,
    y: { kind: "linear", label: "UDP payload received", format: rate, exact: (v) => rate(Math.round(v)) },
    layers,
    rules: asked ? [{ axis: "y", value: asked, label: `requested ${rate(asked)}`, short: "requested" }] : [],
    height: 230,
  };
};

export const streamLoss: Drawing = (context): XYSpec | null => {
  const names = flowDirections(context);
  const tables = names.map((name) =>
    Table.of(context.run, "stream_seconds").where("direction", name).sortedBy("at_ns"),
  );
  const lost = tables.reduce((sum, table) => sum + table.sum("lost"), 0);
  if (lost === 0) return null;
  const received = tables.reduce((sum, table) => sum + table.sum("received"), 0);
  const worst = tables
    .map((table) => ({ table, top: peak(table.numbers("lost")) }))
    .sort((a, b) => (b.top?.value ?? 0) - (a.top?.value ?? 0))[0]!;
  return {
    ...overTime(context, ...tables),
    id: "stream-loss",
    title: `${plural(lost, "packet")} lost in all (${percent(lost / (lost + received))}), at most ${count(worst.top!.value)} at a time, at ${when(context, xs(worst.table, "at_ns")[worst.top!.index]!)}`,
    note: completeness(tables[0]!),
    y: { kind: "linear", label: `packets lost in ${nanoseconds(tables[0]!.series?.bin_ns ?? 1e9)}`, format: count },
    layers: names.map((name, i) => lineOf(tables[i]!, name, "lost", i === 0 ? C.red : C.orange)),
    height: 200,
  };
};

export const oneWayDelay: Drawing = (context): XYSpec | null => {
  const name = flowDirections(context)[0];
  if (!name) return null;
  const table = Table.of(context.run, "stream_seconds").where("direction", name).sortedBy("at_ns");
  const p50 = table.numbers("owd_p50_ns");
  const p99 = table.numbers("owd_p99_ns");
  const middle = median(p50);
  if (middle === null) return null;
  const x = xs(table, "at_ns");
  const top = peak(table.numbers("owd_max_ns"));
  const gap = gapOf(table);
  return {
    ...overTime(context, table),
    id: "one-way-delay",
    title: `One-way delay: P50 ${nanoseconds(middle)}${top ? `, maximum ${nanoseconds(top.value)} at ${when(context, x[top.index]!)}` : ""}`,
    note: notes("An estimate: the clocks of two hosts are compared.", completeness(table)),
    y: { kind: "linear", label: "one-way delay", format: (v) => nanoseconds(v), exact: exactNs },
    layers: [
      {
        kind: "area",
        name: "min to P99",
        colour: C.sky,
        x,
        y: [],
        lo: table.numbers("owd_min_ns"),
        hi: p99,
        gap,
        opacity: 0.3,
      },
      { kind: "line", name: "P50", colour: C.blue, x, y: p50, gap },
      { kind: "line", name: "P99", colour: C.green, x, y: p99, gap },
      { kind: "line", name: "largest", colour: C.red, x, y: table.numbers("owd_max_ns"), gap, dash: "1 3" },
    ],
    height: 240,
  };
};

export const burstLengths: Drawing = (context): XYSpec | null => {
  const names = flowDirections(context);
  const tables = names.map((name) =>
    Table.of(context.run, "stream_burst_lengths").where("direction", name).sortedBy("length_packets"),
  );
  const all = tables.reduce((sum, table) => sum + table.sum("bursts"), 0);
  const longest = Math.max(0, ...tables.map((table) => table.max("length_packets") ?? 0));
  const single = tables.reduce(
    (sum, table) => sum + (table.numbers("bursts")[table.numbers("length_packets").indexOf(1)] ?? 0),
    0,
  );
  const received = Table.of(context.run, "stream_seconds").sum("received");
  return {
    type: "xy",
    id: "burst-lengths",
    title:
      all > 0
        ? `${percent(single / all, 2)} of ${plural(all, "loss burst")} had one packet; the longest had ${count(longest)}`
        : "No loss bursts",
    note: all > 0 ? "Consecutive lost packets of the stream, behind the reorder buffer." : null,
    empty: all > 0 ? null : received > 0 ? "No packets of the stream were lost." : NONE,
    x: { kind: "log", label: "burst length (packets)", format: whole, domain: [0.8, Math.max(10, longest * 1.3)] },
    y: {
      kind: "log",
      label: "number of bursts",
      format: (v) => digits(v),
      exact: count,
      domain: [0.5, Math.max(10, ...tables.map((t) => (t.max("bursts") ?? 0) * 1.5))],
    },
    layers: names.map((name, i) => ({
      kind: "bars",
      name: name,
      colour: i === 0 ? C.red : C.orange,
      x: xs(tables[i]!, "length_packets"),
      y: tables[i]!.numbers("bursts"),
    })),
    height: 250,
    content: contentOf(...tables),
  };
};

export const attribution: Drawing = (context): BarsSpec | null => {
  const names = flowDirections(context).filter((name) => dig(context.run.summary, name, "attribution"));
  if (names.length === 0) return null;
  const bars = names.flatMap((name) => {
    const of = (key: string) => num(dig(context.run.summary, name, "attribution", key)) ?? 0;
    const all = of("socket") + of("host_receiver") + of("host_sender") + of("network");
    const bar = (text: string, value: number, paint: string) => ({
      name: text,
      value,
      text: all > 0 ? `${count(value)} (${percent(value / all, 2)})` : count(value),
      colour: paint,
      group: names.length > 1 ? name : undefined,
    });
    return [
      bar("the network", of("network"), C.blue),
      bar("receiving socket", of("socket"), C.orange),
      bar("receiving host", of("host_receiver"), C.green),
      bar("sending host", of("host_sender"), C.purple),
    ];
  });
  const all = bars.reduce((sum, bar) => sum + bar.value, 0);
  const network = bars.filter((bar) => bar.name === "the network").reduce((sum, bar) => sum + bar.value, 0);
  const estimated = names.some((name) => dig(context.run.summary, name, "attribution", "estimated") === true);
  const over = names.some((name) => dig(context.run.summary, name, "attribution", "overclaimed") === true);
  return {
    type: "bars",
    id: "loss-attribution",
    title:
      all === 0
        ? "No loss"
        : network === all
          ? "All losses are in the network: no counter of a host shows a drop"
          : `The network lost ${count(network)} of ${plural(all, "packet")}, the hosts the rest`,
    note: notes(
      "Losses that no counter of either host shows are attributed to the network.",
      estimated && "The count at the socket is an estimate, from the mean size of merged buffers.",
      over && "The counters show more drops than lost packets: they include other traffic.",
    ),
    empty:
      all === 0
        ? Table.of(context.run, "stream_seconds").sum("received") > 0
          ? "Every packet that was sent arrived, in time or late."
          : NONE
        : null,
    unit: "packets lost",
    bars,
    content: () => ({
      columns: ["direction", "where", "packets"],
      rows: names.flatMap((name, i) => bars.slice(i * 4, i * 4 + 4).map((bar) => [name, bar.name, bar.value])),
    }),
  };
};

export const scheduleError: Drawing = (context): XYSpec | null => {
  const all = Table.of(context.run, "sender_seconds");
  const names = flowDirections(context).filter(
    (name) => all.where("direction", name).max("schedule_error_p50_ns") !== null,
  );
  if (names.length === 0) return null;
  const tables = names.map((name) => all.where("direction", name).sortedBy("at_ns"));
  const p99 = median(tables[0]!.numbers("schedule_error_p99_ns"));
  const top = peak(tables[0]!.numbers("schedule_error_max_ns"));
  const layers = names.flatMap((name, i): Layer[] => {
    const table = tables[i]!;
    const x = xs(table, "at_ns");
    const gap = gapOf(table);
    const suffix = names.length > 1 ? `, ${name}` : "";
    const line = (q: string, label: string, paint: string, dash?: string): Layer => ({
      kind: "line",
      name: label + suffix,
      colour: paint,
      x,
      y: table.numbers(`schedule_error_${q}_ns`),
      gap,
      dash,
    });
    return i === 0
      ? [line("p50", "P50", C.blue), line("p99", "P99", C.green), line("max", "largest", C.red, "1 3")]
      : [line("p99", "P99", C.purple), line("max", "largest", C.orange, "1 3")];
  });
  const positive = tables.every((table) =>
    (table.numbers("schedule_error_p50_ns").filter((v) => v !== null) as number[]).every((v) => v > 0),
  );
  return {
    ...overTime(context, ...tables),
    id: "schedule-error",
    title: `The sender was ${nanoseconds(p99)} behind schedule (P99)${top ? `, maximum ${nanoseconds(top.value)} at ${when(context, xs(tables[0]!, "at_ns")[top.index]!)}` : ""}`,
    note: completeness(tables[0]!),
    y: { kind: positive ? "log" : "linear", label: "behind schedule", format: (v) => nanoseconds(v), exact: exactNs },
    layers,
    height: 230,
  };
};

/** Flow by flow in figures, for those who look for one. */
export const flowTable: Drawing = (context): HTMLElement | null => {
  const table = Table.of(context.run, "flow_totals");
  if (table.length === 0) return null;
  const number = (column: string, i: number) => table.numbers(column)[i] ?? null;
  const both = table.distinct("direction").length > 1;
  const silent = (i: number) => {
    const flows = dig(direction(context.run, String(table.values("direction")[i])), "per_flow");
    const one = Array.isArray(flows) ? flows[number("flow", i) ?? -1] : null;
    const ns = num(dig(one, "silent_ns"));
    return ns === null ? "–" : nanoseconds(ns);
  };
  const rows = Array.from({ length: table.length }, (_, i) => {
    const lost = number("lost", i) ?? 0;
    const received = number("received", i) ?? 0;
    return [
      `flow ${number("flow", i)}${both ? `, ${String(table.values("direction")[i])}` : ""}`,
      String(number("port", i) ?? "–"),
      count(received),
      bytes(number("bytes", i)),
      count(lost),
      lost + received > 0 ? percent(lost / (lost + received)) : "–",
      count(number("late", i)),
      count(number("duplicates", i)),
      count(number("reversals", i)),
      count(number("bursts", i)),
      count(number("longest_burst", i)),
      silent(i),
      count(number("socket_drops", i)),
    ];
  });
  const head = [
    "flow",
    "port",
    "received",
    "payload",
    "lost",
    "loss",
    "late",
    "dup.",
    "reversals",
    "bursts",
    "longest",
    "silent",
    "at socket",
  ];
  return h(
    "div",
    { class: "panel", "data-table": "flow-totals" },
    tableOf("Each flow over the whole run", head, rows, { numeric: head.map((_, i) => i).slice(1) }),
  );
};
