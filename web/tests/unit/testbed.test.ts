import { expect, test } from "vitest";
import type { BarsSpec, XYSpec } from "../../src/charts/model";
import { busyCores, limits, responseTimes } from "../../src/drawings/testbed";
import { contextOf } from "../../src/kinds/describe";
import { descriptionOf } from "../../src/kinds/registry";
// @ts-expect-error: a script of its own, without types
import { run } from "../fixtures.mjs";

const task = (name: string, more: object) => ({
  task: name,
  function: name,
  state: "idle",
  cores: [0],
  own_cores: true,
  busy_cores: 0.2,
  peak_busy_cores: 0.3,
  limit: false,
  ...more,
});

const made = (origin: object) => {
  const one = run(1, "testbed", {
    summary: {
      viewers_bps: 2.9e8,
      storage_bps: 1e9,
      efficiency: 0.29,
      duration_ns: 6e10,
      tasks: [task("storage", { own_cores: false, peak_busy_cores: 1 }), task("origin", origin)],
    },
  });
  return contextOf(one, [one]);
};

test("only a task that used all of its own CPU time is the limit", () => {
  const idle = made({});
  expect(limits(idle.run)).toEqual([]);
  expect(descriptionOf(idle).headlines?.(idle)[0]?.sentence).toMatch(/^No task used all of its own CPU time/);
  const busy = made({ peak_busy_cores: 0.95, limit: true });
  const chart = busyCores(busy) as BarsSpec;
  expect(chart.title).toBe("origin used all of its own CPU time: the limit");
  expect(chart.bars.map((bar) => [bar.name, bar.value])).toEqual([
    ["storage", 1],
    ["origin", 0.95],
  ]);
  expect(
    descriptionOf(busy)
      .headlines?.(busy)
      .map((one) => one.sentence),
  ).toEqual(["origin was the limit: it used all of its own CPU time."]);
});

test("the head has both rates and their ratio, and a task in error is a fault", () => {
  const context = made({ state: "in-error" });
  const description = descriptionOf(context);
  expect(description.figures(context).map((one) => one.value)).toEqual(["290 Mbit/s", "1 Gbit/s", "0.29", "60 s"]);
  expect(description.headlines?.(context)[0]).toEqual({
    severity: "fault",
    sentence: "The task origin ended in error.",
  });
});

test("response times are drawn over viewers, and nothing where no sink stored them", () => {
  expect(responseTimes(made({}))).toBeNull();
  const responses = [
    { viewers: 5, requests: 100, mean_ns: 4e6 },
    { viewers: 50, requests: 900, mean_ns: 6e7 },
  ];
  const chart = responseTimes(made({ responses })) as XYSpec;
  expect(chart.title).toBe("With 50 viewers a response took 60 ms on average");
  expect(chart.layers.map((layer) => [layer.name, layer.x, layer.y])).toEqual([["origin", [5, 50], [4e6, 6e7]]]);
});
