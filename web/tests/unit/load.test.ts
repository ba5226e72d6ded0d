import { expect, test } from "vitest";
import type { XYSpec } from "../../src/charts/model";
import type { Run } from "../../src/data/document";
import { byViewers, label, model, rampRequests, rampTimes, throughput } from "../../src/drawings/experiment";
import { kinds, loadFailures, loadStalls, loadTimes, perSecond, total } from "../../src/drawings/load";
import { viewerBitrate, viewerStalls, viewerStartup } from "../../src/drawings/viewers";
import { contextOf } from "../../src/kinds/describe";
import { descriptionOf } from "../../src/kinds/registry";
// @ts-expect-error: a script of its own, without types
import { distributions, experimentRuns, loadRun, run, series } from "../fixtures.mjs";

const context = (one: Run, all: Run[] = [one]) => contextOf(one, all);

test("seconds of a kind are given per second, whatever the bins", () => {
  const one: Run = run(1, "load", {
    series: {
      load_seconds: series(
        ["kind", "at_ns", "duration_ns", "requests", "failed"],
        [
          ["audio", 0, 5e9, 50, 0],
          ["audio", 5e9, 5e9, 100, 5],
          ["video", 0, 5e9, 500, 0],
        ],
        { bin_ns: 5e9 },
      ),
    },
  });
  expect(kinds(one).map((kind) => kind.name)).toEqual(["video", "audio"]);
  expect(perSecond(kinds(one)[1]!.table, "requests")).toEqual([10, 20]);
  expect(total(one, "requests")).toBe(650);
  const failures = loadFailures(context(one)) as XYSpec;
  expect(failures.title).toBe("5 requests failed");
  expect(failures.layers.map((layer) => layer.name)).toEqual(["audio"]);
});

test("a run without requests has a page, and says so", () => {
  const nothing: Run = run(1, "load", {});
  const description = descriptionOf(context(nothing));
  expect(description.name).toBe("Load on an origin");
  expect(description.headlines!(context(nothing))).toEqual([{ severity: "fault", sentence: "no requests were sent." }]);
  for (const section of description.sections)
    for (const drawing of section.drawings) expect(drawing(context(nothing))).toBeNull();
});

test("failures and a generator that was the limit are said", () => {
  const bad: Run = loadRun(1, { failing: 400 });
  (bad.summary as { generator_limited: boolean }).generator_limited = true;
  const said = descriptionOf(context(bad)).headlines!(context(bad));
  expect(said.map((one) => one.severity)).toEqual(["fault", "notice"]);
  expect(said[0]!.sentence).toMatch(/^1\.3\d % of the requests failed\.$/);
  expect((loadFailures(context(bad)) as XYSpec).title).toBe("400 requests failed: 400 http_5xx");
  expect((loadTimes(context(bad)) as XYSpec).title).toMatch(/P99 of manifest was/);
});

test("stalls are drawn where viewers play in real time", () => {
  expect(loadStalls(context(loadRun(1)))).toBeNull();
  expect((loadStalls(context(loadRun(1, { real: true }))) as XYSpec).title).toBe(
    "Viewers stalled 2 times, 0.25 % of the viewing time",
  );
});

test("values over a ramp are means over the seconds with so many viewers, of all repeats", () => {
  const of = (id: number, viewers: number[]): Run =>
    run(id, "load", {
      series: {
        viewer_seconds: series(
          ["at_ns", "duration_ns", "viewers"],
          viewers.map((count, t) => [t * 1e9, 1e9, count]),
        ),
      },
    });
  const value = (one: Run) =>
    new Map<number, number>(
      one.run_id === 1
        ? [
            [0, 10],
            [1, 20],
            [2, 30],
          ]
        : [
            [0, 100],
            [1, 200],
          ],
    );
  expect(byViewers([of(1, [1, 2, 2]), of(2, [1, 3])], value)).toEqual({ x: [1, 2, 3], y: [55, 25, 200] });
  expect(byViewers([of(1, [0, 0])], value)).toEqual({ x: [], y: [] });
});

test("an experiment is drawn from its groups, and its parts over the ramp", () => {
  const runs: Run[] = experimentRuns();
  const of = context(runs[0]!, runs);
  const times = rampTimes(of) as XYSpec[];
  expect(times.map((chart) => chart.id)).toEqual(["experiment-times-ramp"]);
  expect(times[0]!.title).toMatch(/^E responds fastest: median time of video segments [\d.]+ ms, mean over the ramp$/);
  expect(times[0]!.layers.map((layer) => layer.name)).toEqual(["A", "E"]);
  expect(times[0]!.layers[0]!.x).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
  const requests = rampRequests(of) as XYSpec[];
  // 250 + 250 + 3 (rounded) a second for A, twice as many for E.
  expect(requests[0]!.layers.map((layer) => layer.y[5])).toEqual([503, 1005]);
  const sent = throughput(of) as XYSpec[];
  expect(sent.map((chart) => chart.id)).toEqual(["experiment-throughput-model"]);
  expect(sent[0]!.title).toMatch(/^Throughput is highest with 8 s segments of 2 Mbit\/s: 1 Gbit\/s$/);
  const line = model(of) as XYSpec;
  expect(line.layers.map((layer) => layer.name)).toEqual(["the model", "2 s segments", "4 s segments", "8 s segments"]);
  expect(line.title).toMatch(/^OUT is 1\.001 × R × S × B, which explains 99\.93 % of its variation$/);
  const all = (runs[0]!.summary as { groups: Record<string, unknown>[] }).groups;
  expect(label(all[0]!, all.slice(0, 2))).toBe("A");
  expect(label(all[3]!, all.slice(2))).toBe("2 s segments, 2 Mbit/s");
});

test("an experiment that has no summary yet has figures and no charts", () => {
  const runs: Run[] = experimentRuns();
  const early = { ...runs[0]!, summary: null };
  const of = context(early, [early, ...runs.slice(1)]);
  const description = descriptionOf(of);
  expect(description.figures(of)).toEqual([{ name: "runs finished", value: "4", detail: "of 16" }]);
  for (const section of description.sections)
    for (const drawing of section.drawings) {
      const drawn = drawing(of);
      expect(Array.isArray(drawn) ? drawn : []).toEqual([]);
    }
});

test("distributions over sessions are drawn where a run has them, and stalls where somebody stalled", () => {
  const viewers = (more: object) => context(run(1, "load", { series: { viewer_distribution: distributions(more) } }));
  const whole = viewers({ startup: [5, 6, 7], rebuffer: [0, 0, 0.5], bitrate: [2e6, 2e6, 2e6] });
  const shown = [viewerStartup(whole), viewerStalls(whole), viewerBitrate(whole)] as XYSpec[];
  expect(shown.map((spec) => spec.title)).toEqual([
    "Start-up delay of sessions: P50 6 ns, P99 7 ns",
    "At least 50 % of the sessions never stalled; maximum stall share 50 %",
    "All sessions had 2 Mbit/s on average",
  ]);
  expect(shown[0]!.layers[0]!.y).toEqual([5, 5, 5, 6, 7, 7, 7, 7]);
  const calm = viewers({ startup: [1, 100], rebuffer: [0, 0] });
  expect(viewerStalls(calm)).toBeNull();
  expect(viewerBitrate(calm)).toBeNull();
  // Far apart: what is small is to be seen, too.
  expect((viewerStartup(calm) as XYSpec).y.kind).toBe("log");
  expect(viewerStartup(context(loadRun(1)))).toBeNull();
});
