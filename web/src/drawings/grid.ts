// A grid of queues, congestion controls and paces: what neighbours gain from the pace, from the queue and from both, and each
// figure by cell. It knows no household.
import type { Layer, XYSpec } from "../charts/model";
import type { Json, Run } from "../data/document";
import { dig, num, objects } from "../data/facts";
import { h, table as tableOf } from "../dom";
import { count, plural } from "../format";
import type { Drawing } from "../kinds/describe";
import { inItsUnit, signedPercent } from "./pacing-figures";
import { colour } from "./palette";
import { besidePublished, changesOf, type Figured, pair, publishedOf } from "./population";

export interface Cell {
  place: string;
  pace: string;
  mean: number;
  change: number | null;
}

export interface Best {
  cell: string;
  change: number | null;
  interval: [number, number] | null;
}

export interface Gain {
  figure: string;
  congestion: string;
  base: number;
  pace: Best | null;
  queue: Best | null;
  both: Best | null;
  paceInQueue: Best | null;
}

function bestOf(one: Json, key: string, name: (best: unknown) => string): Best | null {
  const best = one[key];
  if (best === null || typeof best !== "object") return null;
  return {
    cell: name(best),
    change: num(dig(best, "change", "mean")),
    interval: pair(dig(best, "change", "mean_interval")),
  };
}

const queueOf = (best: unknown) => String(dig(best, "queue") ?? "");
const paceOf = (best: unknown) => String(dig(best, "pace") ?? "");

export function gainsOf(run: Run): Gain[] {
  return objects(run.summary, "gains").map((one) => ({
    figure: String(one.figure ?? ""),
    congestion: String(one.congestion ?? ""),
    base: num(one.base) ?? 0,
    pace: bestOf(one, "pace", paceOf),
    queue: bestOf(one, "queue", queueOf),
    both: bestOf(one, "both", (best) => `${queueOf(best)}, ${paceOf(best)}`),
    paceInQueue: bestOf(one, "pace_in_queue", paceOf),
  }));
}

export function cellsOf(run: Run, figure: string): Cell[] {
  const found = objects(run.summary, "figures").find((one) => one.figure === figure);
  return objects(found, "cells").map((one) => ({
    place: `${String(one.congestion ?? "")}, ${String(one.queue ?? "")}`,
    pace: String(one.pace ?? ""),
    mean: num(dig(one, "spread", "mean")) ?? 0,
    change: num(dig(one, "change", "mean")),
  }));
}

/** Figures with published changes: what each pace changes in the first queue, by congestion control. */
export function publishedFigures(run: Run): Figured[] {
  return objects(run.summary, "figures").flatMap((one) => {
    const published = publishedOf(one);
    const cells = objects(one.cells);
    const queue = cells[0]?.queue;
    const controls = published ? [...new Set(cells.map((cell) => String(cell.congestion ?? "")))] : [];
    return controls.map((congestion) => ({
      figure: `${String(one.figure ?? "")}, ${congestion}`,
      variants: cells
        .filter((cell) => cell.congestion === congestion && cell.queue === queue)
        .map((cell) => ({
          name: `pace ${String(cell.pace ?? "")}`,
          mean: num(dig(cell, "spread", "mean")) ?? 0,
          change: num(dig(cell, "change_by_pace", "mean")),
          interval: pair(dig(cell, "change_by_pace", "mean_interval")),
        })),
      published,
    }));
  });
}

/** The figures of neighbours that gains are about: less of each is better. */
const gained = (run: Run) => [...new Set(gainsOf(run).map((gain) => gain.figure))];

function chartOf(run: Run, figure: string): XYSpec | null {
  const cells = cellsOf(run, figure);
  if (cells.length === 0) return null;
  const places = [...new Set(cells.map((cell) => cell.place))];
  const paces = [...new Set(cells.map((cell) => cell.pace))];
  const at = (place: string, pace: string) => cells.find((cell) => cell.place === place && cell.pace === pace);
  const layers: Layer[] = paces.map((pace, i) => ({
    kind: "points",
    name: `pace ${pace}`,
    colour: colour(i),
    shape: i === 0 ? "diamond" : "circle",
    x: places.map((_, place) => place + (i - (paces.length - 1) / 2) * 0.16),
    y: places.map((place) => at(place, pace)?.mean ?? null),
  }));
  const format = (value: number) => inItsUnit(figure, value);
  return {
    type: "xy",
    id: `grid-${figure.replaceAll(".", "-")}`,
    title: `${figure} by congestion control and queue, with each pace`,
    note: "Means over the households; less is better.",
    x: { kind: "band", label: "congestion control, queue", format: count, places },
    y: { kind: "linear", label: figure, format, exact: format },
    layers,
    height: 320,
    content: () => ({
      columns: ["figure", "place", "pace", "mean", "change"],
      rows: cells.map((cell) => [figure, cell.place, cell.pace, cell.mean, cell.change]),
    }),
  };
}

export const gridFirst: Drawing = ({ run }) => chartOf(run, gained(run)[0] ?? "");
export const gridSecond: Drawing = ({ run }) => chartOf(run, gained(run)[1] ?? "");

/** The stream in the first queue, with the published ranges. */
export const gridPublished: Drawing = ({ run }) => {
  const all = publishedFigures(run);
  return changesOf(all, "grid-published", besidePublished(all) ?? "What each pace changes in the stream");
};

const bestText = (best: Best | null) =>
  best === null || best.change === null ? "–" : `${best.cell}: ${signedPercent(best.change)}`;

export const gridGains: Drawing = ({ run }) => {
  const gains = gainsOf(run);
  if (gains.length === 0) return null;
  const head = [
    "neighbour",
    "congestion",
    "base",
    "pace alone",
    "queue alone",
    "both",
    "pace in that queue",
    "95 % interval",
  ];
  const body = gains.map((gain) => [
    gain.figure,
    gain.congestion,
    inItsUnit(gain.figure, gain.base),
    bestText(gain.pace),
    bestText(gain.queue),
    bestText(gain.both),
    bestText(gain.paceInQueue),
    gain.paceInQueue?.interval ? gain.paceInQueue.interval.map(signedPercent).join(" to ") : "–",
  ]);
  return h(
    "div",
    { class: "panel", "data-table": "grid-gains" },
    tableOf("The largest change of each neighbour's mean", head, body, { numeric: [2, 3, 4, 5, 6, 7] }),
  );
};

export const gridFigures: Drawing = ({ run }) => {
  const tables = objects(run.summary, "figures").flatMap((one) => {
    const figure = String(one.figure ?? "");
    const cells = cellsOf(run, figure);
    if (cells.every((cell) => cell.mean === 0)) return [];
    const paces = [...new Set(cells.map((cell) => cell.pace))];
    const places = [...new Set(cells.map((cell) => cell.place))];
    const text = (place: string, pace: string) => {
      const cell = cells.find((cell) => cell.place === place && cell.pace === pace);
      if (!cell) return "–";
      const change = cell.change === null ? "" : ` (${signedPercent(cell.change)})`;
      return inItsUnit(figure, cell.mean) + change;
    };
    const body = places.map((place) => [place, ...paces.map((pace) => text(place, pace))]);
    return [
      h(
        "details",
        null,
        h("summary", null, figure),
        tableOf(`${figure}, ${plural(cells.length, "cell")}`, ["congestion, queue", ...paces], body, {
          numeric: paces.map((_, i) => i + 1),
        }),
      ),
    ];
  });
  return tables.length === 0 ? null : h("div", { class: "panel", "data-table": "grid-figures" }, ...tables);
};
