// The lanes of a flow test: every flow over time, from its bins, events, bursts and silences.
import type { Content, Lane, LanesSpec, MarkKind, Marks } from "../charts/model";
import { direction as account, dig, num } from "../data/facts";
import { directions, Table } from "../data/table";
import { count, nanoseconds, plural } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { completeness, notes, when } from "./wording";

const none = (): Marks => ({ at: [], duration: [], value: [] });

function put(marks: Marks | undefined, at: number | null, duration: number, value: number | null): void {
  if (!marks || at === null || value === null || value <= 0) return;
  marks.at.push(at);
  marks.duration.push(duration);
  marks.value.push(value);
}

function sort(marks: Marks): Marks {
  const order = marks.at.map((_, i) => i).sort((a, b) => marks.at[a]! - marks.at[b]!);
  if (order.every((index, i) => index === i)) return marks;
  return {
    at: order.map((i) => marks.at[i]!),
    duration: order.map((i) => marks.duration[i]!),
    value: order.map((i) => marks.value[i]!),
  };
}

export interface Lanes {
  lanes: Lane[];
  title: string;
}

/** The lanes of a direction, and what they show in a sentence. */
export function lanesOf(context: Context, name: string): Lanes {
  const { run } = context;
  const pick = (series: string) => Table.of(run, series).where("direction", name);
  const totals = pick("flow_totals").sortedBy("flow");
  const bins = pick("flow_bins").sortedBy("at_ns");
  const events = pick("flow_events").sortedBy("at_ns");
  const bursts = pick("flow_bursts").sortedBy("at_ns");
  const silences = pick("silences").sortedBy("at_ns");
  const flows = [
    ...new Set([totals, bins, events, bursts, silences].flatMap((table) => table.distinct("flow") as number[])),
  ].sort((a, b) => a - b);

  const marks = new Map<number, Record<MarkKind, Marks>>();
  const received = new Map<number, { at: number[]; received: number[] }>();
  for (const flow of flows) {
    marks.set(flow, { silence: none(), loss: none(), burst: none(), drop: none(), reversal: none() });
    received.set(flow, { at: [], received: [] });
  }
  let last = -Infinity;
  {
    const [flow, at, lost, reversals, drops] = ["flow", "at_ns", "lost", "reversals", "socket_drops"].map((column) =>
      events.numbers(column),
    ) as Numbers5;
    for (let i = 0; i < events.length; i++) {
      const of = marks.get(flow[i]!);
      put(of?.loss, at[i]!, 1e9, lost[i]!);
      put(of?.reversal, at[i]!, 1e9, reversals[i]!);
      put(of?.drop, at[i]!, 1e9, drops[i]!);
      if (at[i]! > last) last = at[i]!;
    }
  }
  const binNs = bins.series?.bin_ns ?? 1e9;
  {
    // Beyond the events that were kept, the bins still count the loss.
    const more = (events.series?.left_out ?? 0) > 0;
    const [flow, at, came, lost, reversals] = ["flow", "at_ns", "received", "lost", "reversals"].map((column) =>
      bins.numbers(column),
    ) as Numbers5;
    for (let i = 0; i < bins.length; i++) {
      const of = received.get(flow[i]!);
      of?.at.push(at[i]!);
      of?.received.push(came[i] ?? 0);
      if (more && at[i]! > last) {
        put(marks.get(flow[i]!)?.loss, at[i]!, binNs, lost[i]!);
        put(marks.get(flow[i]!)?.reversal, at[i]!, binNs, reversals[i]!);
      }
    }
  }
  {
    const [flow, at, length] = ["flow", "at_ns", "length_packets"].map((column) => bursts.numbers(column)) as Numbers5;
    // One packet alone is no burst to mark: it is in the loss.
    for (let i = 0; i < bursts.length; i++) if (length[i]! > 1) put(marks.get(flow[i]!)?.burst, at[i]!, 0, length[i]!);
  }
  {
    const [flow, at, length] = ["flow", "at_ns", "duration_ns"].map((column) => silences.numbers(column)) as Numbers5;
    for (let i = 0; i < silences.length; i++) put(marks.get(flow[i]!)?.silence, at[i]!, length[i] ?? 0, length[i]!);
  }
  for (const of of marks.values()) for (const kind of Object.keys(of) as MarkKind[]) of[kind] = sort(of[kind]);

  const rowOf = new Map(totals.numbers("flow").map((flow, i) => [flow, i]));
  const total = (flow: number, column: string) => totals.numbers(column)[rowOf.get(flow) ?? -1] ?? null;
  const lanes = flows.map((flow): Lane => {
    const of = marks.get(flow)!;
    const lost = total(flow, "lost");
    const parts = [`port ${total(flow, "port") ?? "?"}`, lost === null ? null : `${count(lost)} lost in all`];
    if (of.silence.at.length > 0) parts.push(plural(of.silence.at.length, "silence"));
    return {
      name: `flow ${flow}`,
      label: `flow ${flow}`,
      ...received.get(flow)!,
      binNs,
      marks: of,
      summary: parts.filter(Boolean).join(", "),
    };
  });
  return { lanes, title: told(context, name, lanes, totals) };
}

