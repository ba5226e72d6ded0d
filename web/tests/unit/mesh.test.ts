import { expect, test } from "vitest";
import { classesOf, classOf } from "../../src/charts/classes";
import { greatCircle } from "../../src/charts/great-circle";
import { FIBRE_MS, meshOf } from "../../src/data/mesh";
import { rttOverDistance } from "../../src/drawings/mesh-distance";
import { mathisRate, windowRate } from "../../src/drawings/mesh-throughput";
import { contextOf } from "../../src/kinds/describe";
// @ts-expect-error: a script of its own, without types
import { distance, meshRun } from "../mesh-fixtures.mjs";

test("light in fibre takes 10.0 ms for 1,000 km and back", () => {
  expect(FIBRE_MS).toBeCloseTo(10.007, 3);
});

test("a window of 64 KiB at 80 ms carries 6.55 Mbit/s, and Mathis's formula gives its authors' numbers", () => {
  expect(windowRate(64 * 1024, 80e6)).toBeCloseTo(6.5536e6, -1);
  // 1,448 bytes * sqrt(3/2) / (0.1 s * sqrt(0.0001)) = 1,773,430 bytes a second.
  expect(mathisRate(1e-4, 100e6)).toBeCloseTo(1_773_430.5 * 8, -3);
});

test("classes have round bounds, none of them leaves a value out, and each has about as many", () => {
  const values = Array.from({ length: 700 }, (_, i) => 1.234 * (i + 1));
  const classes = classesOf(values, String);
  expect(classes).toHaveLength(7);
  const counts = classes.map(() => 0);
  for (const value of values) {
    const found = classOf(classes, value);
    counts[found]!++;
    expect(value).toBeLessThanOrEqual(classes[found]!.most);
  }
  for (const count of counts) expect(Math.abs(count - 100)).toBeLessThan(12);
  expect(new Set(classes.map((one) => one.colour)).size).toBe(7);
  expect(classesOf([5, 5, 5], String)).toHaveLength(1);
  expect(classesOf([0], String)).toEqual([]);
});

test("a great circle is as long as the distance between its ends, and goes the short way", () => {
  const near = { latitude: 51.5, longitude: -0.1 };
  for (const far of [
    { latitude: 40.7, longitude: -74 },
    { latitude: 35.7, longitude: 139.7 },
    { latitude: -33.9, longitude: 151.2 },
  ]) {
    const points = greatCircle(near, far).map(([latitude, longitude]) => ({ latitude, longitude }));
    const length = points.slice(1).reduce((sum, point, i) => sum + distance(points[i], point), 0);
    expect(length / distance(near, far)).toBeCloseTo(1, 4);
    expect(points[points.length - 1]!.longitude).toBeCloseTo(far.longitude, 6);
  }
  expect(greatCircle(near, near)).toHaveLength(2);
});

test("pairs are by place, failures apart, and the fit is drawn as it came", () => {
  const run = meshRun(1, 6);
  const mesh = meshOf(run);
  expect(mesh.tests.length).toBe(29);
  expect(mesh.failures).toHaveLength(1);
  expect(mesh.pairs.size).toBe(29);
  expect(mesh.windows.map((window) => window.isCloud)).toEqual([true, false]);
  const spec = rttOverDistance(contextOf(run, [run]));
  if (!spec || !("type" in spec) || spec.type !== "scatter") throw new Error("no scatter chart");
  expect(spec.groups.reduce((sum, group) => sum + group.points.length, 0)).toBe(29);
  const fit = spec.curves.find((curve) => curve.name === "fit");
  for (const [km, ms] of fit?.points ?? []) expect(ms).toBeCloseTo(2 + (15 * km) / 1000, 6);
  expect(fit?.points.at(-1)?.[0]).toBe(Math.max(...spec.xs));
});
