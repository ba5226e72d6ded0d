// Reports of made-up load on an origin: charts, values, accessibility.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { axe, drawn, emptyCharts, marks, open, quiet, reportOf, shot, start, stop, title } from "./browser.mjs";
import { FIXTURES } from "./fixtures.mjs";

before(start);
after(stop);

const values = async (page, chart, layer) => (await marks(page, chart, layer)).map((one) => one.value);

const CHARTS = [
  "load-requests",
  "load-times",
  "load-rate",
  "load-failures",
  "load-distribution",
  "load-viewers",
  "load-stalls",
  "load-generator",
  "viewer-startup",
  "viewer-stalls",
  "viewer-bitrate",
];

test("a report of load has all its charts, none of them empty", async () => {
  const page = await open(reportOf("load", FIXTURES.load()));
  await drawn(page);
  const there = await page.$$eval("figure[data-chart]:not([data-empty])", (all) => all.map((one) => one.dataset.chart));
  assert.deepEqual(
    CHARTS.filter((chart) => !there.includes(chart)),
    [],
  );
  assert.deepEqual(await emptyCharts(page), []);
  for (const text of await page.$$eval("figure[data-chart] h4", (all) => all.map((one) => one.textContent)))
    assert.ok(text.length > 15 && !/undefined|NaN|null|–/.test(text), text);
  quiet(page);
  await shot(page, "load-light");
  assert.deepEqual(await axe(page), []);
  await page.context().close();
});

test("requests and viewers are those of the document, by kind", async () => {
  const document = FIXTURES.load();
  const page = await open(reportOf("load-values", document));
  await drawn(page);
  const { kind, requests, last_byte_p99_ns: times } = document.runs[0].series.load_seconds.columns;
  const of = (column, name) => column.values.filter((_, i) => kind.values[i] === name);
  for (const name of ["audio", "video", "manifest"]) {
    assert.deepEqual(await values(page, "load-requests", name), of(requests, name));
    assert.deepEqual(await values(page, "load-times", `${name}, P99`), of(times, name));
  }
  assert.deepEqual(
    await values(page, "load-viewers", "viewers"),
    document.runs[0].series.viewer_seconds.columns.viewers.values,
  );
  assert.match(await title(page, "load-failures"), /^40 requests failed: 40 http_5xx$/);
  await page.context().close();
});

test("what sessions lived through is drawn from the least to the most, as the document has it", async () => {
  const page = await open(reportOf("load-sessions", FIXTURES.load()));
  await drawn(page);
  const { measure, share, value } = FIXTURES.load().runs[0].series.viewer_distribution.columns;
  for (const [chart, layer, name] of [
    ["viewer-startup", "start-up delay", "startup"],
    ["viewer-stalls", "stalled", "rebuffer"],
    ["viewer-bitrate", "mean bit rate", "bitrate"],
  ]) {
    const of = (column) => column.values.filter((_, i) => measure.values[i] === name);
    const there = await marks(page, chart, layer);
    assert.deepEqual(
      there.map((one) => one.value),
      of(value),
    );
    assert.deepEqual(
      there.map((one) => one.x),
      of(share),
    );
  }
  // The sixth of twelve sessions and the twelfth; the ninth, which did not stall; the second.
  assert.equal(await title(page, "viewer-startup"), "Start-up delay of sessions: P50 380 ms, P99 1.2 s");
  assert.equal(
    await title(page, "viewer-stalls"),
    "At least 75 % of the sessions never stalled; maximum stall share 2 %",
  );
  assert.equal(
    await title(page, "viewer-bitrate"),
    "Half of the sessions had 2 Mbit/s or less on average, a tenth of them 1.5 Mbit/s or less",
  );
  quiet(page);
  await page.context().close();
});
