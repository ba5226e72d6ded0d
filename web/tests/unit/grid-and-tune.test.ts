import { expect, test } from "vitest";
import type { XYSpec } from "../../src/charts/model";
import { cellsOf, gainsOf, gridFirst, gridPublished } from "../../src/drawings/grid";
import { candidatesOf, tuneFront, tunePublished } from "../../src/drawings/tune";
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

const changed = (mean: number) => ({ households: 9, mean, mean_interval: [mean - 0.1, mean + 0.1] });
const range = (figure: string) => ({ figure, change: [-0.85, -0.6], source: "a talk" });
const of = (variant: string, mean: number, change: unknown = null) => ({
  variant,
  spread: { households: 9, mean },
  change,
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
    figures: [
      {
        figure: "media.throughput",
        variants: [of("none", 80e6), of("top:4/auto", 30e6, changed(-0.5)), of("top:2/auto", 20e6, changed(-0.75))],
        published: range("media.throughput"),
      },
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
    /^Recommended: top:2, burst auto, with the highest score of 3/,
  );
});

test("the recommended pace stands beside the published range", () => {
  const chart = tunePublished(contextOf(tuned, [tuned])) as XYSpec;
  expect(chart.title).toBe("1 of 1 change is within the published range");
  expect(chart.x.places).toEqual(["media.throughput"]);
  expect(chart.layers.map((layer) => [layer.name, layer.y, layer.lo])).toEqual([
    ["top:2/auto", [-0.75], [-0.85]],
    ["published", [-0.725], [-0.85]],
  ]);
});

test("a search without an end has no recommendation, and what is missing breaks nothing", () => {
  const empty = run(2, "tune", { summary: { recommended: null, candidates: [{}] } });
  expect(candidatesOf(empty)[0]?.isRecommended).toBe(false);
  expect((tuneFront(contextOf(empty, [empty])) as XYSpec).title).toMatch(/no recommendation/);
  const none = run(3, "tune", { summary: {} });
  expect(tuneFront(contextOf(none, [none]))).toBeNull();
});

const cell = (queue: string, pace: string, mean: number, change: number | null) => ({
  queue,
  congestion: "cubic",
  pace,
  spread: { households: 9, mean },
  change: change === null ? null : changed(change),
  change_by_pace: pace === "none" ? null : changed(-0.7),
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
        published: null,
      },
      {
        figure: "media.throughput",
        cells: [
          cell("tail-drop:2bdp", "none", 80e6, null),
          cell("tail-drop:2bdp", "top:2", 24e6, -0.7),
          cell("codel", "top:2", 24e6, -0.7),
        ],
        published: range("media.throughput"),
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
    "With cubic, call.owd.p95 changes by −50 % with the pace alone (top:2), −40 % with the queue alone (codel).",
  );
});

test("what paces change in the first queue stands beside the published range, by congestion control", () => {
  const chart = gridPublished(contextOf(gridded, [gridded])) as XYSpec;
  expect(chart.title).toBe("1 of 1 change is within the published range");
  expect(chart.note).toMatch(/from pace none/);
  expect(chart.x.places).toEqual(["media.throughput, cubic"]);
  expect(chart.layers.map((layer) => [layer.name, layer.y])).toEqual([
    ["pace top:2", [-0.7]],
    ["published", [-0.725]],
  ]);
});
