import { expect, test } from "vitest";
import { atRandom } from "../../src/drawings/loss-windows";

const mean = (windows: number[]) => windows.reduce((sum, times, i) => sum + times * (i + 1), 0);

test("losses at random hit as many flows as counting all ways says", () => {
  // Three losses on four flows, all 64 ways counted by hand: 4 on one flow, 36 on two, 24 on three.
  expect(atRandom(new Map([[3, 64]]), 4)).toEqual([4, 36, 24, 0]);
  expect(atRandom(new Map([[1, 5]]), 3)).toEqual([5, 0, 0]);
  // The mean of any number of losses is N (1 - (1 - 1/N)^L).
  expect(mean(atRandom(new Map([[17, 1]]), 8))).toBeCloseTo(8 * (1 - (7 / 8) ** 17), 12);
});

test("windows of different losses add up", () => {
  const both = atRandom(
    new Map([
      [2, 7],
      [9, 3],
    ]),
    4,
  );
  const [two, nine] = [atRandom(new Map([[2, 7]]), 4), atRandom(new Map([[9, 3]]), 4)];
  for (const [i, times] of both.entries()) expect(times).toBeCloseTo(two[i]! + nine[i]!, 12);
  expect(atRandom(new Map(), 2)).toEqual([0, 0]);
});

test("very many losses hit all flows, and many flows with many losses are soon done", () => {
  expect(atRandom(new Map([[5_000_000, 2]]), 16)[15]).toBeCloseTo(2, 8);
  const many = new Map(Array.from({ length: 20_000 }, (_, i) => [i + 1, 1] as const));
  const windows = atRandom(many, 1024).reduce((sum, times) => sum + times, 0);
  expect(windows).toBeCloseTo(20_000, 4);
  // A walk for each of the losses would take minutes.
}, 60_000);
