import { expect, test } from "vitest";
import type { XYSpec } from "../../src/charts/model";
import type { Run } from "../../src/data/document";
import { groups, queueOf, rttOf, tailOf, throughputOf, trials } from "../../src/data/pacing";
import { besidePaper, inItsUnit, paperChanges } from "../../src/drawings/pacing-figures";
import { neighbourDistributions, pooled, trialsOverTime } from "../../src/drawings/pacing-trials";
import { type Choice, contextOf } from "../../src/kinds/describe";
import { descriptionOf } from "../../src/kinds/registry";
// @ts-expect-error: a script of its own, without types
import { evilPacingRun, pacingRun, run } from "../fixtures.mjs";

const context = (one: Run) => contextOf(one, [one]);

const reading = (unix_ns: number, remote_port: number, acked_bytes: number, rtt_ns = 20) => ({
  unix_ns,
  remote_port,
  rtt_ns,
  acked_bytes,
});

const trialOf = (connection: unknown[], queue: unknown[] = []) =>
  trials(
    run(1, "pacing", { summary: { trials: [{ started_unix_ns: 100, duration_ns: 100, connection, queue }] } }),
  )[0]!;

test("throughput and RTT are those of what was confirmed while it counted", () => {
  const one = trialOf([
    reading(90, 1, 1000, 99),
    reading(110, 1, 3000, 20),
    reading(120, 1, 3000, 30),
    // The player has made a new connection, and the old one lingers.
    reading(130, 1, 3000, 40),
    reading(130, 2, 500, 50),
    reading(140, 1, 3000, 60),
    reading(140, 2, 1500, 70),
    reading(210, 2, 9000, 99),
  ]);
  // 2,000 bytes in 20 ns, nothing, nothing, 1,000 bytes in 10 ns.
  expect(throughputOf(one).map((point) => [point.at, point.value])).toEqual([
    [10, 8e11],
    [20, 0],
    [30, 0],
    [40, 8e11],
  ]);
  expect(rttOf(one).map((point) => point.value)).toEqual([20, 30, 40, 70]);
});

test("seconds of the queue outside of what counts are left out", () => {
  const second = (unix_ns: number, mean_bytes: number) => ({ unix_ns, mean_bytes, dropped: 0 });
  const one = trialOf([], [second(99, 1), second(100, 2), second(200, 3), second(201, 4)]);
  expect(queueOf(one)).toEqual([
    { at: 0, value: 2 },
    { at: 100, value: 3 },
  ]);
});

const counted = (edges: number[], counts: number[], below = 0, above = 0) => ({
  neighbour: "voip",
  of: "owd",
  p50: edges[1] ?? null,
  p95: null,
  edges,
  counts,
  below,
  above,
});

test("a tail tells the share at or above each edge, from the last that all reach", () => {
  expect(tailOf(counted([0, 1, 2, 3], [0, 3, 1]))).toEqual({ x: [1, 2], y: [1, 0.25] });
  // Half of them lie outside of the edges, on either side.
  expect(tailOf(counted([0, 1, 2], [2, 0], 1, 1))).toEqual({ x: [0, 1, 2], y: [0.75, 0.25, 0.25] });
  expect(tailOf(counted([0, 1, 2], [0, 0]))).toEqual({ x: [], y: [] });
  expect(tailOf(counted([0, 1], [0], 0, 5))).toEqual({ x: [1], y: [1] });
});

test("counts of several trials are added up where they have the same edges", () => {
  const sum = pooled([counted([0, 1, 2], [1, 2]), counted([0, 1, 2], [3, 4], 5, 6), counted([0, 9], [100])])!;
  expect([sum.counts, sum.below, sum.above, sum.p50]).toEqual([[4, 6], 5, 6, 1]);
  expect(pooled([])).toBeNull();
});

test("figures are written in the units that their names tell", () => {
  for (const [figure, value, text] of [
    ["voip.owd.p95", 48.25e6, "48.3 ms"],
    ["voip.jitter_mean_ns", 250_000, "250 µs"],
    ["voip.loss", 0.0125, "1.25 %"],
    ["game.late_share", 0.05, "5 %"],
    ["game.completion.count", 1440, "1,440"],
    ["media.throughput", 9.55e6, "9.55 Mbit/s"],
    ["queue.mean_bytes", 20_480.4, "20.5 kB"],
    ["queue.mean_bytes", 327.34, "327 B"],
    ["voip.voice.mos", 4.358, "4.36"],
    ["media.stalls", 0, "0"],
    ["rtt", 3, "3"],
  ] as const)
    expect(inItsUnit(figure, value), figure).toBe(text);
});

