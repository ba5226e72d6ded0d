// Charts of TCP throughput: connections over time, and the steps of a survey side by side.
import type { XYSpec } from "../charts/model";
import { dig, num } from "../data/facts";
import { Table } from "../data/table";
import { count, nanoseconds, plural, rate } from "../format";
import type { Drawing } from "../kinds/describe";
import { overTime, xs } from "./columns";
import { C, colour } from "./palette";
import { completeness } from "./wording";

const perSecond = (table: Table) => {
  const durations = table.numbers("duration_ns");
  return table
    .numbers("bytes")
    .map((value, i) => (value === null || !durations[i] ? null : (value * 8e9) / durations[i]));
};

export const tcpOverTime: Drawing = (context): XYSpec => {
  const all = Table.of(context.run, "tcp_seconds").sortedBy("at_ns");
  const streams = (all.distinct("stream") as number[]).sort((a, b) => a - b);
  const goodput = num(dig(context.run.summary, "goodput"));
  const again = num(dig(context.run.summary, "retransmits")) ?? all.sum("retransmits");
  return {
    ...overTime(context, all),
    id: "tcp-over-time",
    title:
      all.length > 0
        ? `${plural(streams.length, "TCP connection")} carried ${goodput !== null ? rate(goodput) : "data"}, ${plural(again, "segment")} retransmitted`
        : "TCP throughput",
    note: completeness(all),
    empty: all.length === 0 ? "No TCP data arrived." : null,
    y: { kind: "linear", label: "TCP payload received", format: rate, exact: (v) => rate(Math.round(v)) },
    layers: streams.map((stream, i) => {
      const table = all.where("stream", stream);
      return {
        kind: "line",
        name: `connection ${stream}`,
        colour: colour(i),
        x: xs(table, "at_ns"),
        y: perSecond(table),
        gap: 3e9,
      };
    }),
    height: 240,
  };
};

export const tcpRtt: Drawing = (context): XYSpec | null => {
  const all = Table.of(context.run, "tcp_seconds").sortedBy("at_ns");
  if (all.max("rtt_ns") === null) return null;
  const streams = (all.distinct("stream") as number[]).sort((a, b) => a - b);
  return {
    ...overTime(context, all),
    id: "tcp-rtt",
    title: `Smoothed RTT of TCP: at most ${nanoseconds(all.max("rtt_ns"))}`,
    y: { kind: "linear", label: "smoothed RTT", format: (v) => nanoseconds(v) },
    layers: streams.map((stream, i) => {
      const table = all.where("stream", stream);
      return {
        kind: "line",
        name: `connection ${stream}`,
        colour: colour(i),
        x: xs(table, "at_ns"),
        y: table.numbers("rtt_ns"),
        gap: 3e9,
      };
    }),
    height: 210,
  };
};

interface Step {
  direction: string;
  streams: number;
  goodput: number;
  retransmits: number | null;
}

/** Of a survey: goodput by the number of connections, from its TCP parts. */
export const throughputByStreams: Drawing = ({ run, parts }): XYSpec | null => {
  const own = dig(run.summary, "tcp");
  const summaries: unknown[] =
    Array.isArray(own) && own.length > 0
      ? own
      : parts.filter((part) => part.kind === "tcp").map((part) => part.summary);
  const steps: Step[] = [];
  for (const summary of summaries) {
    const streams = num(dig(summary, "streams"));
    const goodput = num(dig(summary, "goodput"));
    if (streams !== null && goodput !== null)
      steps.push({
        direction: String(dig(summary, "direction") ?? "forward"),
        streams,
        goodput,
        retransmits: num(dig(summary, "retransmits")),
      });
  }
  if (steps.length === 0) return null;
  const places = [...new Set(steps.map((step) => step.streams))].sort((a, b) => a - b);
  const ways = [...new Set(steps.map((step) => step.direction))].sort();
  const best = steps.reduce((a, b) => (b.goodput > a.goodput ? b : a));
  const ceiling = num(dig(run.summary, "tcp_ceiling"));
  return {
    type: "xy",
    id: "throughput-by-streams",
    title: `TCP reached ${rate(best.goodput)}, with ${plural(best.streams, "connection")}, ${best.direction}`,
    note:
      ceiling !== null && best.goodput > 0.9 * ceiling
        ? `The agent's limit of ${rate(ceiling)} bounds the rate: the path may carry more.`
        : null,
    x: { kind: "band", label: "parallel TCP connections", format: count, places: places.map(String) },
    y: { kind: "linear", label: "TCP payload received", format: rate, exact: (v) => rate(Math.round(v)) },
    layers: ways.map((way, i) => {
      const of = steps.filter((step) => step.direction === way);
      return {
        kind: "points",
        name: way,
        colour: i === 0 ? C.blue : C.orange,
        shape: i === 0 ? "circle" : "square",
        x: of.map((step) => places.indexOf(step.streams)),
        y: of.map((step) => step.goodput),
      };
    }),
    rules:
      ceiling !== null && best.goodput > 0.5 * ceiling
        ? [{ axis: "y", value: ceiling, label: `agent's limit ${rate(ceiling)}`, short: "limit" }]
        : [],
    height: 260,
    content: () => ({
      columns: ["direction", "streams", "goodput_bits_per_second", "retransmits"],
      rows: steps.map((step) => [step.direction, step.streams, step.goodput, step.retransmits]),
    }),
  };
};
