// A year of one path, made by the example `year` of weir-watch: its page opens soon. `npm run test:year`; YEAR names the example's
// binary, WEIR the program. Takes a minute, and is no part of `make test`, since it measures speed.
import assert from "node:assert/strict";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { drawn, emptyCharts, open, quiet, shot, start, stop } from "./browser.mjs";
import { ARTEFACTS } from "./real-runs.mjs";
import { background, example, run, sql } from "./weir.mjs";

const DAYS = 366;
const TIMES = 5;
const MOST_MS = 2000;
const database = join(ARTEFACTS, "year.db");
let ui = null;

before(async () => {
  rmSync(database, { force: true });
  const { stdout } = await run(example("year", "weir-watch"), [database], { limit: 600_000 });
  console.log(stdout.trim());
  ui = await background(["ui", "--no-open", "--listen", "127.0.0.1:0", "--db", database]);
  await start();
});
after(async () => {
  await stop();
  const done = await ui?.stop();
  assert.equal(done?.code, 0, done?.stderr);
});

test("the store has a year of minutes", (t) => {
  const [{ minutes }] = sql(database, "SELECT count(*) AS minutes FROM watch_cells WHERE span_s = 60");
  assert.equal(minutes, DAYS * 24 * 60);
  t.diagnostic(`${statSync(database).size} bytes`);
});

test("its page opens, with its charts drawn, in less than 2 s, the first time too", async (t) => {
  const url = `${await ui.firstLine()}#/watch/pair/lon/ams?over=${DAYS * 86_400}`;
  const all = [];
  for (let time = 0; time < TIMES; time++) {
    const page = await open(url);
    await page.waitForSelector('[data-watch="pair"] figure[data-chart="watch-rtt"] svg');
    await drawn(page);
    all.push(Math.round(await page.evaluate(() => performance.now())));
    assert.deepEqual(await emptyCharts(page), []);
    quiet(page);
    if (time === 0) await shot(page, "watch-year");
    await page.context().close();
  }
  t.diagnostic(`open after ${all.join(", ")} ms`);
  assert.ok(Math.max(...all) < MOST_MS, `${all} ms`);
});
