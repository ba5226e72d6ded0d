// Helpers that the drawings share.
import type { Content } from "../charts/model";
import type { Table } from "../data/table";
import type { Context } from "../kinds/describe";
import { both, localClock, toDate } from "../time";

/** The palette of Okabe and Ito, which colour-blind people tell apart; the style has shades for light and dark. */
export const C = {
  blue: "var(--c-blue)",
  orange: "var(--c-orange)",
  green: "var(--c-green)",
  red: "var(--c-red)",
  purple: "var(--c-purple)",
  sky: "var(--c-sky)",
  grey: "var(--c-grey)",
};
export const CYCLE = [C.blue, C.orange, C.green, C.purple, C.red, C.sky, C.grey];
export const colour = (i: number) => CYCLE[i % CYCLE.length]!;

export const ends = (name: string) => (name === "forward" ? "forward" : name === "reverse" ? "on the way back" : name);

/** At what local time of day something was. */
export function when(context: Context, atNs: number): string {
  return localClock(toDate(context.run.started_unix_ns, atNs), 0);
}

export function whenBoth(context: Context, atNs: number): string {
  return both(toDate(context.run.started_unix_ns, atNs), 3);
}

/** x values of a table sorted by them; rows without one must not be there. */
export function xs(table: Table, column: string): number[] {
  return table.numbers(column).map((value) => value ?? 0);
}

/** Lines over time break where rows are missing for longer than this. */
export function gapOf(table: Table): number {
  return 2.5 * (table.series?.bin_ns ?? 1e9);
}

/** Says that a series is summed into bins, or does not have all rows. */
export function completeness(table: Table): string | null {
  const { series } = table;
  if (!series) return null;
  const parts: string[] = [];
  if (series.bin_ns !== null && series.bin_ns > 1e9) parts.push(`Each point sums up ${series.bin_ns / 1e9} s.`);
  if (series.left_out > 0)
    parts.push(
      `${series.left_out.toLocaleString("en")} rows of ${series.rows.toLocaleString("en")} were too many and are not here.`,
    );
  return parts.join(" ") || null;
}

export function notes(...all: (string | null | undefined | false)[]): string | null {
  return all.filter(Boolean).join(" ") || null;
}

/** The rows of tables one below the other, with what they have in common. */
export function contentOf(...tables: Table[]): () => Content {
  return () => {
    const contents = tables.filter((table) => table.length > 0).map((table) => table.content());
    return { columns: contents[0]?.columns ?? [], rows: contents.flatMap((one) => one.rows) };
  };
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