test("groups keep the scenario's order of variants, whichever was measured first", () => {
  const one: Run = pacingRun(1, { others: ["paced", "smoother"] });
  const { trials: all } = one.summary as { trials: unknown[] };
  all.reverse();
  expect(groups(one).map((group) => [group.case, group.congestion, group.variants])).toEqual([
    ["call", "reno", ["unpaced", "paced", "smoother"]],
    ["call", "cubic", ["unpaced", "paced", "smoother"]],
  ]);
});

test("the first repeat of each variant is laid over the others, from the beginning of each", () => {
  const one: Run = pacingRun();
  const { options } = trialsOverTime(context(one)) as Choice;
  expect(options.map((option) => option.name)).toEqual(["call, cubic", "call, reno"]);
  const [throughput, rtt, queue] = options[1]!.charts() as XYSpec[];
  for (const chart of [throughput!, rtt!, queue!]) {
    expect(chart.layers.map((layer) => layer.name)).toEqual(["unpaced", "paced"]);
    expect(chart.note).toMatch(/^Repeat 1 of each variant, call, reno\./);
    expect(chart.layers.every((layer) => layer.x[0]! >= 0 && layer.x.at(-1)! <= 4e9)).toBe(true);
  }
  expect(throughput!.title).toBe("While data flowed, the stream's rate was 9.6 Mbit/s unpaced, 8.8 Mbit/s paced");
  expect(rtt!.layers[1]!.y.every((value) => value === 21e6)).toBe(true);
});

test("alone is the base of a distribution, and is marked", () => {
  const [chart] = neighbourDistributions(context(pacingRun())) as XYSpec[];
  expect(chart!.layers.map((layer) => layer.name)).toEqual(["alone (the base)", "unpaced", "paced"]);
  expect(chart!.rules).toHaveLength(1);
  expect(chart!.rules![0]!.value).toBeGreaterThan(10.3e6);
  expect(chart!.rules![0]!.value).toBeLessThan(10.7e6);
  expect(chart!.x.kind).toBe("linear");
  expect(chart!.title).toMatch(
    /^95 of 100 packets of voip within 10\.\d ms alone, \d\d\.?\d? ms unpaced, 10\.\d ms paced$/,
  );
});

test("a paper's figures stand beside ours, which are shares of the first variant's median", () => {
  expect(paperChanges(context(pacingRun()))).toBeNull();
  const chart = paperChanges(context(pacingRun(2, { paper: true }))) as XYSpec;
  expect(chart.title).toBe("4 of 4 figures changed in the paper's direction");
  expect(chart.layers[1]!.y).toEqual([-0.51, -0.53, -0.51, -0.53]);
  const row = {
    case: "tcp",
    congestion: "reno",
    figure: "bulk.rate",
    alone: null,
    variants: [{ name: "unpaced", median: 20e6 }],
    changes: [{ variant: "paced", difference: 5e6, relative: 0.25, interval: [4e6, 6e6], asExpected: true }],
    expected: "higher",
    paperPercent: 28.5,
  };
  expect(besidePaper([{ ...row, changes: [{ ...row.changes[0]!, interval: [4e6, 6e6] }] }])).toEqual([
    { name: "tcp, reno: bulk.rate", there: 0.285, here: 0.25, low: 0.2, high: 0.3 },
  ]);
});

test("what was expected and not seen is said, and an unfinished run has a page", () => {
  const said = (one: Run) => descriptionOf(context(one)).headlines!(context(one));
  const good = said(pacingRun());
  expect(good.map((one) => one.severity)).toEqual(["information", "information"]);
  expect(good[0]!.sentence).toBe(
    "Scenario keynote-voip was measured in 18 trials; 1 trial more was unfit and repeated.",
  );
  expect(good[1]!.sentence).toMatch(/^All 4 changes that the scenario expects occurred/);
  const bad = said(evilPacingRun());
  expect(bad.map((one) => one.severity)).toEqual(["information", "notice"]);
  expect(bad[1]!.sentence).toMatch(/, reno: voip\.owd\.p95 was expected to be lower with /);

  const now: Run = run(1, "pacing", { outcome: "running" });
  expect(said(now).map((one) => one.severity)).toEqual(["information"]);
  const nothing: Run = run(1, "pacing", {});
  const description = descriptionOf(context(nothing));
  expect(description.name).toBe("Pacing");
  expect(said(nothing)).toEqual([{ severity: "fault", sentence: "no trial was completed." }]);
  for (const section of description.sections)
    for (const drawing of section.drawings) expect(drawing(context(nothing)) ?? []).toEqual([]);
});
