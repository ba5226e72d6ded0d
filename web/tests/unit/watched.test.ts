import { expect, test } from "vitest";
import type { XYSpec } from "../../src/charts/model";
import { hashOf, routeOf } from "../../src/data/watch-route";
import { type PairHistory, seriesOfPair } from "../../src/data/watched";
import {
  alarmLanes,
  comparisonRows,
  contextOfPair,
  hoursOfDay,
  pairsOf,
  rttOfPair,
  trendText,
  watchMatrix,
} from "../../src/drawings/watched";
import { contextOf } from "../../src/kinds/describe";
import { descriptionOf } from "../../src/kinds/registry";
// @ts-expect-error: a script of its own, without types
import { run, series } from "../fixtures.mjs";

const HOUR = 3600e9;
const history = series(
  [
    "pair",
    "at_ns",
    "duration_ns",
    "sent",
    "lost",
    "rtt_min_ns",
    "rtt_p50_ns",
    "rtt_p90_ns",
    "rtt_p99_ns",
    "rtt_max_ns",
  ],
  ["lon..ams", "lon..par"].flatMap((pair, place) =>
    [0, 1, 2].map((hour) => [pair, hour * HOUR, HOUR, 100, place * hour, 9e6, 10e6 * (place + 1), 12e6, 13e6, 14e6]),
  ),
  { bin_ns: HOUR },
);
const changes = series(
  ["pair", "metric", "at_ns", "found_ns", "before", "after", "low", "high", "sentence"],
  [["lon..par", "p50", HOUR, HOUR + 4e11, 20e6, 22e6, 21.9e6, 22.1e6, "lon to par: P50 of the RTT changed"]],
);
const alarms = series(
  ["pair", "at_ns", "event", "state", "subject", "run_id", "detail"],
  [
    ["lon..par", 0.5 * HOUR, "unreachable", "cleared", "", 1, "answered again"],
    ["lon..par", 1 * HOUR, "flow_dark", "raised", "forward port 5002", 7, "was dark"],
    ["lon..par", 2 * HOUR, "unreachable", "raised", "", 1, "not answered"],
  ],
);
const made = run(4, "watch", {
  seconds: 3 * 3600,
  parameters: { here: "lon" },
  series: { watch_history: history, watch_changes: changes, watch_alarms: alarms },
});
const context = contextOf(made, [made]);

test("each path is drawn by its own rows, with its changes as marks", () => {
  expect(pairsOf(made)).toEqual(["lon..ams", "lon..par"]);
  expect(seriesOfPair(made.series, "lon..ams")).not.toHaveProperty("watch_changes");
  const chart = rttOfPair(contextOfPair(context, "lon..par")) as XYSpec;
  expect(chart.layers.find((layer) => layer.name === "P50")?.y).toEqual([20e6, 20e6, 20e6]);
  const mark = chart.layers.find((layer) => layer.kind === "points");
  expect([mark?.x, mark?.y, mark?.lo, mark?.hi]).toEqual([[HOUR], [22e6], [21.9e6], [22.1e6]]);
  expect(rttOfPair(contextOfPair(context, "lon..ams")).layers.some((layer) => layer.kind === "points")).toBe(false);
});

test("alarms are lanes from when they were raised, or from the start, until they were cleared, or to the end", () => {
  const lanes = alarmLanes(contextOfPair(context, "lon..par").run, 0, 3 * HOUR);
  const stood = (name: string, state: string) => {
    const marks = lanes.find((lane) => lane.name === name)?.states[state];
    return marks?.at.map((at, i) => [at / HOUR, marks.duration[i]! / HOUR]);
  };
  expect(stood("unreachable", "unreachable")).toEqual([
    [0, 0.5],
    [2, 1],
  ]);
  expect(stood("unreachable", "quiet")).toEqual([[0.5, 1.5]]);
  expect(stood("flow dark: forward port 5002", "flow_dark")).toEqual([[1, 2]]);
});

