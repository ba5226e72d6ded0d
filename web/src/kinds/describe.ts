// What a kind of run looks like on the page: its key figures, and sections of charts and tables. A new kind is a file
// beside this one and a line in registry.ts.
import type { ChartSpec } from "../charts/model";
import { TimeView } from "../charts/view";
import type { Finding, Run } from "../data/document";

export interface Context {
  run: Run;
  /** The parts of the run, in the order in which they were made. */
  parts: Run[];
  view: TimeView;
}

export interface Figure {
  name: string;
  value: string;
  /** What it is measured against, or how sure it is. */
  detail?: string;
}

/** Charts of which one set is seen at a time. */
export interface Choice {
  type: "choice";
  /** Name for tests. */
  id: string;
  /** What is chosen. */
  label: string;
  options: { name: string; charts: () => ChartSpec[] }[];
}

/** What one place of a section holds. */
export type Drawn = ChartSpec | Choice | HTMLElement;

/** A chart, a table or other element, or several of them; null leaves it out, because this run cannot have it. */
export type Drawing = (context: Context) => Drawn | Drawn[] | null;

/** How a run went, in a sentence, where nothing is diagnosed. */
export interface Headline {
  severity: Finding["severity"];
  sentence: string;
}

export interface Section {
  title: string;
  /** Charts over time share a zoom, and its buttons stand above them. */
  overTime?: boolean;
  /** Charts one below the other, each as wide as the page. */
  wide?: boolean;
  /** With more drawings than this, they are folded away and made when they are asked for. */
  folded?: number;
  drawings: Drawing[];
}

export interface Description {
  kind: string;
  name: string;
  figures: (context: Context) => Figure[];
  headlines?: (context: Context) => Headline[];
  sections: Section[];
  /** Parts are shown folded below the run's own sections. */
  showParts?: boolean;
}

/** From the first row to the last of all series; the run's own times where there are none. */
export function timeViewOf(run: Run): TimeView {
  let low = 0;
  let high = Math.max(0, (run.ended_unix_ns ?? run.last_unix_ns) - run.started_unix_ns);
  for (const series of Object.values(run.series)) {
    const at = series.columns.at_ns?.values;
    if (!at) continue;
    const lengths = series.columns.duration_ns?.values;
    for (let i = 0; i < at.length; i++) {
      const from = at[i];
      if (typeof from !== "number") continue;
      const length = lengths?.[i];
      if (from < low) low = from;
      const end = from + (typeof length === "number" ? length : 0);
      if (end > high) high = end;
    }
  }
  return new TimeView(low, Math.max(high, low + 1e6));
}

export function contextOf(run: Run, all: Run[]): Context {
  return { run, parts: all.filter((one) => one.parent_run_id === run.run_id), view: timeViewOf(run) };
}
