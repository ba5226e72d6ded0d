// Reports of a real `weir send` and `weir recv` across a link with loss, half of whose flows were dark for a while: what the
// charts carry is held against SQL on the database.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { axe, drawn, emptyCharts, marks, open, quiet, shot, start, stop, unfold } from "./browser.mjs";
import { realRuns } from "./real-runs.mjs";
import { figure, numberIn, shows } from "./shown-values.mjs";
import { sql, value, weir } from "./weir.mjs";

const { database, ids } = realRuns();
const folder = mkdtempSync(join(tmpdir(), "weir-media-"));

before(start);
after(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens the report of a run; the test ends with a page in which nothing went wrong. */
async function withReport(name, body) {
  const path = join(folder, `${name}.html`);
  await weir(["report", String(ids[name]), "--db", database, "-o", path, "-f", "-q"]);
  const page = await open(pathToFileURL(path).href);
  await drawn(page);
  await body(page);
  assert.deepEqual(await emptyCharts(page), []);
  assert.deepEqual(await axe(page), []);
  quiet(page);
  await page.context().close();
}

const column = (table, name, run) =>
  sql(database, `SELECT ${name} AS value FROM ${table} WHERE run_id = ${run} ORDER BY unix_ns, id`).map(
    (row) => row.value,
  );
const values = async (page, chart, layer) => (await marks(page, chart, layer)).map((one) => one.value);
const there = (all) => all.filter((one) => one !== null && one > 0);
/** In SQL: times are beyond what a double holds. */
const started = (run) => `(SELECT started_unix_ns FROM runs WHERE run_id = ${run})`;
const sum = (table, name, run) => value(database, `SELECT sum(${name}) FROM ${table} WHERE run_id = ${run}`);

test("what was received: loss and repair, frames and the budget, as SQL says", () =>
  withReport("recv", async (page) => {
    const run = ids.recv;
    assert.ok(sum("recv_seconds", "lost", run) > 0, "the link lost nothing");
    assert.deepEqual(await values(page, "recv-loss", "missed at first"), column("recv_seconds", "lost", run));
    for (const [layer, name] of [
      ["repaired by FEC", "recovered"],
      ["repaired by ARQ", "retransmitted"],
      ["reordered", "overtaken"],
      ["residual loss", "unrepaired"],
    ])
      assert.deepEqual(await values(page, "recv-loss", layer), there(column("recv_seconds", name, run)), layer);
    for (const [layer, name] of [
      ["complete", "frames"],
      ["damaged: incomplete", "damaged"],
      ["lost: no packets", "lost"],
    ])
      assert.deepEqual(await values(page, "frames", layer), there(column("frame_seconds", name, run)), layer);
    for (const [chart, prefix] of [
      ["frame-delay", "delay"],
      ["budget-use", "used"],
    ])
      for (const [layer, name] of [
        ["P50", `${prefix}_p50_ns`],
        ["P99.9", `${prefix}_p999_ns`],
        ["largest", `${prefix}_max_ns`],
        ["latency budget", "budget_ns"],
      ])
        assert.deepEqual(
          await values(page, chart, layer),
          column("frame_seconds", name, run).filter((one) => one !== null),
          `${chart} ${layer}`,
        );
    const frames = ["frames", "damaged", "lost", "dropped"].map((name) => sum("frame_seconds", name, run));
    shows(await figure(page, "complete frames"), frames[0] / frames.reduce((a, b) => a + b), "whole frames");
    const of =
      "1.0 / (sum(received) + sum(lost) - sum(overtaken) - sum(retransmitted)) FROM recv_seconds WHERE run_id =";
    shows(
      await figure(page, "raw loss"),
      value(database, `SELECT (sum(lost) - sum(overtaken)) * ${of} ${run}`),
      "loss before",
    );
    // As the command itself said at its end.
    const [{ lost, unrepaired }] = sql(
      database,
      `SELECT json_extract(summary, '$.senders[0].lost') AS lost, json_extract(summary, '$.senders[0].unrepaired') AS unrepaired
       FROM runs WHERE run_id = ${run}`,
    );
    const detail = (name) => page.textContent(`article > dl [data-figure="${name}"] .detail`);
    assert.equal(numberIn(await detail("raw loss")), lost);
    assert.equal(numberIn(await detail("residual loss")), unrepaired);
    const after = value(database, `SELECT sum(unrepaired) * ${of} ${run}`);
    shows(await figure(page, "residual loss"), after, "loss after");
    await shot(page, "real-recv-light");
    await unfold(page, ".facts summary, .values > summary");
  }));

/** What `flow_changes` says of each flow, as SQL puts it together: the state from each change to the next. */
function spans(run) {
  return sql(
    database,
    `WITH told AS (
       SELECT flow, unix_ns - ${started(run)} AS at, state, id,
              lag(state, 1, 'used') OVER (PARTITION BY flow ORDER BY unix_ns, id) AS before
       FROM flow_changes WHERE run_id = ${run}),
     changed AS (SELECT flow, state, at, lead(at) OVER (PARTITION BY flow ORDER BY at, id) AS until
                 FROM told WHERE state <> before)
     SELECT 'flow ' || flow AS lane, state, at, until FROM changed WHERE state <> 'used' ORDER BY flow, at`,
  );
}

for (const name of ["recv", "send"])
  test(`the lanes of ${name}: each flow that was left, from when to when, and every event`, () =>
    withReport(name, async (page) => {
      const run = ids[name];
      const expected = spans(run);
      assert.ok(expected.length > 0, "no flow was left");
      const drawnSpans = await page.$$eval(
        'figure[data-chart="flow-states"] [data-state]:not([data-state="used"]) > [data-value]',
        (all) =>
          all.map((one) => ({
            lane: one.closest("[data-lane]").dataset.lane,
            state: one.parentElement.dataset.state,
            at: Number(one.dataset.at),
            end: Number(one.dataset.end),
          })),
      );
      drawnSpans.sort((a, b) => (a.lane === b.lane ? a.at - b.at : a.lane < b.lane ? -1 : 1));
      assert.deepEqual(
        drawnSpans.map(({ lane, state, at }) => ({ lane, state, at })),
        expected.map(({ lane, state, at }) => ({ lane, state, at })),
      );
      expected.forEach(({ until }, i) => {
        if (until !== null) assert.equal(drawnSpans[i].end, until);
      });
      const events = await page.$$eval('figure[data-chart="flow-states"] [data-event]', (all) =>
        all.map((one) => ({ event: one.dataset.event, at: Number(one.dataset.at) })),
      );
      assert.deepEqual(
        events,
        sql(
          database,
          `SELECT event || iif(state = 'cleared', ' cleared', '') AS event, unix_ns - ${started(run)} AS at FROM media_events WHERE run_id = ${run} ORDER BY unix_ns, id`,
        ),
      );
      const list = await page.$$eval('[data-table="media-events"] tbody tr', (all) =>
        all.map((row) => row.textContent),
      );
      column("media_events", "detail", run).forEach((detail, i) => {
        assert.ok(list[i].includes(detail), list[i]);
      });
    }));

test("what was sent: packets by cause, rate and code rate, as SQL says", () =>
  withReport("send", async (page) => {
    const run = ids.send;
    for (const [layer, name] of [
      ["source packets", "sources"],
      ["repair packets (FEC)", "repairs"],
      ["retransmissions (ARQ)", "retransmitted"],
      ["flow probes", "trials"],
    ])
      assert.deepEqual(await values(page, "send-packets", layer), there(column("send_seconds", name, run)), layer);
    const rates = column("send_seconds", "CASE WHEN duration_ns > 500000000 THEN bytes * 8e9 / duration_ns END", run);
    const shown = await values(page, "send-rate");
    assert.deepEqual(shown.map(Math.round), rates.filter((one) => one !== null).map(Math.round));
    for (const code of await values(page, "send-code")) assert.equal(code, 1 / 12);
    assert.equal(await figure(page, "frames sent"), String(sum("send_seconds", "frames", run)));
    await shot(page, "real-send-light");
  }));