test("the head of a watcher's run has packets, loss and the last change", () => {
  const description = descriptionOf(context);
  expect(description.figures(context).map((one) => one.value)).toEqual(["2", "600", "0.5 %", "1"]);
  expect(description.headlines?.(context)[0]?.sentence).toBe(
    "1 change found; the last: lon to par: P50 of the RTT changed.",
  );
});

const pair = (from: string, to: string, more: Partial<PairHistory> = {}): PairHistory => ({
  from,
  to,
  measured_s: 600,
  sent: 100,
  lost: 0,
  p50_ns: 10e6,
  p90_ns: 12e6,
  p99_ns: 13e6,
  changes: [],
  placements: [],
  trends: [],
  time_of_day: [],
  rates: [],
  ...more,
});

test("the matrix has zones next to each other, and pairs without an answer are said", () => {
  const paths = [
    { from: "lon", to: "ams", from_zone: "west", to_zone: "east" },
    { from: "lon", to: "cdg", from_zone: "west", to_zone: "west" },
  ];
  const chart = watchMatrix(paths, [pair("lon", "ams"), pair("lon", "cdg", { p50_ns: null, lost: 100 })], "p50");
  expect(chart.places.map((place) => place.name)).toEqual(["ams", "cdg", "lon"]);
  expect(chart.values).toEqual([null, null, null, null, null, null, 10e6, null, null]);
  expect(chart.title).toBe("P50 of the RTT of 1 pair; 1 pair answered nothing");
  expect(chart.tell(0, 1)).toEqual([{ name: "not measured", text: "" }]);
  const loss = watchMatrix(paths, [pair("lon", "ams"), pair("lon", "cdg", { lost: 100 })], "loss");
  expect(loss.classes[0]).toMatchObject({ most: 0, text: "none" });
});

test("an address says all that is shown, and names are what they are", () => {
  const hash = "#/watch/pair/lon%2F1/a%20b?over=604800&until=2026-03-01T10:00:00Z&beside=2026-02-01T10:00:00Z";
  const route = routeOf(hash);
  expect(route).toMatchObject({ view: "pair", from: "lon/1", to: "a b", over: 604_800, until: 1_772_359_200 });
  expect(hashOf(route)).toBe(hash);
  expect(routeOf("#/watch")).toMatchObject({ view: "all", over: 600, until: null, beside: null, metric: "p50" });
  expect(routeOf("#/watch/host/lon?over=nonsense&until=never")).toMatchObject({
    view: "host",
    over: 86_400,
    until: null,
  });
});

test("two spans are compared, and trends stand where they are certain", () => {
  const [now, before] = [pair("lon", "ams", { p50_ns: 11e6, lost: 2 }), pair("lon", "ams")];
  const rows = comparisonRows(now, before);
  expect(rows[0]).toEqual(["P50", "10 ms", "11 ms", "+10 %"]);
  expect(rows[3]).toEqual(["loss rate", "0 %", "2 %", "–"]);
  const trend = { metric: "p90", since_s: 0, until_s: 864_000, level: 10e6, per_day: 1e5, low: 5e4, high: 2e5 };
  expect(trendText(pair("lon", "ams", { trends: [trend] }), "p90")).toBe("+10 % in 10 d");
  expect(trendText(pair("lon", "ams", { trends: [{ ...trend, low: -1 }] }), "p90")).toBe("–");
});

test("the hours of a day are beside the median of the day", () => {
  const hours = [3, 20].map((hour) => ({ hour, days: 14, median: hour === 20 ? 1.1 : 0.98, low: 0.9, high: 1.2 }));
  const found = {
    metric: "p90",
    days: 14,
    hours,
    highest: 20,
    lowest: 3,
    swing: 0.122,
    p_value: 0.001,
    is_pattern: true,
  };
  expect(hoursOfDay([found])?.title).toBe("P90 is 12.2 % higher at 20 h than at 03 h (UTC)");
  expect(hoursOfDay([{ ...found, is_pattern: false }])?.title).toMatch(/^P90 does not vary/);
  expect(hoursOfDay([])).toBeNull();
});
