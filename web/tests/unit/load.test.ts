import { expect, test } from "vitest";
import type { XYSpec } from "../../src/charts/model";
import type { Run } from "../../src/data/document";
import { kinds, loadFailures, loadStalls, loadTimes, perSecond, total } from "../../src/drawings/load";
import { viewerBitrate, viewerStalls, viewerStartup } from "../../src/drawings/viewers";
import { contextOf } from "../../src/kinds/describe";
import { descriptionOf } from "../../src/kinds/registry";
// @ts-expect-error: a script of its own, without types
import { distributions, loadRun, run, series } from "../fixtures.mjs";

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
