// Reports of tests between places: what charts show by pointer and by key, many pairs at once, dark, phone, accessibility.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { axe, download, drawn, emptyCharts, open, quiet, reportOf, shot, start, stop, unfold } from "./browser.mjs";
import { document } from "./make.mjs";
import { meshRun } from "./mesh-fixtures.mjs";

before(start);
after(stop);

const CHARTS = ["rtt", "throughput", "rtt-throughput", "matrix-rtt", "matrix-throughput", "map"].map(
  (id) => `mesh-${id}`,
);
const tip = (page, chart) => page.textContent(`figure[data-chart="${chart}"] .tip`);
const spoken = (page, chart) => page.textContent(`figure[data-chart="${chart}"] [role="status"]`);
const plot = (chart) => `figure[data-chart="${chart}"] .plot`;

test("a mesh of six hosts has all its charts and tables, and no name becomes markup", async () => {
  const page = await open(reportOf("mesh-six", document(meshRun(1, 6))));
  await drawn(page);
  const there = await page.$$eval("figure[data-chart]:not([data-empty])", (all) => all.map((one) => one.dataset.chart));
  for (const chart of CHARTS) assert.ok(there.includes(chart), `${chart} is missing; there are ${there.join(", ")}`);
  assert.deepEqual(await emptyCharts(page), []);
  assert.match(await page.textContent('figure[data-chart="mesh-rtt"] h4'), /^RTT rises by 15 ms per 1,000 km/);
  assert.equal(await page.locator('figure[data-chart="mesh-rtt"] [data-curve]').count(), 2);
  const points = await page.$$eval('figure[data-chart="mesh-rtt"] [data-layer]', (all) =>
    all.reduce((sum, one) => sum + Number(one.dataset.rows), 0),
  );
  assert.equal(points, 29);
  assert.match(await page.textContent('[data-table="mesh-failures"]'), /<b>no answer<\/b> from "there"/);
  assert.equal(await page.locator('[data-table="mesh-failures"] b').count(), 0);
  const tcp = await page.textContent('[data-table="mesh-tcp"]');
  assert.match(tcp, /2\s*1 MiB.*17\s*512 KiB.*bbr\s*4 MiB\s*6 MiB/);
  assert.match(await page.textContent('[data-table="mesh-udp"]'), /20 Mbit\/s\s*0 %\s*9\.41 µs\s*40 µs\s*0/);
  assert.match(await page.textContent('[data-table="mesh-windows"]'), /819 KiB \(781 KiB to 840 KiB\)/);
  await unfold(page, "details[data-folded] > summary");
  assert.ok((await page.locator("details[data-folded] figure").count()) >= 24);
  assert.deepEqual(await emptyCharts(page), []);
  quiet(page);
  await shot(page, "mesh-light");
  await page.context().close();
});

test("keys go through points, cells and places, and say what is there", async () => {
  const run = meshRun(1, 6);
  const column = (name) => run.series.mesh_tests.columns[name].values;
  const page = await open(reportOf("mesh-keys", document(run)));
  await drawn(page);
  await page.focus(plot("mesh-rtt"));
  await page.keyboard.press("End");
  const far = column("distance_m").reduce((most, one, i) => (column("reason")[i] === "" && one > most ? one : most), 0);
  const [from, to] = await (async () => {
    const [head] = (await spoken(page, "mesh-rtt")).split(";");
    return head.split(" to ");
  })();
  const farthest = column("from").findIndex((name, i) => name === from && column("to")[i] === to);
  assert.equal(column("distance_m")[farthest], far);
  assert.match(
    await spoken(page, "mesh-rtt"),
    new RegExp(`distance ${Math.round(far / 1000).toLocaleString("en")} km`),
  );
  await page.keyboard.press("ArrowUp");
  assert.match(await spoken(page, "mesh-rtt"), /aws → aws/);
  await page.keyboard.press("Escape");
  assert.equal(await page.isVisible('figure[data-chart="mesh-rtt"] .tip'), false);

  await page.focus(plot("mesh-matrix-rtt"));
  await page.keyboard.press("ArrowRight");
  assert.match(await spoken(page, "mesh-matrix-rtt"), /no test/);
  await page.keyboard.press("ArrowRight");
  const [head, rtt] = (await spoken(page, "mesh-matrix-rtt")).split(";");
  const [one, other] = head.split(" to ");
  const row = column("from").findIndex((name, i) => name === one && column("to")[i] === other);
  assert.equal(Math.round(Number(rtt.match(/RTT ([\d.]+) ms/)[1])), Math.round(column("rtt_ns")[row] / 1e6));

  await page.focus(plot("mesh-map"));
  await page.keyboard.press("Home");
  assert.match(await spoken(page, "mesh-map"), /pairs 5/);
  const { name, bytes } = await download(page, 'figure[data-chart="mesh-matrix-rtt"] [data-save="csv"]');
  assert.equal(name, "mesh-matrix-rtt.csv");
  assert.equal(bytes.toString().trim().split("\r\n").length, 30);
  quiet(page);
  await page.context().close();
});

