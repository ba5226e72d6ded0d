import { expect, test } from "vitest";
import type { XYSpec } from "../../src/charts/model";
import { besidePublished, figuresOf, populationNeighbours, populationStream } from "../../src/drawings/population";
import { contextOf } from "../../src/kinds/describe";
import { descriptionOf } from "../../src/kinds/registry";
// @ts-expect-error: a script of its own, without types
import { run } from "../fixtures.mjs";

const spread = (mean: number) => ({ households: 50, mean, p10: mean / 2, p50: mean, p90: mean * 2 });

const changed = (mean: number | null, mean_interval: [number, number] | null) => ({
  households: 50,
  mean,
  mean_interval,
  median_difference: -1,
  median_interval: null,
});

const figure = (name: string, means: number[], change: unknown, published: unknown = null) => ({
  figure: name,
  variants: [
    { variant: "unpaced", spread: spread(means[0]!), change: null },
    { variant: "paced", spread: spread(means[1]!), change },
  ],
  published,
});

const made = run(1, "population", {
  summary: {
    population: "homes",
    households: 50,
    unfinished: 1,
    figures: [
      figure("media.throughput", [80e6, 20e6], changed(-0.75, [-0.8, -0.7]), {
        figure: "media.throughput",
        change: [-0.85, -0.6],
        source: "a talk",
      }),
      figure("media.rtt.mean", [40e6, 32e6], changed(-0.2, [-0.3, -0.1]), {
        figure: "media.rtt.mean",
        change: [-0.35, -0.3],
        source: "a talk",
      }),
      figure("media.first_20_s_bitrate", [5e6, 5e6], changed(0, null)),
      figure("queue.marked", [0, 0], changed(null, null)),
      figure("call.owd.p95", [60e6, 30e6], changed(-0.5, [-0.6, -0.4])),
    ],
    inputs: 'name = "homes"\n',
  },
});
const context = contextOf(made, [made]);

test("changes and published ranges are those of the summary, in one place per figure", () => {
  const chart = populationStream(context) as XYSpec;
  expect(chart.title).toBe("1 of 2 changes is within the published range");
  expect(chart.x.places).toEqual(["media.throughput", "media.rtt.mean", "media.first_20_s_bitrate"]);
  const [paced, published] = chart.layers;
  expect([paced?.name, paced?.y, paced?.lo, paced?.hi]).toEqual([
    "paced",
    [-0.75, -0.2, 0],
    [-0.8, -0.3, null],
    [-0.7, -0.1, null],
  ]);
  expect([published?.name, published?.lo, published?.hi]).toEqual([
    "published",
    [-0.85, -0.35, null],
    [-0.6, -0.3, null],
  ]);
  expect(chart.content().rows[0]).toEqual(["media.throughput", "paced", -0.75, -0.8, -0.7, -0.85, -0.6]);
});

test("others of the household have a chart of their own, and no range that nobody has published", () => {
  const chart = populationNeighbours(context) as XYSpec;
  expect(chart.x.places).toEqual(["call.owd.p95"]);
  expect(chart.layers.map((layer) => layer.name)).toEqual(["paced"]);
});

test("what is 0 in every household is left out, and what is missing breaks nothing", () => {
  expect(figuresOf(made).map((one) => one.figure)).not.toContain("queue.marked");
  const empty = run(2, "population", { summary: { figures: [{}, null, { variants: "none" }] } });
  expect(figuresOf(empty)).toEqual([]);
  expect(besidePublished(figuresOf(empty))).toBeNull();
  expect(populationStream(contextOf(empty, [empty]))).toBeNull();
});

test("the head has the three published figures, and says what did not end", () => {
  const description = descriptionOf(context);
  expect(description.name).toBe("Population");
  expect(description.figures(context).map((one) => [one.name, one.value])).toEqual([
    ["households", "50"],
    ["change of throughput", "−75 %"],
    ["change of RTT", "−20 %"],
  ]);
  const said = description.headlines?.(context).map((one) => one.sentence) ?? [];
  expect(said[0]).toBe(
    "50 households played; 1 of 2 changes is within the published range. The result holds for its inputs.",
  );
  expect(said[1]).toMatch(/^1 session did not end/);
});
