// Reports of what goes wrong for real: nothing received, tests cut short, a clock set back, markup in names and notes,
// databases of a newer Weir or in use. Each says what is the matter or draws what there is; none is a blank page.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { drawn, emptyCharts, marks, open, quiet, shot, start, stop, unfold } from "./browser.mjs";
import { loopbackAgent, MARKUP, realRuns, TAG } from "./real-runs.mjs";
import { figure, numberIn } from "./shown-values.mjs";
import { background, copyOf, hold, sql, value, weir } from "./weir.mjs";

const { database, stepped, back, newer, ids } = realRuns();
const folder = mkdtempSync(join(tmpdir(), "weir-trouble-"));

before(start);
after(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens the report of a run: it has a head, facts, and in every chart something drawn or a sentence. */
async function reported(name, run, from = database) {
  const path = join(folder, `${name}.html`);
  await weir(["report", String(run), "--db", from, "-o", path, "--force", "-q"]);
  const page = await open(pathToFileURL(path).href);
  await drawn(page);
  assert.deepEqual(await emptyCharts(page), []);
  quiet(page);
  for (const text of await page.$$eval("figure[data-empty] .empty", (all) => all.map((one) => one.textContent)))
    assert.match(text, /^(No|Every) .*\.$/);
  assert.ok((await page.locator("figure[data-chart], [data-empty-run]").count()) > 0, "a blank page");
  await shot(page, `real-${name}-light`);
  return page;
}

test("flows of which no packet was received", async () => {
  const [{ received, lost }] = sql(
    database,
    `SELECT sum(received) AS received, sum(lost) AS lost FROM flow_seconds WHERE run_id = ${ids.silent}`,
  );
  assert.equal(received, 0);
  const page = await reported("silent", ids.silent);
  assert.equal(await figure(page, "lost"), "100 %");
  assert.equal(await figure(page, "rate"), "0 bit/s");
  const loss = await page.textContent('figure[data-chart="stream-loss"] h4');
  assert.equal(numberIn(loss), lost);
  assert.match(loss, /\(100 %\)/);
  assert.match(
    await page.textContent("[data-verdict=none]"),
    new RegExp(`no packet was received of ${lost} that run ${ids.silent} sent`),
  );
  await page.context().close();
});

test("an RTT test of which no packet was answered", async () => {
  assert.equal(value(database, `SELECT count(rtt_ns) FROM rtt_packets WHERE run_id = ${ids["silent-rtt"]}`), 0);
  const page = await reported("silent-rtt", ids["silent-rtt"]);
  assert.match(await page.textContent(".run-head .reason"), /no UDP packet came through/);
  assert.equal(await figure(page, "RTT, P90"), "–");
  assert.equal(await figure(page, "lost"), "100 %");
  assert.match(await page.textContent("[data-verdict=none]"), /no packet was received of 200 /);
  const said = await page.$$eval("figure[data-empty] .empty", (all) => all.map((one) => one.textContent));
  assert.deepEqual(new Set(said), new Set(["No packets were answered; no RTT to draw."]));
  await page.context().close();
});

for (const [name, reason] of [
  ["interrupted", null],
  ["killed", /stopped without ending it/],
]) {
  test(`a test that was ${name} after a second is shown as far as it went`, async () => {
    const run = ids[name];
    const page = await reported(name, run);
    assert.equal(await page.textContent(".run-head .outcome"), "interrupted");
    if (reason) assert.match(await page.textContent(".run-head .reason"), reason);
    const rows = value(
      database,
      `SELECT count(*) FROM stream_seconds WHERE run_id = ${run} AND received > 0 AND direction = 'forward'`,
    );
    assert.ok(rows >= 1);
    assert.equal((await marks(page, "media-rate")).filter((one) => one.value > 0).length, rows);
    const flows = await page.$$eval('[data-table="flow-totals"] tbody tr', (all) =>
      all.map((row) => row.children[2].textContent),
    );
    assert.deepEqual(
      flows.map(numberIn),
      sql(database, `SELECT sum(received) AS n FROM flow_seconds WHERE run_id = ${run} GROUP BY flow`).map(
        (row) => row.n,
      ),
    );
    await page.context().close();
  });
}

test("a run whose clock was set back is drawn in the order of its times, with all its packets", async () => {
  const page = await reported("clock-step", ids.lossy, stepped);
  const warnings = await page.$$eval('[data-warning="clock-step"]', (all) => all.map((one) => one.textContent));
  assert.ok(
    warnings.length > 0 &&
      new Set(warnings).size === warnings.length &&
      warnings.every((text) => Math.abs((Number(/set back by ([0-9.]+) s/.exec(text)?.[1]) * 1e9) / back - 1) < 0.06),
    warnings.join("\n"),
  );
  const x = (await marks(page, "media-rate", "forward")).map((one) => one.x);
  assert.ok(x.some((at) => at < 0) && x.some((at) => at > 0), `times before and after the start: ${x}`);
  assert.deepEqual(
    x,
    [...x].sort((a, b) => a - b),
  );
  const lost = await page.$$eval('figure[data-chart="flow-lanes"] [data-mark="loss"] > [data-value]', (all) =>
    all.reduce((sum, one) => sum + Number(one.dataset.value), 0),
  );
  assert.equal(
    lost,
    value(stepped, `SELECT sum(lost) FROM flow_seconds WHERE run_id = ${ids.lossy} AND direction = 'forward'`),
  );
  await page.context().close();
});

test("markup in a target, in host names, a note and a tag stays text", async () => {
  const page = await reported("marked", ids.marked);
  await unfold(page, "details > summary");
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("img, main script, .tags b").count(), 0);
  assert.equal(await page.textContent("h1"), `${MARKUP} to ${MARKUP}`);
  assert.equal(await page.textContent(".run-note"), MARKUP);
  assert.equal(await page.textContent(".run-head .tag"), TAG);
  assert.ok((await page.textContent(".facts")).includes(MARKUP), "among the facts of the hosts");
  // In the file itself no markup of theirs stands anywhere.
  const file = readFileSync(join(folder, "marked.html"), "utf8");
  assert.ok(!file.includes("hacked"));
  await page.context().close();
});

