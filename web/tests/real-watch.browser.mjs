// The page that `weir watch` serves itself, over paths that it measures meanwhile, on a screen of 400 pixels.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { axe, open, quiet, shot, start, stop } from "./browser.mjs";
import { loopbackAgent } from "./real-runs.mjs";
import { background, value } from "./weir.mjs";

const folder = mkdtempSync(join(tmpdir(), "weir-watch-"));
const database = join(folder, "watch.db");
let agent = null;
let watcher = null;
let url = null;

before(async () => {
  await start();
  agent = await loopbackAgent();
  const host = (name) => `[[host]]\nname = "${name}"\naddress = "${agent.address}"\nzone = "west"\n`;
  const rtt = '[rtt]\ninterval = "100ms"\nwindow = 2\n';
  writeFileSync(join(folder, "watch.toml"), `here = "lon"\n[[host]]\nname = "lon"\n${host("ams")}${host("par")}${rtt}`);
  watcher = await background(["watch", join(folder, "watch.toml"), "--db", database, "--page", "127.0.0.1:0"]);
  url = await watcher.told(/page at (.*)#\/watch\n/);
  for (let attempt = 0; ; attempt++) {
    const asked = await fetch(`${url}api/v1/watch?over=600`).then(
      (answer) => answer.json(),
      () => null,
    );
    if (asked?.history.pairs.length === 2) break;
    assert.ok(attempt < 300, "the watcher measures nothing");
    await new Promise((done) => setTimeout(done, 200));
  }
});

after(async () => {
  await stop();
  const done = await watcher?.stop();
  await agent?.stop();
  rmSync(folder, { recursive: true, force: true });
  assert.equal(done?.code, 0, done?.stderr);
});

/** Nothing is wider than the screen, but for what scrolls in a box of its own. */
const fits = async (page, width) =>
  assert.ok(
    (await page.evaluate(() => document.documentElement.scrollWidth)) <= width,
    "the page is wider than the screen",
  );

test("all paths as a matrix, a path with its quantiles, and a host; each at an address of its own", async () => {
  const page = await open(`${url}#/watch`, { width: 400 });
  await page.waitForSelector('[data-watch="all"] figure[data-chart="watch-matrix-p50"] .cells');
  await fits(page, 400);
  assert.deepEqual(await axe(page), []);
  await shot(page, "watch-all-400");
  // The second path may come a moment after the first.
  await page.waitForFunction(() => document.querySelectorAll('[data-table="watch-pairs"] tbody tr').length === 2);

  await page.click('[data-table="watch-pairs"] a');
  await page.waitForSelector('[data-watch="pair"] figure[data-chart="watch-rtt"] svg');
  await fits(page, 400);
  const shown = await page.textContent('[data-figure="packets"] .value');
  const sent = value(database, "SELECT sum(sent) FROM watch_cells WHERE span_s = 1 AND path_id = 1");
  const packets = Number(shown.replaceAll(",", ""));
  assert.ok(packets > 0 && packets <= sent, `${packets} shown, ${sent} stored`);
  assert.deepEqual(await axe(page), []);
  await shot(page, "watch-pair-400");
  // The link says all that is seen.
  const shared = await open(page.url(), { width: 1280 });
  await shared.waitForSelector('[data-watch="pair"] figure[data-chart="watch-rtt"] svg');
  assert.equal(await shared.textContent("h1"), await page.textContent("h1"));
  quiet(shared);

  await page.goto(`${url}#/watch/host/lon?over=7200`);
  // A path is left out while a busy host has spoiled all of its seconds, even one that was shown before that was known.
  await page.waitForFunction(() => document.querySelectorAll('[data-watch="host"] h3').length === 2);
  // A chart is drawn a frame after its heading is there.
  await page.waitForSelector('[data-watch="host"] figure svg');
  await fits(page, 400);
  quiet(page);
});

test("a moment of the past, and two spans beside each other", async () => {
  const now = Math.floor(Date.now() / 1000);
  const at = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19) + "Z";
  const page = await open(`${url}#/watch?over=600&until=${at(now - 86_400)}`);
  await page.waitForSelector('[data-watch="all"]');
  assert.match(await page.textContent('figure[data-chart="watch-matrix-p50"]'), /Nothing was measured at this time/);
  await page.goto(`${url}#/watch/pair/lon/ams?over=3600&until=${at(now + 60)}&beside=${at(now + 60)}`);
  await page.waitForSelector('[data-table="watch-comparison"]');
  const loss = await page.$$eval('[data-table="watch-comparison"] tbody tr', (all) => all[3].textContent);
  assert.match(loss, /^loss rate/);
  quiet(page);
});
