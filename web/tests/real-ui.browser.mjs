// `weir ui` on a database of real runs: what the page shows and changes is read again by SQL.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { axe, download, drawn, emptyCharts, marks, open, quiet, shot, start, stop } from "./browser.mjs";
import { loopbackAgent, MARKUP, realRuns, TAG } from "./real-runs.mjs";
import { figure, rttQuantiles, shows } from "./shown-values.mjs";
import { background, copyOf, hold, sql, value, weir } from "./weir.mjs";

const runs = realRuns();
const { ids, newer } = runs;
const folder = mkdtempSync(join(tmpdir(), "weir-ui-"));
const database = join(folder, "weir.db");
let ui = null;
let url = null;

/** Starts `weir ui`, which says its address. */
async function serve(path, ...options) {
  const server = await background(["ui", "--no-open", "--listen", "127.0.0.1:0", "--db", path, ...options]);
  return { ...server, url: await server.firstLine() };
}

before(async () => {
  await start();
  copyOf(runs.database, database);
  ui = await serve(database);
  url = ui.url;
});

after(async () => {
  await stop();
  const done = await ui?.stop();
  rmSync(folder, { recursive: true, force: true });
  assert.equal(done?.code, 0, `weir ui: ${done?.stderr}`);
});

const listed = (page) => page.$$eval("tr[data-run]", (all) => all.map((one) => Number(one.dataset.run)));
const tops = (where = "1") =>
  sql(
    database,
    `SELECT run_id FROM runs WHERE parent_run_id IS NULL AND ${where} ORDER BY started_unix_ns DESC, run_id DESC`,
  ).map((row) => row.run_id);
const untilListed = (page, expected) =>
  page.waitForFunction(
    (wanted) => JSON.stringify([...document.querySelectorAll("tr[data-run]")].map((one) => one.dataset.run)) === wanted,
    JSON.stringify(expected.map(String)),
  );

test("the list has all runs, the newest first, with verdicts, and filters them", async () => {
  const page = await open(url);
  await untilListed(page, tops());
  // Verdicts are made in the background, and come with the next look at the list.
  await page.waitForSelector(`tr[data-run="${ids.survey}"] .verdict-line`);
  await page.waitForSelector(`tr[data-run="${ids.lossy}"] .verdict-line`);
  const { stdout } = await weir(["diagnose", String(ids.survey), "--db", database, "--json"]);
  const { findings } = JSON.parse(stdout.trim().split("\n").at(-1));
  const counted = (severity) => {
    const { length } = findings.filter((one) => one.severity === severity);
    return length === 0 ? [] : [`${length} ${severity}${length === 1 ? "" : "s"}`];
  };
  assert.equal(
    await page.textContent(`tr[data-run="${ids.survey}"] .verdict-line span`),
    [...counted("fault"), ...counted("notice")].join(", ") || "no findings",
  );
  // The kinds are those of the runs that stand alone.
  const offered = await page.$$eval("select[name=kind] option", (all) => all.map((one) => one.value));
  assert.deepEqual(offered, [
    "",
    ...sql(database, "SELECT DISTINCT kind FROM runs WHERE parent_run_id IS NULL ORDER BY kind").map((row) => row.kind),
  ]);
  assert.equal(await page.textContent(`tr[data-run="${ids.killed}"] .outcome`), "interrupted");
  assert.match(await page.textContent(`tr[data-run="${ids["silent-rtt"]}"]`), /failed.*no UDP packet came through/);
  assert.equal(await page.textContent(`tr[data-run="${ids.marked}"] .tag`), TAG);
  assert.ok((await page.textContent(`tr[data-run="${ids.marked}"]`)).includes(MARKUP));
  assert.equal(await page.locator("img, main script, .note-cell b").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.deepEqual(await axe(page), []);

  await page.selectOption("select[name=kind]", "rtt");
  await untilListed(page, tops("kind = 'rtt'"));
  await page.selectOption("select[name=kind]", "");
  await page.fill("input[name=search]", "onerror");
  await untilListed(page, [ids.marked]);
  await page.fill("input[name=search]", "");
  await page.fill("input[name=tag]", TAG);
  await untilListed(page, [ids.marked]);
  await page.fill("input[name=tag]", "no such tag");
  await page.waitForSelector("text=No run matches.");
  await page.fill("input[name=tag]", "");
  await untilListed(page, tops());
  quiet(page);
  await page.context().close();
});

test("a run is opened from the list, in light, dark and on a phone", async () => {
  for (const [look, options] of [
    ["light", {}],
    ["dark", { dark: true }],
    ["phone", { width: 375, height: 740 }],
  ]) {
    const page = await open(url, options);
    await page.click(`tr[data-run="${ids.near}"] a`);
    await drawn(page);
    shows(await figure(page, "RTT, P90"), rttQuantiles(database, ids.near, "1", 90)[0].value, "P90");
    assert.deepEqual(await emptyCharts(page), []);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= (options.width ?? 1280));
    assert.deepEqual(await axe(page), [], look);
    await shot(page, `real-ui-run-${look}`);
    await page.goto(url);
    await page.waitForSelector("tr[data-run]");
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= (options.width ?? 1280), look);
    await shot(page, `real-list-${look}`);
    quiet(page);
    await page.context().close();
  }
});

