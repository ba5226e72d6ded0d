// Texts that drawings share. It knows no chart.
import type { Table } from "../data/table";
import { duration } from "../format";
import type { Context } from "../kinds/describe";
import { localClock, toDate } from "../time";

/** Local time of day of a point in a run. */
export function when(context: Context, atNs: number): string {
  return localClock(toDate(context.run.started_unix_ns, atNs), 0);
}

/** Note for a series that is summed into bins, or does not have all rows. */
export function completeness(table: Table): string | null {
  const { series } = table;
  if (!series) return null;
  const parts: string[] = [];
  if (series.bin_ns !== null && series.bin_ns > 1e9) parts.push(`Each point covers ${duration(series.bin_ns)}.`);
  if (series.left_out > 0)
    parts.push(`${series.left_out.toLocaleString("en")} rows of ${series.rows.toLocaleString("en")} are omitted.`);
  return parts.join(" ") || null;
}

export function notes(...all: (string | null | undefined | false)[]): string | null {
  return all.filter(Boolean).join(" ") || null;
}