test("all 22,350 pairs of 150 places are drawn, and a pointer finds them", async () => {
  const page = await open(reportOf("mesh-many", document(meshRun(1, 150))));
  await drawn(page);
  const ms = await page.evaluate(() => performance.getEntriesByName("weir-shown")[0].startTime);
  // A fast machine needs half a second; this only tells a page that draws each point as an element of its own.
  assert.ok(ms < 15_000, `${ms} ms until it was shown`);
  assert.ok((await page.evaluate(() => document.querySelectorAll("svg *").length)) < 5000, "few elements");
  const rows = await page.$$eval('figure[data-chart="mesh-matrix-rtt"] [data-layer]', (all) =>
    all.reduce((sum, one) => sum + Number(one.dataset.rows), 0),
  );
  assert.equal(rows, 22_349);
  await page.hover(plot("mesh-matrix-rtt"), { position: { x: 500, y: 300 } });
  assert.match(await tip(page, "mesh-matrix-rtt"), /:region-\d+ to .*RTT/);
  assert.deepEqual(await emptyCharts(page), []);
  quiet(page);
  await page.context().close();
});

test("several runs are drawn together first, and each for itself", async () => {
  const [one, two] = [meshRun(1, 6), meshRun(2, 4, { seed: 9 })];
  const together = {
    ...document(one, two),
    mesh: { runs: [1, 2], started_unix_ns: one.started_unix_ns, series: one.series },
  };
  const page = await open(reportOf("mesh-together", together));
  await drawn(page);
  assert.equal(await page.textContent("h1"), "All tests of 2 runs");
  assert.equal(await page.textContent('[data-figure="tests"] .value'), "29");
  await page.click("nav a:has-text('Run 2')");
  await page.waitForSelector('article[data-run="2"]');
  await drawn(page);
  assert.equal(await page.textContent('[data-figure="tests"] .value'), "11");
  quiet(page);
  await page.context().close();
});

test("nothing that could be there need be: no coordinates, no throughput, nothing at all", async () => {
  const bare = meshRun(1, 4);
  for (const name of ["latitude", "longitude"]) bare.series.mesh_places.columns[name].values.fill(null);
  for (const name of ["distance_m", "tcp_bps"]) bare.series.mesh_tests.columns[name].values.fill(null);
  delete bare.series.mesh_fits;
  delete bare.series.mesh_windows;
  for (const run of [bare, { ...meshRun(2, 4), series: {} }]) {
    const page = await open(reportOf(`mesh-bare-${run.run_id}`, document(run)));
    await page.waitForSelector("article");
    await drawn(page);
    quiet(page);
    assert.equal(await page.locator("[data-failure]").count(), 0);
    await page.context().close();
  }
});

for (const [name, options] of Object.entries({ light: {}, dark: { dark: true }, phone: { width: 390, height: 800 } })) {
  test(`${name}: axe finds nothing serious, and nothing is wider than the page`, async () => {
    const page = await open(reportOf(`mesh-${name}`, document(meshRun(1, 6))), options);
    await drawn(page);
    assert.deepEqual(await axe(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1));
    await shot(page, `mesh-${name}`);
    await page.context().close();
  });
}