test("two runs chosen in the list are compared", async () => {
  const page = await open(url);
  await page.waitForSelector("tr[data-run]");
  await page.check(`tr[data-run="${ids.near}"] input`);
  await page.check(`tr[data-run="${ids.delayed}"] input`);
  await page.click("text=Compare 2 runs");
  await drawn(page);
  const cells = await page.$$eval('[data-table="compare"] tbody tr', (rows) =>
    rows
      .filter((row) => row.children[0].textContent === "RTT, P90")
      .flatMap((row) => [...row.children].slice(1).map((cell) => cell.textContent)),
  );
  for (const [i, name] of ["near", "delayed"].entries())
    shows(cells[i], rttQuantiles(database, ids[name], "1", 90)[0].value, `P90 of ${name}`);
  assert.deepEqual(await emptyCharts(page), []);
  assert.deepEqual(await axe(page), []);
  quiet(page);
  await page.context().close();
});

test("a test is followed while it runs, until it has ended", async () => {
  const agent = await loopbackAgent();
  const page = await open(url);
  await page.waitForSelector("tr[data-run]");
  const flows = await background([
    "flows",
    agent.address,
    "--rate",
    "10Mbit/s",
    "--flows",
    "4",
    "--for",
    "10min",
    "--db",
    database,
    "-q",
  ]);
  try {
    // The open list finds the new run by itself.
    const row = page.locator("tr[data-run]", { hasText: "running now" });
    await row.waitFor();
    const run = Number(await row.getAttribute("data-run"));
    await row.locator("a").click();
    await page.waitForSelector("[data-live]:not([hidden]) progress[value]");
    const progress = () => page.$eval("[data-live] progress", (bar) => bar.value);
    const first = await progress();
    assert.ok(first > 0 && first < 1);
    await page.waitForFunction((before) => document.querySelector("[data-live] progress").value > before, first);
    assert.match(await page.textContent("[data-live]"), /Running.* left · [\d.]+ [kM]bit\/s · lost [\d.]+ %/);
    await page.waitForSelector('figure[data-chart="media-rate"] [data-layer] [data-value]');
    const points = (await marks(page, "media-rate")).length;
    await shot(page, "real-live-light");
    assert.deepEqual(await axe(page), []);
    await page.waitForFunction(
      (before) => document.querySelectorAll('figure[data-chart="media-rate"] [data-x][data-value]').length > before,
      points,
    );
    // However long that took here, it is stopped in the middle.
    assert.equal((await flows.stop()).code, 0);
    await page.waitForSelector(".outcome.interrupted");
    assert.equal(await page.isVisible("[data-live]"), false);
    await drawn(page);
    const cells = await page.$$eval('[data-table="flow-totals"] tbody tr', (all) =>
      all.map((one) => Number(one.children[2].textContent.replaceAll(",", ""))),
    );
    assert.deepEqual(
      cells,
      sql(
        database,
        `SELECT sum(received) AS n FROM flow_seconds WHERE run_id = ${run} GROUP BY flow ORDER BY flow`,
      ).map((one) => one.n),
    );
    quiet(page);
  } finally {
    await flows.stop();
    await agent.stop();
    await page.context().close();
  }
});