type Numbers5 = [(number | null)[], (number | null)[], (number | null)[], (number | null)[], (number | null)[]];

/** What is seen: the longest darkness first, then loss, then reversals. */
function told(context: Context, name: string, lanes: Lane[], totals: Table): string {
  let longest: { lane: Lane; at: number; length: number } | null = null;
  for (const lane of lanes) {
    const { at, value } = lane.marks.silence;
    for (let i = 0; i < at.length; i++)
      if (!longest || value[i]! > longest.length) longest = { lane, at: at[i]!, length: value[i]! };
  }
  const way = name === "reverse" ? " in the reverse direction" : "";
  if (longest) {
    const { at, length } = longest;
    // Silent together: the same time within a tenth of the silence.
    const dark = lanes.filter((lane) =>
      lane.marks.silence.at.some(
        (start, i) => Math.abs(start - at) < length / 10 + 1e6 && lane.marks.silence.value[i]! > length / 2,
      ),
    );
    const who =
      dark.length === 1
        ? longest.lane.name
        : dark.length === lanes.length
          ? `all ${lanes.length} flows`
          : `${dark.length} of ${lanes.length} flows`;
    const text = `${who} ${dark.length === 1 ? "was" : "were"} dark${way} for ${nanoseconds(length)} at ${when(context, at)}`;
    return text[0]!.toUpperCase() + text.slice(1);
  }
  const lost = totals.sum("lost");
  if (lost > 0) {
    const column = totals.numbers("lost");
    const losing = column.filter((value) => (value ?? 0) > 0).length;
    const most = column.indexOf(totals.max("lost"));
    const which =
      losing === 1
        ? `, all on flow ${totals.numbers("flow")[most]}`
        : `, the most on flow ${totals.numbers("flow")[most]}`;
    return `${plural(lost, "packet")} lost${way} on ${losing} of ${lanes.length} flows${which}`;
  }
  const reversals = totals.sum("reversals");
  if (reversals > 0) return `No loss${way}, but ${plural(reversals, "packet")} arrived out of order within a flow`;
  return `${lanes.length === 1 ? "The flow" : `All ${lanes.length} flows`}${way}: no loss, no silence`;
}

function content(lanes: Lane[]): () => Content {
  return () => ({
    columns: ["flow", "what", "at_ns", "duration_ns", "value"],
    rows: lanes.flatMap((lane) =>
      (Object.keys(lane.marks) as MarkKind[]).flatMap((kind) => {
        const { at, duration, value } = lane.marks[kind];
        return at.map((start, i) => [lane.name, kind, start, duration[i]!, value[i]!]);
      }),
    ),
  });
}

/** Directions of a flow test that the run has anything about. */
export function flowDirections(context: Context): string[] {
  const { run } = context;
  const found = new Set<string>();
  for (const series of ["stream_seconds", "flow_totals", "sender_seconds"])
    for (const one of directions(Table.of(run, series))) found.add(one);
  for (const one of ["forward", "reverse"]) if (account(run, one)) found.add(one);
  return [...found].sort();
}

export function flowLanes(name: string): Drawing {
  return (context): LanesSpec | null => {
    const has = flowDirections(context);
    if (!has.includes(name) && !(has.length === 0 && name === "forward")) return null;
    const { lanes, title } = lanesOf(context, name);
    const any = lanes.some(
      (lane) =>
        lane.received.some((value) => value > 0) || Object.values(lane.marks).some((marks) => marks.at.length > 0),
    );
    const sent = num(dig(context.run.summary, name, "sent"));
    const events = Table.of(context.run, "flow_events");
    return {
      type: "lanes",
      id: name === "forward" ? "flow-lanes" : `flow-lanes-${name}`,
      title: any ? title : `Flows over time${name === "reverse" ? ", reverse direction" : ""}`,
      note: notes(
        completeness(events),
        "Grey: packets received. Drag over a part to zoom in, or click and use the wheel; double-click shows the whole run.",
      ),
      empty: any ? null : `No packets were received${sent ? ` of ${count(sent)} sent` : ""}; nothing to draw.`,
      lanes,
      view: context.view,
      startedUnixNs: context.run.started_unix_ns,
      content: content(lanes),
    };
  };
}
