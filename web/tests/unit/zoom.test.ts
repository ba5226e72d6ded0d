import { expect, test } from "vitest";
import { pinched } from "../../src/charts/zoom";

test("two fingers keep the times that they were put on", () => {
  // 1 s per pixel at first: fingers on 40 s and 60 s of a plot that begins at pixel 100.
  const one = { x: 140, time: 40 };
  const two = { x: 160, time: 60 };
  expect(pinched(one, two, 100, 200)).toEqual([0, 100]);
  // Apart to 80 pixels: a quarter of a second per pixel.
  expect(pinched({ ...one, x: 110 }, { ...two, x: 190 }, 100, 200)).toEqual([37.5, 62.5]);
  // Moved together: the same length, earlier.
  expect(pinched({ ...one, x: 150 }, { ...two, x: 170 }, 100, 200)).toEqual([-10, 90]);
});

test("fingers that meet or cross say nothing", () => {
  expect(pinched({ x: 150, time: 40 }, { x: 150, time: 60 }, 100, 200)).toBeNull();
  expect(pinched({ x: 160, time: 40 }, { x: 150, time: 60 }, 100, 200)).toBeNull();
});
