// Whether flows lose one by one or together: the windows of time in which packets were lost, by how many flows lost.
import type { Layer, XYSpec } from "../charts/model";
import { Table } from "../data/table";
import { count, digits, nanoseconds, plural } from "../format";
import type { Drawing } from "../kinds/describe";
import { xs } from "./columns";
import { flowDirections } from "./lanes";
import { C } from "./palette";
import { completeness, notes } from "./wording";

/**
 * How many windows would have hit 1, 2, ... of `flows`, if the packets lost in each had fallen on flows at random.
 * `windows` is by packets lost. One walk for all of them: runs have many flows and many different losses.
 */
export function atRandom(windows: Map<number, number>, flows: number): number[] {
  // By then all flows are hit.
  const most = 30 * flows;
  const times = new Map<number, number>();
  for (const [lost, count] of windows) times.set(Math.min(lost, most), (times.get(Math.min(lost, most)) ?? 0) + count);
  const last = Math.max(0, ...times.keys());
  const chances = new Float64Array(flows + 1);
  chances[0] = 1;
  const expected = new Array<number>(flows).fill(0);
  for (let lost = 1; lost <= last; lost++) {
    for (let hit = Math.min(lost, flows); hit > 0; hit--)
      chances[hit] = (chances[hit]! * hit) / flows + chances[hit - 1]! * (1 - (hit - 1) / flows);
    chances[0] = 0;
    const count = times.get(lost);
    if (count) for (let hit = 1; hit <= flows; hit++) expected[hit - 1]! += count * chances[hit]!;
  }
  return expected;
}

interface Way {
  name: string;
  /** Windows by flows that lost, from one on. */
  found: number[];
  /** The same if the losses of each window had fallen on flows at random. */
  expected: number[];
}

function wayOf(table: Table, name: string, flows: number): Way {
  const found = new Array<number>(flows).fill(0);
  for (const losing of xs(table, "flows_losing")) if (losing >= 1 && losing <= flows) found[losing - 1]!++;
  const windows = new Map<number, number>();
  for (const lost of xs(table, "lost")) windows.set(lost, (windows.get(lost) ?? 0) + 1);
  return { name, found, expected: atRandom(windows, flows) };
}

const mean = (windows: number[]) =>
  windows.reduce((sum, times, i) => sum + times * (i + 1), 0) / windows.reduce((sum, times) => sum + times, 0);

export const lossTogether: Drawing = (context): XYSpec | null => {
  const all = Table.of(context.run, "loss_windows");
  const totals = Table.of(context.run, "flow_totals");
  const ways = flowDirections(context)
    .map((name) => ({ name, table: all.where("direction", name), flows: totals.where("direction", name).length }))
    // One flow cannot lose together with others.
    .filter((way) => way.table.length > 0 && way.flows > 1)
    .map((way) => wayOf(way.table, way.name, way.flows));
  const first = ways[0];
  if (!first) return null;
  const places = Array.from({ length: Math.max(...ways.map((way) => way.found.length)) }, (_, i) => i);
  const suffix = (way: Way) => (ways.length > 1 ? `, ${way.name}` : "");
  const layers = ways.flatMap((way, i): Layer[] => [
    {
      kind: i === 0 ? "bars" : "points",
      shape: "square",
      name: `windows${suffix(way)}`,
      colour: i === 0 ? C.red : C.orange,
      x: places,
      y: way.found.map((times) => times || null),
    },
    {
      kind: "points",
      shape: i === 0 ? "diamond" : "triangle",
      name: `if losses fell on flows at random${suffix(way)}`,
      colour: i === 0 ? C.blue : C.sky,
      x: places,
      y: way.expected.map((times) => (times >= 0.5 ? times : null)),
      exact: (times) => digits(times, 3),
    },
  ]);
  const length = nanoseconds(all.max("duration_ns"));
  return {
    type: "xy",
    id: "loss-together",
    title: `${plural(
      first.found.reduce((a, b) => a + b),
      "window",
    )} of ${length} with loss hit ${digits(mean(first.found), 2)} flows each; losses at random would have hit ${digits(mean(first.expected), 2)}${suffix(first)}`,
    note: notes(
      "More flows at once than at random: bursts in a shared part of the path. Fewer: flows lose independently.",
      completeness(all),
    ),
    x: { kind: "band", label: "flows that lost in one window", format: count, places: places.map((i) => count(i + 1)) },
    y: {
      kind: "log",
      label: "windows",
      format: count,
      domain: [0.5, 1.5 * Math.max(6, ...ways.flatMap((way) => [...way.found, ...way.expected]))],
    },
    layers,
    height: 240,
    content: () => ({
      columns: ["direction", "flows_losing", "windows", "windows_at_random"],
      rows: ways.flatMap((way) => way.found.map((times, i) => [way.name, i + 1, times, way.expected[i]!])),
    }),
  };
};
