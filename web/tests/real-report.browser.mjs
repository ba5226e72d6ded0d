// Reports of real runs, as `weir report` writes them: what the charts carry is held against SQL on the database.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  axe,
  download,
  drawn,
  emptyCharts,
  marks,
  open,
  quiet,
  shot,
  start,
  stop,
  unfold,
  zoomed,
} from "./browser.mjs";
import { realRuns } from "./real-runs.mjs";
import { csvRows, figure, numberIn, rttQuantiles, shows } from "./shown-values.mjs";
import { sql, value, weir } from "./weir.mjs";

const { database, ids } = realRuns();
const folder = mkdtempSync(join(tmpdir(), "weir-report-"));

before(start);
after(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The address of the report of some runs, which `weir report` writes. */
async function reported(name, runs = [ids[name]]) {
  const path = join(folder, `${name}.html`);
  if (!existsSync(path)) await weir(["report", ...runs.map(String), "--db", database, "-o", path, "-q"]);
  return pathToFileURL(path).href;
}

/** Opens the report of a run and waits for its charts; the test ends with a page in which nothing went wrong. */
async function withReport(name, body, { runs, options } = {}) {
  const page = await open(await reported(name, runs), options);
  await drawn(page);
  await body(page);
  assert.deepEqual(await emptyCharts(page), []);
  quiet(page);
  await page.context().close();
}

/** Charts that have to be there with something in them: one that says it is empty would be no better than none. */
const CHARTS = {
  delayed: ["rtt-over-time", "rtt-lost", "rtt-distribution", "rtt-by-length", "rtt-by-position", "host-cpu"],
  lossy: [
    "flow-lanes",
    "flow-lanes-reverse",
    "media-rate",
    "stream-loss",
    "one-way-delay",
    "burst-lengths",
    "loss-attribution",
    "schedule-error",
    "host-cpu",
  ],
  survey: [
    "loss-by-flows",
    "loss-by-length",
    "rtt-distribution",
    "rtt-by-length",
    "rtt-by-position",
    "throughput-by-streams",
  ],
  link: ["link-rate", "link-drops", "link-queue", "link-lateness"],
};

const started = (run) => `(SELECT started_unix_ns FROM runs WHERE run_id = ${run})`;
const values = (found) => found.map((one) => one.value);

test("an RTT run: quantiles by second, length and position, and what was lost", () =>
  withReport("delayed", async (page) => {
    const run = ids.delayed;
    const second = `(sent_unix_ns - ${started(run)}) / 1000000000`;
    for (const [layer, percent] of [
      ["P50", 50],
      ["P90", 90],
      ["largest", 100],
    ]) {
      const expected = rttQuantiles(database, run, second, percent);
      assert.ok(expected.length >= 4, "a run of seconds");
      assert.deepEqual(
        await marks(page, "rtt-over-time", layer),
        expected.map((one) => ({ x: one.x * 1e9, value: one.value })),
        layer,
      );
    }
    assert.deepEqual(await marks(page, "rtt-by-position", "P90"), rttQuantiles(database, run, "position", 90));
    const lengths = rttQuantiles(database, run, "length", 90);
    assert.deepEqual(await marks(page, "rtt-by-length", "P90"), lengths.length <= 80 ? lengths : []);
    const [all] = rttQuantiles(database, run, "1", 90);
    shows(await figure(page, "RTT, P90"), all.value, "P90");
    const [{ sent, lost }] = sql(
      database,
      `SELECT count(*) AS sent, sum(lost) AS lost FROM rtt_packets WHERE run_id = ${run}`,
    );
    assert.ok(lost > 0, "the link of this run loses packets");
    shows(await figure(page, "lost"), lost / sent, "loss");
    const drawnLost = values(await marks(page, "rtt-lost"));
    assert.equal(
      drawnLost.reduce((sum, one) => sum + one, 0),
      lost,
    );
    // The distribution that is saved is that of the packets.
    const rows = csvRows((await download(page, 'figure[data-chart="rtt-distribution"] [data-save=csv]')).bytes);
    const packets = values(
      sql(database, `SELECT rtt_ns AS value FROM rtt_packets WHERE run_id = ${run} AND rtt_ns > 0`),
    );
    packets.sort((a, b) => a - b);
    assert.ok(rows.length > 20);
    for (const { share, rtt_ns } of rows)
      assert.equal(rtt_ns, packets[Math.max(0, Math.ceil(share * packets.length - 1e-9) - 1)], `share ${share}`);
  }));

test("the pointer and the keyboard show the values of a chart", () =>
  withReport("near", async (page) => {
    const run = ids.near;
    const chart = 'figure[data-chart="rtt-by-position"]';
    const [first, second] = rttQuantiles(database, run, "position", 90);
    const mark = page.locator(`${chart} g[data-layer="P90"] [data-x="${first.x}"]`);
    // What lies above the marks takes the pointer.
    await mark.hover({ force: true });
    const lines = await page.$$eval(`${chart} .tip-line`, (all) =>
      Object.fromEntries([...all].map((line) => [line.children[1].textContent, line.children[2].textContent])),
    );
    shows(lines.P90, first.value, "P90 under the pointer");
    await page.mouse.move(0, 0);
    await page.focus(`${chart} .plot`);
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    const spoken = await page.textContent(`${chart} [role=status]`);
    shows(/P90 ([^;]+)/.exec(spoken)[1], second.value, "P90 that is spoken");
  }));

test("a run over several flows: loss, silences, rate and bursts of each direction", () =>
  withReport("lossy", async (page) => {
    const run = ids.lossy;
    const flows = sql(
      database,
      `SELECT direction, flow, sum(received) AS received, sum(lost) AS lost, sum(bursts) AS bursts FROM flow_seconds
       WHERE run_id = ${run} GROUP BY direction, flow ORDER BY direction, flow`,
    );
    assert.equal(flows.length, 12);
    assert.ok(flows.every((flow) => flow.lost > 0));
    const cells = await page.$$eval('[data-table="flow-totals"] tbody tr', (rows) =>
      rows.map((row) => [...row.children].map((cell) => cell.textContent)),
    );
    assert.deepEqual(
      cells.map((row) => [row[2], row[4], row[9]].map(numberIn)),
      flows.map((flow) => [flow.received, flow.lost, flow.bursts]),
    );
    for (const [i, flow] of flows.entries()) shows(cells[i][5], flow.lost / (flow.lost + flow.received), `loss ${i}`);

    for (const [direction, chart, way] of [
      ["forward", "flow-lanes", "forward"],
      ["reverse", "flow-lanes-reverse", "reverse"],
    ]) {
      const own = flows.filter((flow) => flow.direction === direction);
      // A packet that arrives after the stream has given it up is lost for the stream, and received by its flow.
      const [{ lost, received }] = sql(
        database,
        `SELECT sum(lost) AS lost, sum(received) AS received FROM stream_seconds
         WHERE run_id = ${run} AND direction = '${direction}'`,
      );
      shows(await figure(page, `lost, ${way}`), lost / (lost + received), `loss ${direction}`);
      const lanes = await page.$$eval(`figure[data-chart="${chart}"] [data-lane]`, (all) =>
        all.map((lane) =>
          ["loss", "silence"].map((kind) =>
            [...lane.querySelectorAll(`[data-mark="${kind}"] > [data-value]`)].map((one) => Number(one.dataset.value)),
          ),
        ),
      );
      assert.deepEqual(
        lanes.map(([losses]) => losses.reduce((sum, one) => sum + one, 0)),
        own.map((flow) => flow.lost),
      );
      const silences = own.map((flow) =>
        values(
          sql(
            database,
            `SELECT duration_ns AS value FROM silences WHERE run_id = ${run} AND direction = '${direction}'
             AND flow = ${flow.flow} ORDER BY unix_ns`,
          ),
        ),
      );
      assert.ok(silences.some((lane) => lane.some((ns) => ns > 300e6)));
      for (const [i, lane] of silences.entries()) {
        const longest = Math.max(0, ...lane);
        assert.equal(Math.max(0, ...lanes[i][1]), longest, `the longest silence of flow ${i} ${direction}`);
      }
      const rates = sql(
        database,
        `SELECT unix_ns - duration_ns - ${started(run)} AS x, bytes * 8e9 / duration_ns AS value
         FROM stream_seconds WHERE run_id = ${run} AND direction = '${direction}' AND received > 0 ORDER BY x`,
      );
      const line = (await marks(page, "media-rate", way)).filter((one) => one.value > 0);
      assert.deepEqual(
        line.map((one) => [one.x, Math.round(one.value)]),
        rates.map((one) => [one.x, Math.round(one.value)]),
      );
      const bursts = sql(
        database,
        `SELECT length_packets AS x, count(*) AS value FROM stream_bursts WHERE run_id = ${run}
         AND direction = '${direction}' GROUP BY x ORDER BY x`,
      );
      assert.ok(bursts.length > 0);
      assert.deepEqual(await marks(page, "burst-lengths", way), bursts);
    }
    assert.deepEqual(
      values(await marks(page, "loss-attribution")),
      ["forward", "reverse"].flatMap((direction) =>
        ["network", "socket", "host_receiver", "host_sender"].map((where) =>
          value(
            database,
            `SELECT json_extract(summary, '$.${direction}.attribution.${where}') FROM runs WHERE run_id = ${run}`,
          ),
        ),
      ),
    );
    await shot(page, "real-flows-light");
  }));

test("bars of both directions stand side by side, none behind another", () =>
  withReport("lossy", async (page) => {
    const bars = await page.$$eval('figure[data-chart="burst-lengths"] rect[data-value]', (all) =>
      all.map((bar) => ({
        length: bar.dataset.x,
        from: bar.x.baseVal.value,
        to: bar.x.baseVal.value + bar.width.baseVal.value,
      })),
    );
    const pairs = bars.flatMap((bar, i) =>
      bars
        .slice(i + 1)
        .filter((other) => other.length === bar.length)
        .map((other) => [bar, other]),
    );
    assert.ok(pairs.length > 0);
    for (const [bar, other] of pairs)
      assert.ok(other.from >= bar.to - 0.2, `bars of ${bar.length} in a row: ${bar.to}, ${other.from}`);
  }));

test("a survey: loss by flows, TCP throughput, path MTU, and all its steps", () =>
  withReport("survey", async (page) => {
    const run = ids.survey;
    const steps = sql(
      database,
      `SELECT json_extract(r.parameters, '$.flows.flows') AS flows, json_extract(r.parameters, '$.flows.length') AS length,
              sum(s.lost) AS lost, sum(s.received) AS received
       FROM runs r JOIN stream_seconds s USING (run_id)
       WHERE r.parent_run_id = ${run} AND r.kind = 'flows' AND s.direction = 'forward' GROUP BY r.run_id`,
    );
    const rows = csvRows((await download(page, 'figure[data-chart="loss-by-flows"] [data-save=csv]')).bytes);
    assert.ok(rows.length >= 3);
    for (const row of rows) {
      const step = steps.find(
        (one) => one.flows === row.flows && one.length === row.length && one.received === row.received,
      );
      assert.ok(step, `a step of ${row.flows} flows and ${row.length} bytes that received ${row.received}`);
      assert.equal(row.lost, step.lost);
      assert.equal(row.loss.toPrecision(12), (step.lost / (step.lost + step.received)).toPrecision(12));
    }
    assert.deepEqual(
      values(await marks(page, "loss-by-flows")),
      rows.map((row) => row.loss),
    );
    const goodput = sql(
      database,
      `SELECT json_extract(summary, '$.direction') AS direction, json_extract(summary, '$.streams') AS streams,
              json_extract(summary, '$.goodput') AS value FROM runs WHERE parent_run_id = ${run} AND kind = 'tcp'`,
    );
    for (const direction of ["forward", "reverse"])
      assert.deepEqual(
        values(await marks(page, "throughput-by-streams", direction)),
        values(goodput.filter((one) => one.direction === direction)),
      );
    shows(await figure(page, "TCP, at most"), Math.max(...values(goodput)), "throughput");
    const mtu = value(
      database,
      `SELECT max(size) FROM mtu_probes JOIN runs USING (run_id)
       WHERE parent_run_id = ${run} AND direction = 'forward' AND acknowledged`,
    );
    assert.equal(numberIn(await figure(page, "path MTU")), mtu);
    await shot(page, "real-survey-light");
    const parts = values(
      sql(database, `SELECT run_id AS value FROM runs WHERE parent_run_id = ${run} ORDER BY run_id`),
    );
    assert.deepEqual(
      await page.$$eval("details[data-part]", (all) => all.map((one) => Number(one.dataset.part))),
      parts,
    );
    for (const part of parts) {
      await unfold(page, `details[data-part="${part}"] > summary`);
      const charts = await page.locator(`details[data-part="${part}"] figure[data-chart]:not([data-empty])`).count();
      assert.ok(charts > 0, `run ${part} has no chart`);
    }
    // A step of TCP: bytes of each connection and second.
    const tcp = value(database, `SELECT min(run_id) FROM runs WHERE parent_run_id = ${run} AND kind = 'tcp'`);
    assert.deepEqual(
      await page.$$eval(`details[data-part="${tcp}"] figure[data-chart="tcp-over-time"] [data-value]`, (all) =>
        all.map((one) => Math.round(Number(one.dataset.value))),
      ),
      values(
        sql(
          database,
          `SELECT bytes * 8e9 / duration_ns AS value FROM tcp_seconds WHERE run_id = ${tcp} ORDER BY unix_ns`,
        ),
      ).map(Math.round),
    );
  }));

test("the link of a lab run: what it dropped", () =>
  withReport("link", async (page) => {
    const [{ offered, delivered, dark }] = sql(
      database,
      `SELECT sum(offered) AS offered, sum(delivered) AS delivered, sum(dropped_dark) AS dark FROM link_seconds
       WHERE run_id = ${ids.link}`,
    );
    assert.ok(dark > 0);
    const title = await page.textContent('figure[data-chart="link-rate"] h4');
    assert.deepEqual(title.match(/[\d,]+/g).map(numberIn), [delivered, offered]);
    const drawnDark = await page.$$eval('figure[data-chart="link-drops"] g[data-layer*="dark"] [data-value]', (all) =>
      all.reduce((sum, one) => sum + Number(one.dataset.value), 0),
    );
    assert.equal(drawnDark, dark);
    await shot(page, "real-link-light");
  }));

test("the verdict: every finding of weir diagnose, whose evidence opens and whose query runs", async () => {
  for (const name of ["survey", "lossy", "delayed"]) {
    const { stdout } = await weir(["diagnose", String(ids[name]), "--db", database, "--json"]);
    const { answer, findings } = JSON.parse(stdout.trim().split("\n").at(-1));
    assert.ok(findings.length > 0, name);
    await withReport(name, async (page) => {
      const shown = await page.$$eval("[data-finding]", (all) => all.map((one) => one.dataset.finding));
      assert.deepEqual(shown.sort(), findings.map((one) => one.name).sort());
      assert.equal(await page.textContent("[data-sentence]"), answer.sentence);
      assert.equal(await page.getAttribute("[data-answer]", "data-answer"), answer.verdict);
      const head = await page.textContent(".verdict h2");
      const faults = findings.filter((one) => one.severity === "fault").length;
      assert.ok(
        faults === 0 ? /no fault/.test(head) : head.includes(`${faults} fault`),
        `${head}; there are ${faults}`,
      );
      for (const finding of await page.$$("[data-finding]")) {
        assert.equal(await (await finding.$("pre")).isVisible(), false);
        await (await finding.$("summary")).click();
        assert.equal(await (await finding.$("pre")).isVisible(), true);
        const query = await (await finding.$("pre code")).textContent();
        assert.ok(sql(database, query).length > 0, query);
      }
    });
  }
});

test("zoom by wheel, by dragging and by keyboard, and back to the whole", () =>
  withReport("lossy", async (page) => {
    const whole = await zoomed(page);
    const span = async () => {
      const [from, to] = await zoomed(page);
      return to - from;
    };
    const plot = page.locator('figure[data-chart="media-rate"] .plot');
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.click(x, y);
    await page.mouse.wheel(0, -300);
    const wheeled = await span();
    assert.ok(wheeled < (whole[1] - whole[0]) / 2);
    await page.keyboard.press("0");
    assert.deepEqual(await zoomed(page), whole);
    await page.mouse.move(x - box.width / 8, y);
    await page.mouse.down();
    await page.mouse.move(x + box.width / 8, y, { steps: 4 });
    await page.mouse.up();
    const dragged = await span();
    assert.ok(dragged < (whole[1] - whole[0]) / 2);
    await page.keyboard.press("+");
    assert.ok((await span()) < dragged);
    // The chart may be drawn anew between two clicks, as it is after a zoom.
    await page.mouse.move(x, y);
    for (const clickCount of [1, 2]) {
      await plot.locator("svg").evaluate((svg) => svg.replaceWith(svg.cloneNode(true)));
      await page.mouse.down({ clickCount });
      await plot.locator("svg").evaluate((svg) => svg.replaceWith(svg.cloneNode(true)));
      await page.mouse.up({ clickCount });
    }
    assert.deepEqual(await zoomed(page), whole);
  }));

test("every chart is saved as SVG, PNG and CSV", () =>
  withReport("lossy", async (page) => {
    const run = ids.lossy;
    const charts = await page.$$eval("figure[data-chart]:not([data-empty])", (all) =>
      all.map((one) => one.dataset.chart),
    );
    let rates = null;
    for (const chart of charts) {
      const save = (form) => download(page, `figure[data-chart="${chart}"] [data-save=${form}]`);
      const svg = (await save("svg")).bytes.toString();
      const shapes = await page.evaluate((text) => {
        const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
        return parsed.querySelector("parsererror") ? 0 : parsed.querySelectorAll("path[d], rect").length;
      }, svg);
      assert.ok(shapes > 1, `${chart}.svg`);
      const png = (await save("png")).bytes;
      assert.equal(png.subarray(1, 4).toString(), "PNG");
      assert.ok(png.length > 3000, `${chart}.png has ${png.length} bytes`);
      const rows = csvRows((await save("csv")).bytes);
      assert.ok(rows.length > 0, `${chart}.csv`);
      if (chart === "media-rate") rates = rows;
    }
    const columns = [
      "direction",
      "at_ns",
      "duration_ns",
      "received",
      "bytes",
      "lost",
      "late",
      "owd_p50_ns",
      "owd_max_ns",
    ];
    assert.deepEqual(
      rates.map((row) => columns.map((name) => row[name])),
      sql(
        database,
        `SELECT *, unix_ns - duration_ns - ${started(run)} AS at_ns FROM stream_seconds WHERE run_id = ${run}
         ORDER BY direction, at_ns`,
      ).map((row) => columns.map((name) => row[name])),
    );
  }));

for (const name of ["survey", "lossy", "delayed", "link", "silent", "silent-rtt", "marked"]) {
  test(`${name}: all its charts, in light and dark, on a phone and on paper, with all opened`, () =>
    withReport(name, async (page) => {
      const there = await page.$$eval("figure[data-chart]:not([data-empty])", (all) =>
        all.map((one) => one.dataset.chart),
      );
      for (const chart of CHARTS[name] ?? []) assert.ok(there.includes(chart), `${chart} is missing or empty`);
      await page.emulateMedia({ media: "print" });
      assert.equal(await page.locator("[data-save]:visible").count(), 0);
      assert.ok((await page.locator("figure svg.chart:visible").count()) > 0);
      await page.emulateMedia({ media: "screen" });
      await unfold(page, ".evidence > summary, .facts summary");
      assert.deepEqual(await axe(page), []);
      await page.emulateMedia({ colorScheme: "dark" });
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(16, 19, 23)");
      assert.deepEqual(await axe(page), [], "dark");
      await unfold(page, ".evidence > summary, .facts summary");
      await shot(page, `real-${name}-dark`);
      await page.setViewportSize({ width: 375, height: 740 });
      await drawn(page);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 375, `${width} pixels wide on a phone of 375`);
      await page.emulateMedia({ colorScheme: "light" });
      await shot(page, `real-${name}-phone`);
    }));
}

