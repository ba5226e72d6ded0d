import { expect, test } from "vitest";
import { bytes, count, digits, duration, inUnit, nanoseconds, percent, plural, rate, words } from "../../src/format";

test("digits", () => {
  expect(digits(0)).toBe("0");
  expect(digits(1234567, 3)).toBe("1,234,567");
  expect(digits(0.0012345)).toBe("0.00123");
  expect(digits(-2.5)).toBe("−2.5");
  expect(digits(Number.NaN)).toBe("–");
});

test("times", () => {
  expect(nanoseconds(133_000)).toBe("133 µs");
  expect(nanoseconds(1_040_000)).toBe("1.04 ms");
  expect(nanoseconds(999_900)).toBe("1 ms");
  expect(nanoseconds(2.5e9)).toBe("2.5 s");
  expect(nanoseconds(-5_350)).toBe("−5.35 µs");
  expect(nanoseconds(133_128, 7)).toBe("133.128 µs");
  expect(nanoseconds(null)).toBe("–");
  expect(duration(86_400e9)).toBe("1 d");
  expect(duration(90e9)).toBe("1 min 30 s");
  expect(duration(12.5e9)).toBe("12.5 s");
  expect(duration(3_725e9)).toBe("1 h 2 min");
});

test("rates, bytes, shares", () => {
  expect(rate(2_485_700_000)).toBe("2.486 Gbit/s");
  expect(rate(0)).toBe("0 bit/s");
  expect(bytes(8100)).toBe("8,100 B");
  expect(bytes(41_000_000)).toBe("41 MB");
  expect(percent(0.00036601, 5)).toBe("0.036601 %");
  expect(percent(0.00000002, 3)).toBe("0.000002 %");
  expect(percent(2.1e-10)).toBe("2.1e−8 %");
  expect(percent(0)).toBe("0 %");
  expect(percent(null)).toBe("–");
});

test("values of evidence", () => {
  expect(inUnit(700_000_000, "ns")).toBe("700 ms");
  expect(inUnit([1, 2], null)).toBe("1, 2");
  expect(inUnit(true, null)).toBe("yes");
  expect(inUnit(0.00013084945, null)).toBe("0.0001308");
  expect(inUnit(3, "cores")).toBe("3 cores");
  expect(count(null)).toBe("–");
  expect(plural(1, "packet")).toBe("1 packet");
  expect(plural(2100, "packet")).toBe("2,100 packets");
  expect(words("cpu_busy_cores")).toBe("CPU busy");
});
