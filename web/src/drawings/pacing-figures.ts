// What pacing changed, as tables, and beside the paper. It knows no trial.
import type { XYSpec } from "../charts/model";
import { type Change, type FigureRow, figureRows } from "../data/pacing";
import { h, table as tableOf } from "../dom";
import { bytes, count, digits, nanoseconds, percent, plural, rate } from "../format";
import type { Drawing } from "../kinds/describe";
import { C } from "./palette";

const TIMES = [
  "owd",
  "owd_above_min",
  "completion",
  "completion_above_min",
  "input_to_frame",
  "first_byte",
  "rtt",
  "startup",
];
const RATES = ["rate", "throughput", "capacity", "bitrate", "bin_deviation"];

/** A figure in its unit, which its name tells. */
export function inItsUnit(figure: string, value: number): string {
  const parts = figure.split(".");
  const last = parts[parts.length - 1]!;
  if (last === "count") return count(value);
  if (last.endsWith("_ns") || parts.slice(1).some((part) => TIMES.includes(part))) return nanoseconds(value);
  if (RATES.includes(last) || last.endsWith("_bitrate")) return rate(value);
  if (/(share|ratio)$/.test(last) || last === "loss") return percent(value);
  if (last === "bytes" || last.endsWith("_bytes")) return bytes(Math.round(value));
  return digits(value);
}

const signed = (figure: string, value: number) => (value > 0 ? "+" : "") + inItsUnit(figure, value);
export const signedPercent = (share: number) => `${share > 0 ? "+" : ""}${percent(share)}`;

export function changeText(figure: string, change: Change): string {
  const relative = change.relative === null ? "" : ` (${signedPercent(change.relative)})`;
  return signed(figure, change.difference) + relative;
}

export function intervalText(figure: string, change: Change): string {
  return change.interval === null
    ? "–"
    : `${signed(figure, change.interval[0])} to ${signed(figure, change.interval[1])}`;
}

const expectedText = (change: Change) => (change.asExpected === null ? "–" : change.asExpected ? "yes" : "no");

/** Of the stream that is paced and of the line, rather than of those beside it. */
export const isOwn = (row: Pick<FigureRow, "figure">) => /^(media|queue)\./.test(row.figure);

const name = (row: FigureRow) => `${row.case}, ${row.congestion}: ${row.figure}`;

function changes(rows: FigureRow[], id: string, caption: string): HTMLElement | null {
  if (rows.length === 0) return null;
  const first = rows.find((row) => row.variants.length > 0)?.variants[0]?.name ?? "first variant";
  const isAlone = rows.some((row) => row.alone !== null);
  const isPaper = rows.some((row) => row.paperPercent !== null);
  const text = (row: FigureRow, value: number | null | undefined) =>
    value === null || value === undefined ? "–" : inItsUnit(row.figure, value);
  const of = (row: FigureRow, variant: string) => row.variants.find((one) => one.name === variant)?.median;
  const head = [
    "figure",
    ...(isAlone ? ["alone"] : []),
    first,
    "variant",
    "median",
    "change",
    "95 % sure",
    "as expected",
    ...(isPaper ? ["paper"] : []),
  ];
  const cells = (row: FigureRow, change: Change | null) => [
    name(row),
    ...(isAlone ? [text(row, row.alone)] : []),
    text(row, of(row, first)),
    change?.variant ?? "–",
    change ? text(row, of(row, change.variant)) : "–",
    change ? changeText(row.figure, change) : "–",
    change ? intervalText(row.figure, change) : "–",
    change ? expectedText(change) : "–",
    ...(isPaper ? [row.paperPercent === null ? "–" : signedPercent(row.paperPercent / 100)] : []),
  ];
  const body = rows.flatMap((row) =>
    row.changes.length > 0 ? row.changes.map((change) => cells(row, change)) : [cells(row, null)],
  );
  const words = ["variant", "as expected"];
  const numeric = head.map((_, i) => i).filter((i) => i > 0 && !words.includes(head[i]!));
  return h("div", { class: "panel", "data-table": id }, tableOf(caption, head, body, { numeric }));
}

/** A table of changes of all neighbours of the stream. */
export const neighbourChanges: Drawing = ({ run }) =>
  changes(
    figureRows(run).filter((row) => !isOwn(row)),
    "pacing-neighbours",
    "Every neighbour: medians over the repeats, and how they change",
  );

export const ownChanges: Drawing = ({ run }) =>
  changes(figureRows(run).filter(isOwn), "pacing-own", "The stream and its queue");

interface Beside {
  name: string;
  there: number;
  here: number;
  low: number | null;
  high: number | null;
}

/** Changes that the paper tells too, as shares of the first variant's median. */
export function besidePaper(rows: FigureRow[]): Beside[] {
  return rows.flatMap((row) => {
    const base = row.variants[0]?.median ?? 0;
    if (row.paperPercent === null || base === 0) return [];
    const there = row.paperPercent / 100;
    return row.changes
      .filter((change) => change.relative !== null)
      .map((change) => ({
        name: row.changes.length > 1 ? `${name(row)}, ${change.variant}` : name(row),
        there,
        here: change.relative!,
        low: change.interval ? change.interval[0] / base : null,
        high: change.interval ? change.interval[1] / base : null,
      }));
  });
}

/** The paper's changes and ours on one axis. */
export const paperChanges: Drawing = ({ run }): XYSpec | null => {
  const all = besidePaper(figureRows(run));
  if (all.length === 0) return null;
  const same = all.filter((one) => Math.sign(one.here) === Math.sign(one.there)).length;
  const places = all.map((_, i) => i);
  return {
    type: "xy",
    id: "pacing-paper",
    title: `${count(same)} of ${plural(all.length, "figure")} changed in the paper's direction`,
    note: "Change of the median from the first variant, ours with its 95 % interval as a share of that median.",
    x: { kind: "band", label: "figure", format: count, places: all.map((one) => one.name) },
    y: { kind: "linear", label: "change", format: signedPercent, exact: signedPercent },
    layers: [
      {
        kind: "points",
        name: "measured",
        colour: C.blue,
        shape: "circle",
        x: places,
        y: all.map((one) => one.here),
        lo: all.map((one) => one.low),
        hi: all.map((one) => one.high),
      },
      {
        kind: "points",
        name: "the paper",
        colour: C.orange,
        shape: "diamond",
        x: places,
        y: all.map((one) => one.there),
      },
    ],
    rules: [{ axis: "y", value: 0, label: "no change", short: "0" }],
    height: 300,
    content: () => ({
      columns: ["figure", "paper", "here", "here_low", "here_high"],
      rows: all.map((one) => [one.name, one.there, one.here, one.low, one.high]),
    }),
  };
};
