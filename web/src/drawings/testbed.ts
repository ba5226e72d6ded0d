// Tasks of a testbed: what went in and out of each, as the kernel counted, and the cores that it kept busy. It knows no
// function.
import type { BarsSpec, Layer, XYSpec } from "../charts/model";
import type { Json, Run } from "../data/document";
import { dig, num, objects } from "../data/facts";
import { h, table as tableOf } from "../dom";
import { bytes, count, digits, nanoseconds, plural, rate } from "../format";
import type { Drawing } from "../kinds/describe";
import { C, colour } from "./palette";

export const tasksOf = (run: Run): Json[] => objects(run.summary, "tasks");

export const taskName = (task: Json) => String(task.task ?? "");

function cores(task: Json): number {
  return Array.isArray(task.cores) ? task.cores.length : 0;
}

/** Tasks that used all of the CPU time that they have for themselves: cores, or a part of one. */
export const limits = (run: Run): Json[] => tasksOf(run).filter((task) => task.limit === true);

/** Cores that tasks kept busy in their busiest second. */
export const busyCores: Drawing = ({ run }): BarsSpec | null => {
  const tasks = tasksOf(run);
  if (tasks.length === 0) return null;
  const all = limits(run);
  const busy = (task: Json, name: string) => num(task[name]) ?? 0;
  return {
    type: "bars",
    id: "testbed-cores",
    title:
      all.length > 0
        ? `${all.map(taskName).join(", ")} used all of ${all.length === 1 ? "its" : "their"} own CPU time: the limit`
        : "No task used all of its own CPU time: rates are those of the workload",
    note: "CPU time of all processes of a task in its busiest second.",
    unit: "cores",
    bars: tasks.map((task) => ({
      name: taskName(task),
      value: busy(task, "peak_busy_cores"),
      text: `${digits(busy(task, "peak_busy_cores"))}, ${digits(busy(task, "busy_cores"))} on average`,
      colour: all.includes(task) ? C.orange : C.blue,
    })),
    content: () => ({
      columns: ["task", "peak_busy_cores", "busy_cores", "cores", "own_cores", "cpu_limit"],
      rows: tasks.map((task) => [
        taskName(task),
        num(task.peak_busy_cores),
        num(task.busy_cores),
        cores(task),
        task.own_cores === true,
        num(task.cpu_limit),
      ]),
    }),
  };
};

export const taskTable: Drawing = ({ run }) => {
  const tasks = tasksOf(run);
  if (tasks.length === 0) return null;
  const payload = (task: Json, way: string) => bytes(num(dig(task, way, "payload_bytes")));
  const ratio = (task: Json) => {
    const value = num(task.efficiency);
    return value === null ? "–" : digits(value);
  };
  const head = ["task", "function", "IN", "IN rate", "OUT", "OUT rate", "OUT/IN", "memory", "cache hits"];
  const hits = (task: Json) => {
    const [hit, miss] = [num(dig(task, "cache", "hits")), num(dig(task, "cache", "misses"))];
    return hit === null || miss === null ? "–" : `${count(hit)} of ${count(hit + miss)}`;
  };
  const body = tasks.map((task) => [
    taskName(task),
    String(task.function ?? ""),
    payload(task, "in"),
    rate(num(task.in_bps)),
    payload(task, "out"),
    rate(num(task.out_bps)),
    ratio(task),
    bytes(num(task.memory_bytes)),
    hits(task),
  ]);
  return h(
    "div",
    { class: "panel", "data-table": "testbed-tasks" },
    tableOf("TCP payload by the kernel's counters", head, body, { numeric: head.map((_, i) => i).slice(2) }),
  );
};

/** Mean response times over the number of viewers, as each sink stored them. */
export const responseTimes: Drawing = ({ run }): XYSpec | null => {
  const points = tasksOf(run).flatMap((task) =>
    objects(task, "responses").map((point) => ({
      sink: taskName(task),
      viewers: num(point.viewers) ?? 0,
      requests: num(point.requests),
      mean: num(point.mean_ns) ?? 0,
    })),
  );
  if (points.length === 0) return null;
  const sinks = [...new Set(points.map((point) => point.sink))];
  const layers = sinks.map((sink, i): Layer => {
    const own = points.filter((point) => point.sink === sink);
    return {
      kind: "line",
      name: sink,
      colour: colour(i),
      x: own.map((point) => point.viewers),
      y: own.map((point) => point.mean),
    };
  });
  const most = points.reduce((one, other) => (other.viewers > one.viewers ? other : one));
  return {
    type: "xy",
    id: "testbed-responses",
    title: `With ${digits(most.viewers)} viewers a response took ${nanoseconds(most.mean)} on average`,
    note: "To the last byte; each point is a mean over requests with about as many viewers.",
    x: { kind: "linear", label: "viewers", format: (value) => digits(value) },
    y: { kind: "linear", label: "response time", format: (value) => nanoseconds(value) },
    layers,
    content: () => ({
      columns: ["sink", "viewers", "requests", "mean_ns"],
      rows: points.map((point) => [point.sink, point.viewers, point.requests, point.mean]),
    }),
  };
};

/** What viewers got, by each sink. */
export const sinkTable: Drawing = ({ run }) => {
  const sinks = tasksOf(run).filter((task) => dig(task, "sink", "requests") !== undefined);
  if (sinks.length === 0) return null;
  const head = ["sink", "requests", "failed", "requests/s", "mean time", "P99", "generator"];
  const of = (task: Json, name: string) => num(dig(task, "sink", name));
  const body = sinks.map((task) => [
    taskName(task),
    count(of(task, "requests")),
    count(of(task, "failed")),
    digits(of(task, "requests_per_second") ?? 0),
    nanoseconds(of(task, "mean_ns")),
    nanoseconds(of(task, "p99_ns")),
    dig(task, "sink", "generator_limited") === true ? "was the limit" : "kept up",
  ]);
  return h(
    "div",
    { class: "panel", "data-table": "testbed-sinks" },
    tableOf(`What ${plural(sinks.length, "sink")} received`, head, body, { numeric: [1, 2, 3, 4, 5] }),
  );
};
