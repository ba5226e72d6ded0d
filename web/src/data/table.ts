// A series as a table: columns by name, rows picked by direction, flow or side.
import type { Run, Series, Value } from "./document";

export type Numbers = (number | null)[];

export class Table {
  private constructor(
    readonly name: string,
    readonly series: Series | null,
    private readonly columns: Record<string, Value[]>,
    readonly length: number,
  ) {}

  /** The series of that name; an empty table where the run has none. */
  static of(run: Run, name: string): Table {
    const series = run.series[name] ?? null;
    const columns: Record<string, Value[]> = {};
    if (series) for (const [key, column] of Object.entries(series.columns)) columns[key] = column.values;
    return new Table(name, series, columns, Object.values(columns)[0]?.length ?? 0);
  }

  get names(): string[] {
    return Object.keys(this.columns);
  }

  unit(column: string): string | null {
    return this.series?.columns[column]?.unit ?? null;
  }

  has(column: string): boolean {
    return column in this.columns;
  }

  /** A column of numbers; all null where it is missing. */
  numbers(column: string): Numbers {
    return (this.columns[column] as Numbers | undefined) ?? new Array<null>(this.length).fill(null);
  }

  values(column: string): Value[] {
    return this.columns[column] ?? new Array<null>(this.length).fill(null);
  }

  sum(column: string): number {
    let sum = 0;
    for (const value of this.numbers(column)) sum += value ?? 0;
    return sum;
  }

  max(column: string): number | null {
    let max: number | null = null;
    for (const value of this.numbers(column)) if (value !== null && (max === null || value > max)) max = value;
    return max;
  }

  /** The different values of a column, in their order of appearance. */
  distinct(column: string): Value[] {
    return [...new Set(this.values(column))].filter((value) => value !== null);
  }

  /** The rows in which the column has that value. A table without the column is returned whole. */
  where(column: string, value: Value): Table {
    const key = this.columns[column];
    if (!key) return this;
    const rows: number[] = [];
    for (let i = 0; i < key.length; i++) if (key[i] === value) rows.push(i);
    return rows.length === this.length ? this : this.rows(rows);
  }

  /** The rows in ascending order of a column: a clock that was set back leaves them out of order. */
  sortedBy(column: string): Table {
    const key = this.numbers(column);
    let sorted = true;
    for (let i = 1; i < key.length && sorted; i++) sorted = (key[i - 1] ?? 0) <= (key[i] ?? 0);
    if (sorted) return this;
    const rows = Array.from(key, (_, i) => i).sort((a, b) => (key[a] ?? 0) - (key[b] ?? 0));
    return this.rows(rows);
  }

  private rows(rows: number[]): Table {
    const columns: Record<string, Value[]> = {};
    for (const [name, values] of Object.entries(this.columns)) columns[name] = rows.map((i) => values[i] ?? null);
    return new Table(this.name, this.series, columns, rows.length);
  }

  /** Every row and column, for CSV and for tables. */
  content(): { columns: string[]; rows: Value[][] } {
    const names = this.names;
    const columns = names.map((name) => this.values(name));
    return {
      columns: names.map((name) =>
        this.unit(name) && !name.endsWith(`_${this.unit(name)}`) ? `${name} [${this.unit(name)}]` : name,
      ),
      rows: Array.from({ length: this.length }, (_, i) => columns.map((column) => column[i] ?? null)),
    };
  }
}

/** Directions that a table has, forward first. */
export function directions(table: Table): string[] {
  const found = table.distinct("direction").map(String);
  return found.sort((a, b) => (a === "forward" ? -1 : b === "forward" ? 1 : a.localeCompare(b)));
}
