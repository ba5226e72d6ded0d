// What the sender of media did with each flow over time, and what happened meanwhile, as lanes; and the same events as
// a list.
import type { Content, Marks, Moment, StateLane, StateLook, StatesSpec } from "../charts/model";
import { Table } from "../data/table";
import { h, table as tableOf } from "../dom";
import { count, nanoseconds, percent, plural } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { bothLines, toDate } from "../time";
import { C } from "./palette";
import { flowsOf, senderName, senders } from "./senders";
import { completeness, notes, when } from "./wording";

const LOOKS: StateLook[] = [
  { state: "used", name: "used", colour: "var(--delivered)", height: 1 },
  { state: "trial", name: "probed", colour: C.purple, height: 0.45 },
  { state: "losing", name: "unused: losing", colour: C.red, height: 0.75 },
  { state: "silent", name: "unused: silent", colour: "var(--mark-silence)", height: 1 },
];
const LEFT = ["silent", "losing"];
/** More flows than a sender may have: what a table says beyond them is no plan. */
const MOST_FLOWS = 1024;

type Look = { name: string; colour: string; shape: "circle" | "square" | "diamond" | "triangle" };
const EVENTS: Record<string, Look> = {
  connected: { name: "connected", colour: C.green, shape: "circle" },
  restarted: { name: "restarted", colour: C.sky, shape: "circle" },
  format: { name: "format", colour: C.blue, shape: "circle" },
  ended: { name: "ended", colour: C.grey, shape: "square" },
  switched: { name: "switched", colour: C.purple, shape: "diamond" },
  slow_reader: { name: "output was slow", colour: C.orange, shape: "diamond" },
  refused: { name: "refused", colour: C.orange, shape: "triangle" },
  disconnected: { name: "disconnected", colour: C.red, shape: "triangle" },
  stopped: { name: "stopped by the circuit breaker", colour: C.red, shape: "square" },
  key_renewed: { name: "key renewed", colour: C.grey, shape: "circle" },
};
const ALARMS: Record<string, string> = {
  residual_loss: "residual loss",
  fec_exhausted: "FEC exhausted",
  over_budget: "latency budget exceeded",
  flow_dark: "flow dark",
  rejected: "packets rejected",
  held_up: "held up by its own host",
};
for (const [event, name] of Object.entries(ALARMS)) {
  EVENTS[event] = { name, colour: event === "held_up" ? C.orange : C.red, shape: "diamond" };
  EVENTS[`${event} cleared`] = { name: `${name}, cleared`, colour: C.green, shape: "circle" };
}
const MOST_ROWS = 200;
/** Marks beyond these say no more: the list and the CSV have all. */
const MOST_MOMENTS = 1000;

/** The name of an event for people. */
export function eventName(event: string): string {
  return EVENTS[event]?.name ?? event;
}

const none = (): Marks => ({ at: [], duration: [], value: [] });

function put(lane: StateLane, state: string, from: number, to: number): void {
  lane.states[state] ??= none();
  const marks = lane.states[state];
  // A state that came and went at one time is no state.
  if (to <= from) return;
  marks.at.push(from);
  marks.duration.push(to - from);
  marks.value.push(to - from);
}

const sum = (values: number[] | undefined) => (values ?? []).reduce((a, b) => a + b, 0);

export interface FlowStates {
  lanes: StateLane[];
  /** Times that a flow was left, with the lane. */
  left: { lane: string; at: number; length: number; state: string }[];
  /** The run says how many flows there are. */
  all: boolean;
}

/** The flows of every sender: before its first change a flow is used. */
export function flowStates(context: Context): FlowStates {
  const { run, view } = context;
  const changes = Table.of(run, "flow_changes").sortedBy("at_ns");
  const [sender, flow, at] = ["sender", "flow", "at_ns"].map((name) => changes.numbers(name)) as [
    (number | null)[],
    (number | null)[],
    (number | null)[],
  ];
  const state = changes.values("state").map(String);
  const of = new Map<string, { sender: number; flow: number; rows: number[] }>();
  const known = (s: number, f: number) => {
    const key = `${s} ${f}`;
    const found = of.get(key) ?? { sender: s, flow: f, rows: [] };
    of.set(key, found);
    return found;
  };
  // Flows without a change were used all the time, where the run says how many there are.
  const named = new Set([...sender.map((one) => one ?? 0), ...senders(run).map((one) => one.index)]);
  if (named.size === 0) named.add(0);
  for (const one of named) for (let i = 0; i < Math.min(MOST_FLOWS, flowsOf(run, one) ?? 0); i++) known(one, i);
  for (let i = 0; i < changes.length; i++) known(sender[i] ?? 0, flow[i] ?? 0).rows.push(i);
  const all = [...of.values()].sort((a, b) => a.sender - b.sender || a.flow - b.flow);
  const several = new Set(all.map((one) => one.sender)).size > 1;
  const begin = view.start;
  const end = view.end;
  const left: FlowStates["left"] = [];
  const lanes = all.map((one): StateLane => {
    const flowName = `flow ${one.flow}`;
    const name = several ? `${senderName(run, one.sender)}, ${flowName}` : flowName;
    const lane: StateLane = { name, label: several ? `${one.sender}: ${flowName}` : flowName, states: {}, summary: "" };
    let from = begin;
    let now = "used";
    const close = (to: number) => {
      put(lane, now, from, to);
      if (LEFT.includes(now) && to > from) left.push({ lane: name, at: from, length: to - from, state: now });
    };
    for (const i of one.rows) {
      if (state[i] === now) continue;
      close(at[i] ?? 0);
      [from, now] = [at[i] ?? 0, state[i]!];
    }
    close(end);
    const share = sum(lane.states.used?.value) / Math.max(1, end - begin);
    const times = LEFT.reduce((n, name) => n + (lane.states[name]?.at.length ?? 0), 0);
    lane.summary =
      times > 0 ? `used ${percent(share)} of the time, dropped ${plural(times, "time")}` : "used all the time";
    return lane;
  });
  return { lanes, left, all: [...named].every((one) => flowsOf(run, one) !== null) };
}