test("a database of a newer Weir is refused in one line, and left as it is", async () => {
  const path = join(folder, "never.html");
  const { stderr } = await weir(["report", "last", "--db", newer, "-o", path], { status: 3 });
  assert.match(stderr, /^weir: .*newer\.db has schema version \d+, .*use a newer Weir.*\n$/);
});

test("a database that another program holds is told in one line", async () => {
  const held = copyOf(database, join(folder, "held.db"));
  const letGo = await hold(held);
  try {
    const path = join(folder, "held.html");
    const { stderr } = await weir(["report", String(ids.near), "--db", held, "-o", path], { status: 3 });
    assert.match(stderr, /^weir: .*held\.db.*locked.*\n$/);
  } finally {
    await letGo();
  }
  await weir(["report", String(ids.near), "--db", held, "-o", join(folder, "held.html"), "-q"]);
});

test("a run that is being recorded is reported as far as it is", async () => {
  const live = copyOf(database, join(folder, "live.db"));
  const agent = await loopbackAgent();
  const flows = await background([
    "flows",
    agent.address,
    "--rate",
    "5Mbit/s",
    "--flows",
    "2",
    "--for",
    "40s",
    "--db",
    live,
    "-q",
  ]);
  try {
    const rows = "SELECT count(*) FROM stream_seconds JOIN runs USING (run_id) WHERE outcome = 'running'";
    for (let tries = 0; value(live, rows) < 2; tries++) {
      assert.ok(tries < 80, "the test stored nothing");
      await new Promise((wait) => setTimeout(wait, 250));
    }
    const page = await reported("running", value(live, "SELECT max(run_id) FROM runs WHERE outcome = 'running'"), live);
    assert.equal(await page.textContent(".run-head .outcome"), "running now");
    assert.ok((await marks(page, "media-rate")).length >= 2);
    await page.context().close();
  } finally {
    await flows.stop();
    await agent.stop();
  }
});