test("a note and tags are written, a report is downloaded, a run is deleted after a question", async () => {
  const run = ids.interrupted;
  const page = await open(`${url}#/runs/${run}`);
  await drawn(page);
  await page.click(".edit-box summary");
  await page.fill("textarea[name=note]", `${MARKUP}\nsecond line`);
  await page.fill("input[name=tags]", "night, second");
  await page.click(".edit button[type=submit]");
  await page.waitForSelector(".run-note");
  assert.equal(await page.textContent(".run-note"), `${MARKUP}\nsecond line`);
  assert.deepEqual(sql(database, `SELECT note, tags FROM runs WHERE run_id = ${run}`), [
    { note: `${MARKUP}\nsecond line`, tags: '["night","second"]' },
  ]);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  // What the server refuses is said, and changes nothing.
  await page.fill("input[name=tags]", "x".repeat(60));
  await page.click(".edit button[type=submit]");
  await page.waitForFunction(() => document.querySelector(".said").textContent !== "");
  assert.match(await page.textContent(".said"), /50/);
  assert.equal(value(database, `SELECT tags FROM runs WHERE run_id = ${run}`), '["night","second"]');

  const file = await download(page, "[data-report]");
  assert.equal(file.name, `weir-run-${run}.html`);
  const path = join(folder, file.name);
  writeFileSync(path, file.bytes);
  const saved = await open(pathToFileURL(path).href);
  await drawn(saved);
  assert.equal(await saved.getAttribute("article", "data-run"), String(run));
  quiet(saved);
  await saved.context().close();

  const left = () => value(database, `SELECT count(*) FROM runs WHERE run_id = ${run}`);
  await page.click("[data-delete]");
  await page.click("text=Cancel");
  assert.equal(left(), 1);
  await page.click("[data-delete]");
  await page.click("[data-confirm-delete]");
  await page.waitForSelector("tr[data-run]");
  assert.equal(left(), 0);
  assert.equal(value(database, `SELECT count(*) FROM flow_seconds WHERE run_id = ${run}`), 0);
  assert.deepEqual(await listed(page), tops());
  quiet(page);
  await page.context().close();
});

test("a server with a token gets it with every request, and in no address", async () => {
  const token = "a-token-of-twenty-characters-or-more";
  const file = join(folder, "weir.token");
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
  const guarded = await serve(database, "--token-file", file);
  try {
    const page = await open(`${guarded.url}#/runs/${ids.near}`);
    const asked = [];
    page.on("request", (request) => asked.push(request));
    await page.fill("[data-token] input", "wrong");
    await page.click("[data-token] button");
    await page.waitForSelector("text=rejected this token");
    await page.fill("[data-token] input", token);
    await page.click("[data-token] button");
    await drawn(page);
    const last = asked.filter((request) => request.url().endsWith("/data")).at(-1);
    assert.equal((await last.allHeaders()).authorization, `Bearer ${token}`);
    assert.ok(asked.every((request) => !request.url().includes("token")));
    quiet(page);
    await page.context().close();
  } finally {
    assert.equal((await guarded.stop()).code, 0);
  }
});

test("a run that does not exist, and a server that is gone, are told", async () => {
  const other = await serve(database);
  const page = await open(`${other.url}#/runs/99999`);
  assert.match(await page.textContent("[data-failure]"), /no run 99999/);
  await page.evaluate(() => {
    location.hash = "#/";
  });
  await page.waitForSelector("tr[data-run]");
  await other.stop();
  await page.evaluate((run) => {
    location.hash = `#/runs/${run}`;
  }, ids.near);
  await page.waitForSelector("[data-failure]");
  assert.match(await page.textContent("[data-failure]"), /does not respond/);
  await shot(page, "real-gone-light");
  await page.context().close();
});

test("a database of a newer Weir is refused in one line", async () => {
  const { stderr } = await weir(["ui", "--no-open", "--listen", "127.0.0.1:0", "--db", newer], { status: 3 });
  assert.match(stderr, /^weir: .*newer\.db has schema version \d+, .*use a newer Weir.*\n$/);
});

test("a database that another program holds: said at the start, and in the page, which comes back", async () => {
  const held = copyOf(database, join(folder, "held.db"));
  const server = await serve(held);
  const page = await open(`${server.url}#/runs/${ids.near}`);
  await drawn(page);
  let letGo = await hold(held);
  try {
    const { stderr } = await weir(["ui", "--no-open", "--listen", "127.0.0.1:0", "--db", held], { status: 3 });
    assert.match(stderr, /^weir: .*held\.db.*locked.*\n$/);
    await page.click(".edit-box summary");
    await page.fill("textarea[name=note]", "while it is held");
    await page.click(".edit button[type=submit]");
    await page.waitForFunction(() => document.querySelector(".said").textContent !== "");
    assert.match(await page.textContent(".said"), /locked|holds/);
    await page.evaluate(() => {
      location.hash = "#/";
    });
    await page.waitForSelector("[data-failure]");
    assert.match(await page.textContent("[data-failure]"), /held\.db.*(locked|holds)/);
    await shot(page, "real-held-light");
    await letGo();
    letGo = null;
    await page.reload();
    await page.waitForSelector("tr[data-run]");
    quiet(page);
  } finally {
    await letGo?.();
    await page.context().close();
    await server.stop();
  }
});
