// A day of 16 flows, made by the example `day` of weir-report: its report is small enough, opens soon and zooms without a
// stall. `npm run test:day`; DAY names the example's binary. Takes a minute or two, and is no part of `make test`.
import assert from "node:assert/strict";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { drawn, emptyCharts, open, quiet, shot, start, stop, zoomed } from "./browser.mjs";
import { ARTEFACTS } from "./real-runs.mjs";
import { example, run, sql, value } from "./weir.mjs";

const folder = join(ARTEFACTS, "day");
const database = join(folder, "day.db");
const report = join(folder, "day.html");
const url = () => `${pathToFileURL(report).href}#/runs/2`;

before(async () => {
  mkdirSync(folder, { recursive: true });
  // A day that is there is read again; its report is written anew.
  const { stdout } = await run(example("day", "weir-report"), [database], { limit: 600_000 });
  console.log(stdout.trim().split("\n").at(-1));
  await start();
});
after(stop);

/** The smallest of three: what else the machine does can only make it longer. */
async function best(measure) {
  const all = [];
  for (let i = 0; i < 3; i++) all.push(await measure());
  return { all: all.map(Math.round), least: Math.min(...all) };
}

test("it is a day of 16 flows, and the report of it has less than 10 MB", (t) => {
  const [{ flows, seconds }] = sql(
    database,
    "SELECT count(DISTINCT flow) AS flows, count(DISTINCT unix_ns) AS seconds FROM flow_seconds WHERE run_id = 2",
  );
  assert.deepEqual({ flows, seconds }, { flows: 16, seconds: 86_400 });
  const bytes = statSync(report).size;
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes < 10e6, `${bytes} bytes`);
});

test("it opens, with its charts drawn, in less than 3 s", async (t) => {
  const { all, least } = await best(async () => {
    const page = await open(url());
    await drawn(page);
    const took = await page.evaluate(() => performance.now());
    assert.deepEqual(await emptyCharts(page), []);
    quiet(page);
    await page.context().close();
    return took;
  });
  t.diagnostic(`open after ${all.join(", ")} ms`);
  assert.ok(least < 3000, `${least} ms`);
});

test("the one second that was bad is in the lane of its flow", async () => {
  const page = await open(url());
  await drawn(page);
  const [{ flow, duration }] = sql(database, "SELECT flow, duration_ns AS duration FROM silences");
  const silent = await page.$$eval('figure[data-chart="flow-lanes"] [data-mark="silence"] > [data-value]', (all) =>
    all.map((one) => [one.closest("[data-lane]").dataset.lane, Number(one.dataset.value)]),
  );
  assert.deepEqual(silent, [[`flow ${flow}`, duration]]);
  const lost = await page.$$eval('[data-table="flow-totals"] tbody tr', (all) =>
    all.reduce((sum, row) => sum + Number(row.children[4].textContent.replaceAll(",", "")), 0),
  );
  assert.equal(lost, value(database, "SELECT sum(lost) FROM flow_seconds"));
  await shot(page, "real-day-light");
  await page.context().close();
});

test("the wheel zooms from the day to a second without a stall", async (t) => {
  const { all, least } = await best(async () => {
    const page = await open(url());
    await drawn(page);
    const plot = page.locator('figure[data-chart="flow-lanes"] .plot');
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    await page.mouse.click(box.x + box.width * 0.57, box.y + 60);
    await page.evaluate(() => {
      window.longest = 0;
      let last = performance.now();
      const frame = () => {
        const now = performance.now();
        window.longest = Math.max(window.longest, now - last);
        last = now;
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
    for (let i = 0; i < 40; i++) await page.mouse.wheel(0, -100);
    const [from, to] = await zoomed(page);
    assert.ok(to - from <= 1.01e9, `zoomed to ${(to - from) / 1e9} s`);
    await page.waitForTimeout(500);
    const longest = await page.evaluate(() => window.longest);
    assert.deepEqual(await emptyCharts(page), []);
    quiet(page);
    await page.context().close();
    return longest;
  });
  t.diagnostic(`longest frames: ${all.join(", ")} ms`);
  assert.ok(least < 300, `${least} ms`);
});