test("a report is printed with its charts", () =>
  withReport("near", async (page) => {
    assert.ok((await page.pdf()).length > 20_000);
  }));

test("two runs side by side", () =>
  withReport(
    "two",
    async (page) => {
      const runs = [ids.near, ids.delayed];
      const cells = await page.$$eval('[data-table="compare"] tbody tr', (rows) =>
        rows.filter((row) => row.children[0].textContent === "RTT, P90").map((row) => row.children[1].textContent),
      );
      const [near] = rttQuantiles(database, runs[0], "1", 90);
      shows(cells[0], near.value, "P90 of the first run");
      const names = await page.$$eval('figure[data-chart="compare-rtt"] g[data-layer]', (all) =>
        all.map((one) => one.dataset.layer),
      );
      assert.equal(names.length, 2);
      await shot(page, "real-compare-light");
      await page.click(`nav a[href="#/runs/${runs[1]}"]`);
      await drawn(page);
      assert.equal(await page.getAttribute("article", "data-run"), String(runs[1]));
    },
    { runs: [ids.near, ids.delayed] },
  ));

test("the data in the file are those of weir runs export", async () => {
  const url = await reported("near");
  const text = readFileSync(new URL(url), "utf8");
  assert.ok(text.length > 100_000);
  assert.equal(text.split('id="weir-data"').length, 2);
  const { stdout } = await weir(["runs", "export", String(ids.near), "--as", "json", "--db", database]);
  const page = await open(url);
  await drawn(page);
  const csv = csvRows((await download(page, 'figure[data-chart="rtt-over-time"] [data-save=csv]')).bytes);
  const { columns } = JSON.parse(stdout).runs[0].series.rtt_seconds;
  assert.deepEqual(
    csv.map((row) => row.rtt_p99_ns),
    columns.rtt_p99_ns.values,
  );
  await page.context().close();
});
