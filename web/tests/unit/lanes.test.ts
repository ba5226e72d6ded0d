import { expect, test } from "vitest";
import { gather } from "../../src/charts/gather";
import { TimeView } from "../../src/charts/view";
import { flowLanes, lanesOf } from "../../src/drawings/lanes";
import { contextOf } from "../../src/kinds/describe";
// @ts-expect-error: a script of its own, without types
import { emptyRun, outageRun } from "../fixtures.mjs";

test("an outage is named by its flow, length and time, and marked in its lane", () => {
  const run = outageRun(1);
  const { lanes, title } = lanesOf(contextOf(run, [run]), "forward");
  expect(lanes).toHaveLength(8);
  expect(title).toMatch(/^Flow 3 was dark for 700 ms at \d\d:\d\d:\d\d$/);
  expect(lanes[3]!.marks.silence).toEqual({ at: [12.4e9], duration: [7e8], value: [7e8] });
  expect(lanes[0]!.marks.silence.at).toEqual([]);
  expect(lanes[5]!.marks.loss.value.every((value) => value === 2)).toBe(true);
  expect(lanes[1]!.marks.reversal.at.length).toBeGreaterThan(0);
  expect(lanes[6]!.marks.drop.value).toEqual([4]);
});

test("without loss the title says so; all flows dark is named as such", () => {
  const run = outageRun(1);
  const silences = run.series.silences.columns;
  for (let flow = 0; flow < 8; flow++) {
    if (flow === 3) continue;
    silences.direction.values.push("forward");
    silences.flow.values.push(flow);
    silences.at_ns.values.push(12.4e9);
    silences.duration_ns.values.push(7e8);
  }
  expect(lanesOf(contextOf(run, [run]), "forward").title).toMatch(/^All 8 flows were dark for 700 ms/);
  delete run.series.silences;
  run.series.flow_totals.columns.lost.values.fill(0);
  run.series.flow_totals.columns.reversals.values.fill(0);
  expect(lanesOf(contextOf(run, [run]), "forward").title).toBe("All 8 flows: no loss, no silence");
});

test("nothing received is an honest empty chart", () => {
  const run = emptyRun();
  const spec = flowLanes("forward")(contextOf(run, [run]));
  expect(spec && "empty" in spec ? spec.empty : null).toMatch(/^No packets were received/);
});

test("marks in one pixel are taken together, none is lost", () => {
  const at = Array.from({ length: 10_000 }, (_, i) => i);
  const marks = { at, duration: at.map(() => 1), value: at.map((i) => (i === 7777 ? 500 : 1)) };
  const all = gather(marks, 0, 10_000, (t) => t / 20, 1);
  expect(all.length).toBeLessThanOrEqual(501);
  expect(all.reduce((sum, one) => sum + one.sum, 0)).toBe(10_499);
  expect(Math.max(...all.map((one) => one.most))).toBe(500);
  expect(all.reduce((sum, one) => sum + one.marks, 0)).toBe(10_000);
});

test("a long silence that began before the part shown reaches into it", () => {
  const all = gather({ at: [0], duration: [1000], value: [1000] }, 500, 600, (t) => t - 500, 1);
  expect(all).toHaveLength(1);
  expect(all[0]!.left).toBe(0);
  expect(all[0]!.right).toBe(100);
});

test("a view zooms from a day to a second about a point, and not beyond its ends", () => {
  const view = new TimeView(0, 86_400e9);
  for (let i = 0; i < 60; i++) view.zoom(2, 61_200e9);
  expect(view.span).toBe(1e9);
  expect(view.from).toBeLessThanOrEqual(61_200e9);
  expect(view.to).toBeGreaterThanOrEqual(61_200e9);
  view.pan(-1e9);
  expect(view.from).toBe(0);
  view.reset();
  expect(view.whole).toBe(true);
  view.set(-5e9, 10e9);
  expect(view.from).toBe(0);
});
