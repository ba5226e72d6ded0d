// Parts that stand on each other in columns over time, as layers of a chart.
import type { Layer } from "../charts/model";
import type { Table } from "../data/table";
import { xs } from "./columns";

export interface Part {
  column: string;
  name: string;
  colour: string;
  /** It is how things should be: columns with more of the others are those to be seen. */
  good?: boolean;
}

/** The first part stands on the axis. Parts of which there are none at all are left out. */
export function stackOf(table: Table, parts: Part[]): Layer[] {
  const x = xs(table, "at_ns");
  const bin = table.series?.bin_ns ?? null;
  const wide = table.numbers("duration_ns").map((duration) => bin ?? duration ?? 1e9);
  const there = parts.filter((part) => table.sum(part.column) > 0);
  const total = new Array<number>(table.length).fill(0);
  const bad = new Array<number>(table.length).fill(0);
  const weight = new Array<number>(table.length).fill(0);
  const layers = there.map((part): Layer => {
    const y = table.numbers(part.column);
    const lo = [...total];
    for (let i = 0; i < total.length; i++) {
      total[i]! += y[i] ?? 0;
      if (!part.good) bad[i]! += y[i] ?? 0;
    }
    return { kind: "stack", name: part.name, colour: part.colour, x, y, lo, hi: [...total], wide, weight };
  });
  // Where nothing is bad, what is missing of the good is what is to be seen.
  const most = total.reduce((a, b) => Math.max(a, b), 1);
  for (let i = 0; i < total.length; i++) weight[i] = bad[i]! + (bad[i]! > 0 ? 1 : 1 - total[i]! / most);
  return layers;
}