/** What is seen: the longest absence first. */
function told(context: Context, { lanes, left, all }: FlowStates): string {
  if (lanes.length === 0) return "Events over time";
  if (left.length === 0)
    return lanes.length === 1 ? "The flow was used throughout" : `All ${lanes.length} flows were used throughout`;
  const longest = left.reduce((a, b) => (b.length > a.length ? b : a));
  const name = longest.lane.charAt(0).toUpperCase() + longest.lane.slice(1);
  const one = `${name} was unused for ${nanoseconds(longest.length)} at ${when(context, longest.at)}, because it was ${longest.state}`;
  if (left.length === 1) return one;
  const flows = new Set(left.map((each) => each.lane)).size;
  return `${all ? `${flows} of ${plural(lanes.length, "flow")}` : plural(flows, "flow")} ${flows === 1 ? "was" : "were"} dropped ${plural(left.length, "time")}; the longest: ${one.charAt(0).toLowerCase()}${one.slice(1)}`;
}

function moments(context: Context): Moment[] {
  const events = Table.of(context.run, "media_events").sortedBy("at_ns");
  const at = events.numbers("at_ns");
  const sender = events.numbers("sender");
  const state = events.values("state");
  const event = events.values("event").map((one, i) => (state[i] === "cleared" ? `${one} cleared` : String(one)));
  const detail = events.values("detail").map(String);
  const about = (index: number | null, text: string) => {
    const name = index === null ? "" : senderName(context.run, index);
    return name && !text.includes(name) ? `${name}: ${text}` : text;
  };
  return Array.from({ length: Math.min(MOST_MOMENTS, events.length) }, (_, i) => ({
    at: at[i] ?? 0,
    kind: event[i]!,
    name: eventName(event[i]!),
    text: about(sender[i] ?? null, detail[i]!),
  }));
}

function content(lanes: StateLane[], happened: Moment[]): () => Content {
  return () => ({
    columns: ["lane", "what", "at_ns", "duration_ns", "detail"],
    rows: [
      ...happened.map((one) => ["events", one.kind, one.at, null, one.text]),
      ...lanes.flatMap((lane) =>
        Object.entries(lane.states).flatMap(([state, marks]) =>
          marks.at.map((at, i) => [lane.name, state, at, marks.duration[i]!, null]),
        ),
      ),
    ],
  });
}

export const flowLanesOfSender: Drawing = (context): StatesSpec | null => {
  const changes = Table.of(context.run, "flow_changes");
  const happened = moments(context);
  const states = flowStates(context);
  if (states.lanes.length === 0 && happened.length === 0) return null;
  return {
    type: "states",
    id: "flow-states",
    title: told(context, states),
    note: notes(
      completeness(changes),
      states.lanes.length > 0 &&
        "Grey is in use. The sender drops a flow that its receiver reports as silent or losing, and probes it later.",
      states.lanes.length > 0 && !states.all && "Flows that were used throughout are not shown.",
    ),
    looks: LOOKS,
    lanes: states.lanes,
    moments: happened,
    momentLooks: EVENTS,
    view: context.view,
    startedUnixNs: context.run.started_unix_ns,
    content: content(states.lanes, happened),
  };
};

/** Every event with its sentence. */
export const eventList: Drawing = (context): HTMLElement | null => {
  const { run } = context;
  const all = moments(context);
  if (all.length === 0) return null;
  const there = Table.of(run, "media_events").series?.rows ?? all.length;
  const shown = all.slice(0, MOST_ROWS);
  const rows = shown.map((one) => {
    const [local, utc] = bothLines(toDate(run.started_unix_ns, one.at), 3);
    return [
      h("span", null, local, utc ? h("span", { class: "detail" }, utc) : null),
      h("span", null, h("b", null, one.name), one.text ? `: ${one.text}` : ""),
    ];
  });
  const caption = there > shown.length ? `Events, the first ${shown.length} of ${count(there)}` : "Events";
  return h("div", { class: "panel", "data-table": "media-events" }, tableOf(caption, ["when", "what"], rows));
};
