// Reports of made-up runs of `weir lab pacing`: tables, trials over each other, distributions, a choice, hostile text.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { axe, drawn, emptyCharts, marks, open, quiet, reportOf, shot, start, stop, title } from "./browser.mjs";
import { EVIL, FIXTURES } from "./fixtures.mjs";

before(start);
after(stop);

const cells = (page, name) =>
  page.$$eval(`[data-table="${name}"] tbody tr`, (all) =>
    all.map((row) => [...row.children].map((cell) => cell.textContent)),
  );
const shownCharts = (page) =>
  page.$$eval("figure[data-chart]", (all) => all.filter((one) => one.clientWidth > 0).map((one) => one.dataset.chart));

test("a report of pacing has its tables and charts, none of them empty", async () => {
  const page = await open(reportOf("pacing", FIXTURES.pacing()));
  await drawn(page);
  assert.deepEqual(await shownCharts(page), [
    "pacing-paper",
    "pacing-throughput-0",
    "pacing-rtt-0",
    "pacing-queue-0",
    "pacing-distribution-0-voip",
    "pacing-distribution-1-voip",
  ]);
  assert.deepEqual(await emptyCharts(page), []);
  for (const text of await page.$$eval("figure[data-chart] h4", (all) => all.map((one) => one.textContent)))
    assert.ok(text.length > 15 && !/undefined|NaN|null|–/.test(text), text);
  assert.match(await page.textContent("h1"), /measures pacing in keynote-voip/);
  quiet(page);
  await shot(page, "pacing-light");
  assert.deepEqual(await axe(page), []);
  await page.context().close();
});

test("tables hold each change with its interval and the paper's", async () => {
  const document = FIXTURES.pacing();
  const page = await open(reportOf("pacing-values", document));
  await drawn(page);
  const rows = await cells(page, "pacing-neighbours");
  assert.deepEqual(
    rows.map((row) => row[0]),
    [
      "call, cubic: voip.owd.p95",
      "call, cubic: voip.voice.mos",
      "call, reno: voip.owd.p95",
      "call, reno: voip.voice.mos",
    ],
  );
  const { figures } = document.runs[0].summary.comparisons[0];
  const ms = (ns) => Number((Math.abs(ns) / 1e6).toPrecision(3));
  const [, alone, unpaced, variant, paced, change, sure, expected, paper] = rows[0];
  assert.equal(alone, `${ms(figures[0].alone.median)} ms`);
  assert.equal(unpaced, `${ms(figures[0].variants[0].median)} ms`);
  assert.equal(paced, `${ms(figures[0].variants[1].median)} ms`);
  assert.ok(change.startsWith(`−${ms(figures[0].changes[0].difference)} ms (−`), change);
  assert.equal(sure, figures[0].changes[0].interval.map((bound) => `−${ms(bound)} ms`).join(" to "));
  assert.deepEqual([variant, expected, paper], ["paced", "yes", "−51 %"]);
  // What is of the stream has no neighbours alone to be compared with.
  const own = await cells(page, "pacing-own");
  assert.equal(own.length, 4);
  assert.equal(own[0][0], "call, cubic: media.throughput");
  await page.context().close();
});

