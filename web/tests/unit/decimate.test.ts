import { expect, test } from "vitest";
import { decimate, decimateBand, lowerBound, nearest, visible } from "../../src/charts/decimate";

const day = 86_400;
const x = Array.from({ length: day }, (_, i) => i * 1e9);
const pixel = (from: number, to: number, width: number) => (at: number) => ((at - from) / (to - from)) * width;

test("one bad second in a day stays, at its full height", () => {
  const y = x.map(() => 1);
  y[61_200] = 2100;
  y[200] = 0;
  const kept = decimate(x, y, [0, day], pixel(0, day * 1e9, 900), 900);
  expect(kept).toContain(61_200);
  expect(kept).toContain(200);
  expect(kept.length).toBeLessThanOrEqual(900 * 5 + 5);
  expect(kept[0]).toBe(0);
  expect(kept[kept.length - 1]).toBe(day - 1);
});

test("the smallest and the largest of every pixel column stay", () => {
  const y = x.map((_, i) => (Math.sin(i * 12.9898) * 43758.5453) % 1);
  const place = pixel(0, day * 1e9, 300);
  const kept = new Set(decimate(x, y, [0, day], place, 300));
  for (const column of [0, 17, 299]) {
    const rows = x.map((_, i) => i).filter((i) => Math.floor(place(x[i]!)) === column);
    expect(kept.has(rows.reduce((a, b) => (y[b]! < y[a]! ? b : a)))).toBe(true);
    expect(kept.has(rows.reduce((a, b) => (y[b]! > y[a]! ? b : a)))).toBe(true);
  }
});

test("all rows are drawn when there is room, and after zooming in", () => {
  const y = x.map((_, i) => i);
  const range = visible(x, 1000e9, 1100e9);
  const kept = decimate(x, y, range, pixel(1000e9, 1100e9, 900), 900);
  expect(kept.length).toBe(range[1] - range[0]);
  expect(x[kept[0]!]).toBe(999e9);
});

test("a gap stays a gap", () => {
  const y: (number | null)[] = x.map(() => 5);
  y[50_000] = null;
  const kept = decimate(x, y, [0, day], pixel(0, day * 1e9, 400), 400);
  expect(kept).toContain(50_000);
  expect(kept).toEqual([...kept].sort((a, b) => a - b));
});

test("a band keeps the lowest low and the highest high", () => {
  const lo = x.map(() => 10);
  const hi = x.map(() => 20);
  lo[43_200] = 1;
  hi[43_210] = 99;
  const band = decimateBand(x, lo, hi, [0, day], pixel(0, day * 1e9, 500), 500);
  expect(band.x.length).toBeLessThanOrEqual(501);
  expect(Math.min(...(band.lo as number[]))).toBe(1);
  expect(Math.max(...(band.hi as number[]))).toBe(99);
});

test("positions in a list", () => {
  expect(lowerBound([1, 2, 4], 3)).toBe(2);
  expect(nearest([1, 2, 4], 3.5)).toBe(2);
  expect(nearest([1, 2, 4], 99)).toBe(2);
  expect(nearest([1, 2, 4], -99)).toBe(0);
  expect(visible([], 0, 1)).toEqual([0, 0]);
});
