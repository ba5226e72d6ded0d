import { expect, test } from "vitest";
import type { XYSpec } from "../../src/charts/model";
import { cellsOf, gainsOf, gridFirst } from "../../src/drawings/grid";
import { candidatesOf, tuneFront } from "../../src/drawings/tune";
import { contextOf } from "../../src/kinds/describe";
import { descriptionOf } from "../../src/kinds/registry";
// @ts-expect-error: a script of its own, without types
import { run } from "../fixtures.mjs";

const candidate = (pace: string, harm: number, gain: number, on_front: boolean) => ({
  pace,
  pace_burst: "auto",
  pace_factor: 2,
  households: 48,
  harm: { mean: harm, interval: [harm - 0.01, harm + 0.01] },
  gain: { mean: gain, interval: [gain - 0.05, gain + 0.05] },
  score: gain,
  on_front,
});

const tuned = run(1, "tune", {
  summary: {
    population: "homes",
    households: 48,
    sessions: 768,
    recommended: { place: 1, origin: "--pace --pace-factor 2", player: "--pace top:2" },
    knee: 1,
    candidates: [
      candidate("top:4", -0.001, 0.05, true),
      candidate("top:2", 0, 0.08, true),
      candidate("rung:2", 0.01, 0.02, false),
    ],
    inputs: "households = 48\n",
  },
});

test("the front is a line, with the recommendation apart", () => {
  const context = contextOf(tuned, [tuned]);
  const chart = tuneFront(context) as XYSpec;
  expect(chart.layers.map((layer) => [layer.name, layer.x])).toEqual([
    ["other candidates", [0.01]],
    ["front", [-0.001, 0]],
    ["on the front", [-0.001]],
    ["recommended", [0]],
  ]);
  expect(chart.layers[3]?.lo).toEqual([0.03]);
  expect(descriptionOf(context).headlines?.(context)[0]?.sentence).toMatch(
    /^top:2, burst auto has the highest score of 3/,
  );
});

test("a search without an end has no recommendation, and what is missing breaks nothing", () => {
  const empty = run(2, "tune", { summary: { recommended: null, candidates: [{}] } });
  expect(candidatesOf(empty)[0]?.isRecommended).toBe(false);
  expect((tuneFront(contextOf(empty, [empty])) as XYSpec).title).toMatch(/no recommendation/);
  const none = run(3, "tune", { summary: {} });
  expect(tuneFront(contextOf(none, [none]))).toBeNull();
});

const changed = (mean: number) => ({ households: 9, mean, mean_interval: [mean - 0.1, mean + 0.1] });
const cell = (queue: string, pace: string, mean: number, change: number | null) => ({
  queue,
  congestion: "cubic",
  pace,
  spread: { households: 9, mean },
  change: change === null ? null : changed(change),
});

const gridded = run(4, "grid", {
  summary: {
    households: 9,
    gains: [
      {
        figure: "call.owd.p95",
        congestion: "cubic",
        base: 20e6,
        pace: { queue: "tail-drop:2bdp", pace: "top:2", change: changed(-0.5) },
        queue: { queue: "codel", pace: "none", change: changed(-0.4) },
        both: null,
        pace_in_queue: { queue: "codel", pace: "top:2", change: changed(-0.05) },
      },
    ],
    figures: [
      {
        figure: "call.owd.p95",
        cells: [
          cell("tail-drop:2bdp", "none", 20e6, null),
          cell("tail-drop:2bdp", "top:2", 10e6, -0.5),
          cell("codel", "none", 12e6, -0.4),
          cell("codel", "top:2", 11e6, -0.45),
        ],
      },
    ],
  },
});

test("a grid has a place for each queue, and a layer for each pace", () => {
  const context = contextOf(gridded, [gridded]);
  const chart = gridFirst(context) as XYSpec;
  expect(chart.x.places).toEqual(["cubic, tail-drop:2bdp", "cubic, codel"]);
  expect(chart.layers.map((layer) => [layer.name, layer.y])).toEqual([
    ["pace none", [20e6, 12e6]],
    ["pace top:2", [10e6, 11e6]],
  ]);
  expect(gainsOf(gridded)[0]?.both).toBeNull();
  expect(gainsOf(gridded)[0]?.paceInQueue?.interval).toEqual([-0.15000000000000002, 0.05]);
  expect(cellsOf(gridded, "none.such")).toEqual([]);
  expect(descriptionOf(context).headlines?.(context)[0]?.sentence).toBe(
    "call.owd.p95 with cubic: −50 % by the pace alone (top:2), −40 % by the queue alone (codel).",
  );
});
