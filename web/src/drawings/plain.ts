// The plain drawing of any series: what has times becomes charts, one for each unit; the rest becomes a table.
import type { Layer, XYSpec } from "../charts/model";
import { Table } from "../data/table";
import { h, table as tableOf } from "../dom";
import { count, inUnit, number, words } from "../format";
import type { Context } from "../kinds/describe";
import { lineOf, overTime } from "./columns";
import { colour } from "./palette";
import { completeness } from "./wording";

/** Columns that name what a row is about, rather than measure something. */
const KEYS = [
  "direction",
  "side",
  "flow",
  "stream",
  "streams",
  "port",
  "at_ns",
  "duration_ns",
  "congestion_control",
  "run",
  "player",
  "pair",
];
const MOST_LINES = 12;
const MOST_ROWS = 200;

function groups(table: Table): { name: string; table: Table }[] {
  let found: { name: string; table: Table }[] = [{ name: "", table }];
  for (const key of ["direction", "side", "flow", "stream"]) {
    if (!table.has(key)) continue;
    found = found.flatMap((one) =>
      one.table.distinct(key).map((value) => ({
        name: [one.name, typeof value === "number" ? `${key} ${value}` : String(value)].filter(Boolean).join(", "),
        table: one.table.where(key, value),
      })),
    );
  }
  return found;
}

/** Every series of a run, drawn plainly. */
export function plainSeries(context: Context): (XYSpec | HTMLElement)[] {
  return Object.keys(context.run.series).flatMap((name): (XYSpec | HTMLElement)[] => {
    const table = Table.of(context.run, name);
    return table.has("at_ns") && table.names.some((column) => measured(table, column))
      ? overUnits(context, table, name)
      : [plainTable(table, name)];
  });
}

function measured(table: Table, column: string): boolean {
  return (
    !KEYS.includes(column) &&
    table.values(column).every((value) => value === null || typeof value === "number") &&
    table.max(column) !== null
  );
}

function overUnits(context: Context, table: Table, name: string): XYSpec[] {
  const byUnit = new Map<string, string[]>();
  for (const column of table.names) {
    if (!measured(table, column)) continue;
    const unit = table.unit(column) ?? "";
    byUnit.set(unit, [...(byUnit.get(unit) ?? []), column]);
  }
  return [...byUnit].map(([unit, columns]): XYSpec => {
    const layers: Layer[] = [];
    let more = 0;
    for (const group of groups(table)) {
      const sorted = group.table.sortedBy("at_ns");
      for (const column of columns) {
        if (sorted.max(column) === null || (columns.length > 4 && sorted.max(column) === 0)) continue;
        if (layers.length >= MOST_LINES) {
          more++;
          continue;
        }
        layers.push(
          lineOf(
            sorted,
            [words(column), group.name].filter(Boolean).join(", "),
            column,
            colour(layers.length),
            layers.length >= 7 ? "5 3" : undefined,
          ),
        );
      }
    }
    const format = (value: number) => (unit ? inUnit(value, unit) : number(value));
    return {
      ...overTime(context, table),
      id: `plain-${name}-${unit || "count"}`.replace(/[^A-Za-z0-9-]+/g, "-"),
      title: `${words(name)}: ${columns.length > 3 ? `${columns.length} columns` : columns.map(words).join(", ")}`,
      note:
        [completeness(table), more > 0 ? `${more} more lines are in the CSV.` : null].filter(Boolean).join(" ") || null,
      empty: layers.length === 0 ? "All values are 0 or missing." : null,
      y: { kind: "linear", label: unit || "count", format, exact: format },
      layers,
    };
  });
}

function plainTable(table: Table, name: string): HTMLElement {
  const rows = Array.from({ length: Math.min(MOST_ROWS, table.length) }, (_, i) =>
    table.names.map((column) => inUnit(table.values(column)[i] ?? null, table.unit(column))),
  );
  const numeric = table.names
    .map((column, i) => (typeof table.values(column)[0] === "number" ? i : -1))
    .filter((i) => i >= 0);
  const caption =
    words(name) + (table.length > MOST_ROWS ? `, the first ${MOST_ROWS} of ${count(table.length)} rows` : "");
  return h("div", { class: "panel", "data-table": name }, tableOf(caption, table.names.map(words), rows, { numeric }));
}
