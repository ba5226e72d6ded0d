// What a chart is made from. A chart names what is seen, its axes with units, its layers and the rows behind it.
import type { Numbers } from "../data/table";
import type { TimeView } from "./view";

export interface Content {
  columns: string[];
  rows: (string | number | boolean | null)[][];
}

export interface Common {
  /** Name for tests and for files: `rtt-by-length`. */
  id: string;
  /** The finding, as a sentence without a full stop. */
  title: string;
  /** How to read it, where that needs saying. */
  note?: string | null;
  /** Why there is nothing to draw; the chart is then only this. */
  empty?: string | null;
  height?: number;
  /** All rows behind it, for CSV and the table. */
  content: () => Content;
}

export interface XAxis {
  kind: "time" | "linear" | "log" | "band";
  label: string;
  format: (value: number) => string;
  /** Names of a band's places. */
  places?: string[];
  domain?: [number, number];
}

export interface YAxis {
  kind: "linear" | "log";
  label: string;
  format: (value: number) => string;
  /** With all digits, for the tooltip. */
  exact?: (value: number) => string;
  domain?: [number, number];
  /** Linear axes begin at 0 unless this is false. */
  zero?: boolean;
}

export interface Layer {
  kind: "line" | "area" | "bars" | "points" | "stack";
  name: string;
  /** A colour of the palette: `var(--c1)`. */
  colour: string;
  x: number[];
  y: Numbers;
  /** Areas and parts of a stack lie between these; points have bars from one to the other. */
  lo?: Numbers;
  hi?: Numbers;
  /** Of a stack: how long each of its columns is on the x-axis, and how much it matters that this one is seen. */
  wide?: number[];
  weight?: number[];
  dash?: string;
  shape?: "circle" | "square" | "diamond" | "triangle";
  /** A step line: each value lasts until the next. */
  step?: boolean;
  /** Lines break where neighbours are further apart than this. */
  gap?: number;
  opacity?: number;
  /** Exact text for the tooltip, instead of the axis's. */
  exact?: (value: number) => string;
  /** No entry of its own in the legend. */
  silent?: boolean;
}

/** A line across the chart to compare with. */
export interface Rule {
  axis: "x" | "y";
  value: number;
  label: string;
  /** For narrow charts. */
  short: string;
}

export interface XYSpec extends Common {
  type: "xy";
  x: XAxis;
  y: YAxis;
  layers: Layer[];
  rules?: Rule[];
  rulesNote?: string;
  view?: TimeView;
  startedUnixNs?: number;
}

export interface Lane {
  name: string;
  label: string;
  /** Packets received per bin: `at`, length in `binNs`, share of the maximum of all bins. */
  at: number[];
  received: number[];
  binNs: number;
  marks: Record<MarkKind, Marks>;
  summary: string;
}

export type MarkKind = "silence" | "loss" | "burst" | "reversal" | "drop";

export interface Marks {
  at: number[];
  /** Length in time; for marks of an instant 0. */
  duration: number[];
  value: number[];
}

export interface LanesSpec extends Common {
  type: "lanes";
  lanes: Lane[];
  view: TimeView;
  startedUnixNs: number;
}

/** What something was, from a time to another. */
export interface StateLane {
  name: string;
  label: string;
  states: Record<string, Marks>;
  summary: string;
}

/** Something that happened at a time, with a sentence on it. */
export interface Moment {
  at: number;
  /** Name for tests. */
  kind: string;
  name: string;
  text: string;
}

/** How the states of a chart look: the first is how things should be, the last matters most and is drawn over the rest. */
export interface StateLook {
  state: string;
  name: string;
  colour: string;
  /** Share of the lane's height, so that colour is not all that tells states apart. */
  height: number;
}

export interface StatesSpec extends Common {
  type: "states";
  looks: StateLook[];
  lanes: StateLane[];
  /** In a lane of their own above the others; none without any. */
  moments: Moment[];
  momentLooks: Record<string, { colour: string; shape: "circle" | "square" | "diamond" | "triangle" }>;
  view: TimeView;
  startedUnixNs: number;
}

export interface BarsSpec extends Common {
  type: "bars";
  unit: string;
  bars: { name: string; value: number; text: string; colour: string; group?: string }[];
}

/** Lines of the tooltip of a mark, below its head. */
export interface Told {
  name: string;
  text: string;
  colour?: string;
}

/** Points that belong together, by their places in `xs` and `ys`. */
export interface PointGroup {
  name: string;
  colour: string;
  shape: "circle" | "square" | "diamond" | "triangle";
  points: number[];
}

/** A curve to compare points with; straight between its own points, as the axes are. */
export interface Curve {
  name: string;
  colour: string;
  dash?: string;
  points: [number, number][];
}

export interface ScatterSpec extends Common {
  type: "scatter";
  x: XAxis;
  y: YAxis;
  xs: number[];
  ys: number[];
  groups: PointGroup[];
  curves: Curve[];
  head: (point: number) => string;
  tell: (point: number) => Told[];
}

/** A range of values that has a colour: up to `most`, from the class before. */
export interface ValueClass {
  most: number;
  text: string;
  colour: string;
}

export interface MatrixSpec extends Common {
  type: "matrix";
  /** Both rows and columns, those of a group next to each other. */
  places: { name: string; group: string }[];
  /** What rows and columns are, and the values. */
  labels: { row: string; column: string };
  /** Row by row. */
  values: (number | null)[];
  classes: ValueClass[];
  tell: (row: number, column: number) => Told[];
}

export interface MapPlace {
  name: string;
  group: string;
  latitude: number;
  longitude: number;
}

export interface MapSpec extends Common {
  type: "map";
  places: MapPlace[];
  looks: Record<string, { colour: string; shape: PointGroup["shape"] }>;
  /** Between two places, by their numbers. */
  links: { from: number; to: number; value: number }[];
  classes: ValueClass[];
  tell: (place: number) => Told[];
}

export type ChartSpec = XYSpec | LanesSpec | StatesSpec | BarsSpec | ScatterSpec | MatrixSpec | MapSpec;
