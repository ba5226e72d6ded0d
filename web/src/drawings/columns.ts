// Columns of tables as charts and sentences want them.
import type { Content, Layer } from "../charts/model";
import type { Numbers, Table } from "../data/table";
import type { Context } from "../kinds/describe";

/** x values of a table sorted by them; rows without one must not be there. */
export function xs(table: Table, column: string): number[] {
  return table.numbers(column).map((value) => value ?? 0);
}

/** Lines over time break where rows are missing for longer than this. */
export function gapOf(table: Table): number {
  return 2.5 * (table.series?.bin_ns ?? 1e9);
}

/** The rows of tables one below the other, with what they have in common. */
export function contentOf(...tables: Table[]): () => Content {
  return () => {
    const contents = tables.filter((table) => table.length > 0).map((table) => table.content());
    return { columns: contents[0]?.columns ?? [], rows: contents.flatMap((one) => one.rows) };
  };
}

/** What all charts over the time of a run have alike, with the tables behind them. */
export function overTime(context: Context, ...tables: Table[]) {
  return {
    type: "xy",
    x: { kind: "time", label: "", format: String },
    view: context.view,
    startedUnixNs: context.run.started_unix_ns,
    content: contentOf(...tables),
  } as const;
}

/** A line over time: a column of a table, or values for its rows. */
export function lineOf(table: Table, name: string, y: string | Numbers, colour: string, dash?: string): Layer {
  const values = typeof y === "string" ? table.numbers(y) : y;
  return { kind: "line", name, colour, dash, x: xs(table, "at_ns"), y: values, gap: gapOf(table) };
}

/** Where the largest value of a column is. */
export function peak(values: (number | null)[]): { index: number; value: number } | null {
  let index = -1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value !== null && value !== undefined && (index < 0 || value > values[index]!)) index = i;
  }
  return index < 0 ? null : { index, value: values[index]! };
}

export function median(values: (number | null)[]): number | null {
  const sorted = values.filter((value): value is number => value !== null).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