test("what is drawn is that of the first repeat, of the case and congestion control that is chosen", async () => {
  const document = FIXTURES.pacing();
  const page = await open(reportOf("pacing-choice", document));
  await drawn(page);
  const { trials } = document.runs[0].summary;
  const queueOf = (congestion, variant) =>
    trials
      .find((one) => one.congestion === congestion && one.variant === variant && one.repeat === 1)
      .queue.map((second) => second.mean_bytes);
  const queue = async (place, variant) =>
    (await marks(page, `pacing-queue-${place}`, variant)).map((mark) => mark.value);
  for (const variant of ["unpaced", "paced"]) assert.deepEqual(await queue(0, variant), queueOf("cubic", variant));
  await page.selectOption('select[name="pacing-over-time"]', { label: "call, reno" });
  await page.waitForSelector('figure[data-chart="pacing-queue-1"][data-drawn="true"]');
  for (const variant of ["unpaced", "paced"]) assert.deepEqual(await queue(1, variant), queueOf("reno", variant));
  assert.ok(!(await shownCharts(page)).includes("pacing-queue-0"));
  await page.selectOption('select[name="pacing-over-time"]', { label: "call, cubic" });
  const shown = await shownCharts(page);
  assert.ok(shown.includes("pacing-queue-0") && !shown.includes("pacing-queue-1"), shown.join());
  assert.match(await title(page, "pacing-throughput-0"), /9\.6 Mbit\/s unpaced, 8\.8 Mbit\/s paced$/);
  quiet(page);
  await page.context().close();
});

test("the neighbour's distribution is that of all repeats, with the base marked", async () => {
  const document = FIXTURES.pacing();
  const page = await open(reportOf("pacing-tail", document));
  await drawn(page);
  const of = document.runs[0].summary.trials.filter((one) => one.congestion === "cubic" && one.variant === "unpaced");
  const bins = of.map((one) => one.distributions.voip.bins);
  const all = await marks(page, "pacing-distribution-0-voip", "unpaced");
  assert.ok(all.length > 20, `${all.length} points`);
  for (const { x, value } of all) {
    const from = bins[0].edges_ns.indexOf(x);
    const least = bins.flatMap((one) => one.counts.slice(from)).reduce((sum, one) => sum + one, 0);
    assert.ok(Math.abs(value - least / 600) < 1e-9, `${x}: ${value}, ${least}`);
  }
  const text = await page.textContent('figure[data-chart="pacing-distribution-0-voip"] svg');
  assert.match(text, /alone, P50 10\.\d ms/);
  assert.match(text, /alone \(the base\)/);
  await page.context().close();
});

test("frames of a cloud game are drawn as a real run measured them", async () => {
  const document = FIXTURES.gaming();
  const page = await open(reportOf("pacing-game", document));
  await drawn(page);
  const chart = "pacing-distribution-0-game";
  assert.ok((await shownCharts(page)).includes(chart));
  assert.deepEqual(await emptyCharts(page), []);
  // The medians over repeats that the run itself printed.
  assert.match(
    await title(page, chart),
    /^95 of 100 frames of game within 18\.2 ms alone, 41\.5 ms unpaced, 18\.3 ms paced$/,
  );
  const text = await page.textContent(`figure[data-chart="${chart}"]`);
  assert.match(text, /time until a frame is complete/);
  assert.match(text, /alone, P50 16\.4 ms/);
  // Late frames were counted one by one: those that took a frame's time, 16.7 ms, more than the fastest, 14.5 ms. The
  // curves leave them between the edges of the bin that 31.2 ms is in.
  const { trials } = document.runs[0].summary;
  for (const variant of ["unpaced", "paced"]) {
    const sum = (figure) =>
      trials.filter((one) => one.variant === variant).reduce((total, one) => total + one.figures[figure], 0);
    const late = sum("game.late") / sum("game.frames_complete");
    const curve = await marks(page, chart, variant);
    const from = (ns) => curve.find((mark) => mark.x === ns)?.value ?? 0;
    assert.ok(from(31e6) >= late && late >= from(31.5e6), `${variant}: ${from(31e6)} ${late} ${from(31.5e6)}`);
    assert.equal(late > 0.1, variant === "unpaced");
  }
  quiet(page);
  await page.context().close();
});

test("names out of a scenario cannot become markup, and trials with holes are drawn", async () => {
  const page = await open(reportOf("pacing-evil", FIXTURES.evilPacing()));
  await drawn(page);
  assert.ok((await cells(page, "pacing-neighbours"))[0][0].includes(EVIL.slice(0, 8)));
  assert.deepEqual(await emptyCharts(page), []);
  quiet(page);
  await page.context().close();
});
