import { expect, test } from "vitest";
import { BadDocument, check } from "../../src/data/document";
import { askedRate, flatten, interpolate, loss } from "../../src/data/facts";
import { Table } from "../../src/data/table";
import { tail } from "../../src/drawings/rtt";
import { contextOf, timeViewOf } from "../../src/kinds/describe";
// @ts-expect-error: a script of its own, without types
import { clockStepRun, document, outageRun, rttRun } from "../fixtures.mjs";

test("quantiles between two shares are interpolated, outside there are none", () => {
  expect(interpolate([0, 0.5, 1], [10, 20, 40], 0.5)).toBe(20);
  expect(interpolate([0, 0.5, 1], [10, 20, 40], 0.75)).toBe(30);
  expect(interpolate([0.5, 1], [20, 40], 0.4)).toBe(null);
  expect(interpolate([0.5, 0.9], [20, 40], 0.99)).toBe(null);
  expect(interpolate([], [], 0.5)).toBe(null);
  expect(interpolate([0, null, 1], [1, 5, 3], 0.5)).toBe(2);
});

test("the tail leaves out the last share, which a logarithm has no place for", () => {
  const run = rttRun(1);
  const { x, y } = tail(Table.of(run, "rtt_distribution"));
  expect(x.length).toBe(14);
  expect(Math.min(...y)).toBeCloseTo(1e-4, 10);
});

test("rows that a clock set back are brought into order, and are in view", () => {
  const run = clockStepRun();
  const table = Table.of(run, "rtt_seconds");
  const at = table.sortedBy("at_ns").numbers("at_ns") as number[];
  expect(at).toEqual([...at].sort((a, b) => a - b));
  expect(at[0]).toBeLessThan(0);
  expect(timeViewOf(run).start).toBe(at[0]);
});

test("loss comes from the summary, and without one from the seconds", () => {
  const run = outageRun(1);
  const whole = loss(run, "forward")!;
  expect(whole.interval).toHaveLength(2);
  run.summary = null;
  const summed = loss(run, "forward")!;
  expect(summed.lost).toBe(whole.lost);
  expect(summed.interval).toBe(null);
  expect(loss(run, "reverse")).toBe(null);
});

test("the rate asked for is known from the format before there is a summary", () => {
  const run = outageRun(1);
  expect(askedRate(run)).toBe(2.5e9);
  run.summary = null;
  expect(askedRate(run)).toBeCloseTo((5_213_542 * 8 * 60000) / 1001, 3);
});

test("a document of a newer version is refused with words", () => {
  expect(() => check({ ...document(), version: 2, weir_version: "9.9" })).toThrow(/version 2.*Weir 9\.9.*up to 1/);
  expect(() => check({})).toThrow(BadDocument);
  expect(() => check(null)).toThrow(BadDocument);
  const uneven = document(rttRun(1));
  uneven.runs[0].series.rtt_seconds.columns.at_ns.values.pop();
  expect(() => check(uneven)).toThrow(/different lengths/);
});

test("nested parameters become rows", () => {
  expect(flatten({ a: { b: [1, 2], c: [{ d: null }] } })).toEqual([
    { name: "a.b", value: "1, 2" },
    { name: "a.c[0].d", value: null },
  ]);
  expect(flatten("mtu")).toEqual([{ name: "", value: "mtu" }]);
});

test("a context has the parts of its run", () => {
  const [one, part] = [outageRun(1), outageRun(2, { parent: 1 })];
  expect(contextOf(one, [one, part]).parts).toEqual([part]);
});
