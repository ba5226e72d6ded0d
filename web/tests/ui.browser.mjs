// The local page against a server with a made-up API: list, filter, live run, notes, deletion, report, token, comparison.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { axe, download, drawn, open, shot, start, stop } from "./browser.mjs";
import { emptyRun, hostileRun, outageRun, rttRun, surveyRuns } from "./fixtures.mjs";
import { serve } from "./server.mjs";

before(start);
after(stop);

const runs = () => [
  rttRun(1),
  rttRun(2, { base: 210_000 }),
  outageRun(3),
  emptyRun(4),
  hostileRun(5),
  ...surveyRuns(10),
];

async function withServer(list, options, body) {
  const server = await serve(list, options);
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

test("the list shows runs with their verdicts, and filters", () =>
  withServer(runs(), {}, async (server) => {
    const page = await open(server.url);
    await page.waitForSelector("tr[data-run]");
    const ids = () => page.$$eval("tr[data-run]", (all) => all.map((one) => Number(one.dataset.run)));
    assert.deepEqual(await ids(), [10, 5, 4, 3, 2, 1]);
    assert.match(await page.textContent('tr[data-run="3"]'), /flow 3 delivered nothing/);
    assert.match(await page.textContent('tr[data-run="4"]'), /interrupted/);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.deepEqual(await axe(page), []);
    await shot(page, "list-light");
    await page.selectOption("select[name=kind]", "rtt");
    await page.waitForFunction(() => document.querySelectorAll("tr[data-run]").length === 2);
    assert.deepEqual(await ids(), [2, 1]);
    await page.selectOption("select[name=kind]", "");
    await page.fill("input[name=search]", "after the switch");
    await page.waitForFunction(() => document.querySelectorAll("tr[data-run]").length === 1);
    await page.fill("input[name=search]", "nothing of that name");
    await page.waitForSelector("text=No run fits.");
    assert.deepEqual(page.outside, []);
    assert.deepEqual(page.problems, []);
    await page.context().close();
  }));

test("runs chosen in the list are compared", () =>
  withServer(runs(), {}, async (server) => {
    const page = await open(server.url);
    await page.waitForSelector("tr[data-run]");
    await page.check('tr[data-run="2"] input');
    await page.check('tr[data-run="1"] input');
    await page.click("text=Compare 2 runs");
    await drawn(page);
    assert.equal(await page.getAttribute("[data-compare]", "data-compare"), "2,1");
    await page.context().close();
  }));

test("a running test is followed until it ends", () => {
  const list = runs();
  const running = list[2];
  running.outcome = "running";
  running.diagnosis = null;
  running.no_diagnosis = "the run has not ended";
  return withServer(list, {}, async (server) => {
    const page = await open(`${server.url}#/runs/3`);
    await drawn(page);
    await page.waitForSelector("[data-live]:not([hidden])");
    assert.match(await page.textContent("[data-live]"), /20 s left · 2\.5 Gbit\/s · lost 0\.1 %/);
    await shot(page, "live-light");
    const asked = () => server.requests.filter((one) => one.path === "/api/v1/runs/3/data").length;
    await page.waitForTimeout(4600);
    assert.ok(asked() >= 2, "data are fetched again while it runs");
    server.endRun(running);
    await page.waitForSelector(".outcome.finished");
    assert.equal(await page.isVisible("[data-live]"), false);
    assert.deepEqual(page.problems, []);
    await page.context().close();
  });
});

test("note and tags are saved, the report is downloaded, a run is deleted after a question", () => {
  const list = runs();
  return withServer(list, {}, async (server) => {
    const page = await open(`${server.url}#/runs/3`);
    await drawn(page);
    await page.click(".edit-box summary");
    await page.fill("textarea[name=note]", "<b>bold</b> words");
    await page.fill("input[name=tags]", "one, two");
    await page.click(".edit button[type=submit]");
    await page.waitForFunction(() => document.querySelector(".run-note")?.textContent === "<b>bold</b> words");
    assert.deepEqual(list.find((run) => run.run_id === 3).tags, ["one", "two"]);
    assert.equal(server.requests.find((one) => one.method === "PATCH").headers["x-weir"], "1");
    const file = await download(page, "[data-report]");
    assert.equal(file.name, "weir-run-3.html");
    assert.ok(file.bytes.toString().includes('id="weir-data">H4sI'));
    await page.click("[data-delete]");
    await page.click("text=Keep it");
    assert.ok(list.some((run) => run.run_id === 3));
    await page.click("[data-delete]");
    await page.click("[data-confirm-delete]");
    await page.waitForSelector("tr[data-run]");
    assert.ok(!list.some((run) => run.run_id === 3));
    assert.deepEqual(page.problems, []);
    await page.context().close();
  });
});

test("a server that wants a token gets it with every request, events too", () => {
  const list = runs();
  list[2].outcome = "running";
  return withServer(list, { token: "secret" }, async (server) => {
    const page = await open(`${server.url}#/runs/3`);
    await page.fill("[data-token] input", "wrong");
    await page.click("[data-token] button");
    await page.waitForSelector("text=did not take this token");
    await page.fill("[data-token] input", "secret");
    await page.click("[data-token] button");
    await drawn(page);
    await page.waitForSelector("[data-live]:not([hidden])");
    const events = server.requests.filter((one) => one.path.endsWith("/events"));
    assert.equal(events[events.length - 1].headers.authorization, "Bearer secret");
    assert.ok(!server.requests.some((one) => one.query.has("token")), "the token is in no address");
    await page.context().close();
  });
});

test("what goes wrong is told", () =>
  withServer(runs(), {}, async (server) => {
    const page = await open(`${server.url}#/runs/999`);
    assert.match(await page.textContent("[data-failure]"), /there is no run 999/);
    await page.evaluate(() => {
      location.hash = "#/";
    });
    await page.waitForSelector("tr[data-run]");
    await server.close();
    await page.evaluate(() => {
      location.hash = "#/runs/1";
    });
    await page.waitForSelector("[data-failure]");
    assert.match(await page.textContent("[data-failure]"), /does not answer/);
    await page.context().close();
  }).catch((error) => {
    if (error.code !== "ERR_SERVER_NOT_RUNNING") throw error;
  }));
