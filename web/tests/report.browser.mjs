// Reports of made-up documents, opened from files: values against the document, evidence, zoom, downloads, dark, phone,
// accessibility. Reports of real runs are in real-report.browser.mjs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  axe,
  bounded,
  download,
  drawn,
  emptyCharts,
  marks,
  meter,
  open,
  quiet,
  reportOf,
  shot,
  start,
  stop,
  unfold,
  zoomed,
  zoomIn,
} from "./browser.mjs";
import { EVIL, FIXTURES } from "./fixtures.mjs";

before(start);
after(stop);

/** Charts that must be there, and have something in them, for a run of each kind with data. */
const EXPECTED = {
  rtt: ["rtt-over-time", "rtt-lost", "rtt-distribution", "rtt-by-length", "rtt-by-position", "host-cpu"],
  flows: [
    "flow-lanes",
    "media-rate",
    "stream-loss",
    "one-way-delay",
    "burst-lengths",
    "loss-attribution",
    "schedule-error",
    "host-cpu",
    "host-drops",
  ],
  survey: [
    "loss-by-flows",
    "loss-by-length",
    "rtt-distribution",
    "rtt-by-length",
    "rtt-by-position",
    "throughput-by-streams",
  ],
  lab: ["link-rate", "link-drops", "link-queue", "link-lateness"],
  strange: ["plain-teleport_seconds-count", "plain-teleport_seconds-ns", "plain-teleport_seconds-bytes"].map((id) =>
    id.replaceAll("_", "-"),
  ),
};

for (const [name, charts] of Object.entries(EXPECTED)) {
  test(`a report of kind ${name} has all its charts, none of them empty`, async () => {
    const page = await open(reportOf(name, FIXTURES[name]()));
    await drawn(page);
    const there = await page.$$eval("figure[data-chart]:not([data-empty])", (all) =>
      all.map((one) => one.dataset.chart),
    );
    for (const chart of charts)
      assert.ok(there.includes(chart), `${chart} is missing or empty; there are ${there.join(", ")}`);
    assert.deepEqual(await emptyCharts(page), []);
    quiet(page);
    await shot(page, `${name}-light`);
    await page.context().close();
  });
}

test("the check for empty charts finds one", async () => {
  const page = await open(reportOf("rtt-broken", FIXTURES.rtt()));
  await drawn(page);
  assert.deepEqual(await emptyCharts(page, "rtt-by-length"), ["rtt-by-length"]);
  await page.context().close();
});

test("each chart is drawn once", async () => {
  // Counts drawings that another one replaces.
  const count = () => {
    window.replaced = 0;
    new MutationObserver((changes) => {
      for (const { removedNodes } of changes)
        window.replaced += [...removedNodes].filter((node) => node.nodeName === "svg").length;
    }).observe(document, { childList: true, subtree: true });
  };
  const page = await open(reportOf("once", FIXTURES.rtt()), { prepare: (page) => page.addInitScript(count) });
  await drawn(page);
  // What comes into sight is drawn in the next frame, the rest 150 ms later.
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await page.waitForTimeout(600);
  assert.equal(await page.evaluate(() => window.replaced), 0);
  await page.context().close();
});

test("the charts of an RTT run carry the document's values", async () => {
  const document = FIXTURES.rtt();
  const series = document.runs[0].series;
  const page = await open(reportOf("rtt-values", document));
  await drawn(page);
  const column = (name, key) => series[name].columns[key].values;
  assert.deepEqual(
    await marks(page, "rtt-by-length", "P90"),
    column("rtt_by_length", "length").map((x, i) => ({ x, value: column("rtt_by_length", "rtt_p90_ns")[i] })),
  );
  assert.deepEqual(
    await marks(page, "rtt-by-position", "P50"),
    column("rtt_by_position", "position").map((x, i) => ({ x, value: column("rtt_by_position", "rtt_p50_ns")[i] })),
  );
  assert.deepEqual(
    (await marks(page, "rtt-over-time", "largest")).map((one) => one.value),
    column("rtt_seconds", "rtt_max_ns"),
  );
  const title = await page.textContent('figure[data-chart="rtt-distribution"] h4');
  assert.match(title, /^RTT: P90 196 µs/);
  // The clouds' P90, in nanoseconds, as lines to compare with.
  const rules = await page.$$eval('figure[data-chart="rtt-distribution"] [data-rule]', (all) =>
    all.map((one) => Number(one.dataset.value)),
  );
  assert.deepEqual(rules, [133_000, 280_000, 397_000, 520_000]);
  assert.match(await page.textContent('figure[data-chart="rtt-distribution"] .note'), /October 21-22, 2022/);
  await page.context().close();
});

test("the lanes show the outage where it was, and the table of flows counts its packets", async () => {
  const document = FIXTURES.flows();
  const run = document.runs[0];
  const page = await open(reportOf("flows-values", document));
  await drawn(page);
  assert.match(
    await page.textContent('figure[data-chart="flow-lanes"] h4'),
    /^Flow 3 was dark for 700 ms at \d\d:32:20$/,
  );
  const silent = await page.$$eval('figure[data-chart="flow-lanes"] [data-mark="silence"] > [data-value]', (all) =>
    all.map((one) => ({
      lane: one.closest("[data-lane]").dataset.lane,
      at: Number(one.dataset.at),
      value: Number(one.dataset.value),
    })),
  );
  assert.deepEqual(silent, [{ lane: "flow 3", at: 12.4e9, value: 7e8 }]);
  const lostByLane = await page.$$eval('figure[data-chart="flow-lanes"] [data-lane]', (lanes) =>
    lanes.map((lane) =>
      [...lane.querySelectorAll('[data-mark="loss"] > [data-value]')].reduce(
        (sum, one) => sum + Number(one.dataset.value),
        0,
      ),
    ),
  );
  assert.deepEqual(lostByLane, run.series.flow_totals.columns.lost.values);
  const cells = await page.$$eval('[data-table="flow-totals"] tbody tr', (rows) =>
    rows.map((row) => Number(row.children[4].textContent.replaceAll(",", ""))),
  );
  assert.deepEqual(cells, run.series.flow_totals.columns.lost.values);
  const attribution = await marks(page, "loss-attribution");
  const said = run.summary.forward.attribution;
  assert.deepEqual(
    attribution.map((one) => one.value),
    [said.network, said.socket, said.host_receiver, said.host_sender],
  );
  assert.deepEqual(
    await marks(page, "burst-lengths"),
    run.series.stream_burst_lengths.columns.length_packets.values.map((x, i) => ({
      x,
      value: run.series.stream_burst_lengths.columns.bursts.values[i],
    })),
  );
  await page.context().close();
});

test("a survey shows loss with its bounds by flows and by length, and its steps when opened", async () => {
  const document = FIXTURES.survey();
  const { summary } = document.runs[0];
  const page = await open(reportOf("survey-values", document));
  await drawn(page);
  assert.deepEqual(
    (await marks(page, "loss-by-length")).map((one) => one.value),
    summary.by_length.map((one) => one.loss),
  );
  assert.deepEqual(
    (await marks(page, "loss-by-flows")).map((one) => one.value),
    summary.by_flows.map((one) => one.loss),
  );
  const highs = await page.$$eval('figure[data-chart="loss-by-flows"] [data-high]', (all) =>
    all.map((one) => Number(one.dataset.high)),
  );
  assert.deepEqual(
    highs,
    summary.by_flows.map((one) => one.loss_interval[1]),
  );
  assert.match(
    await page.textContent('figure[data-chart="loss-by-length"] h4'),
    /Loss jumps to 2\.45 % at 8,972 bytes/,
  );
  const clouds = await page.$$eval('figure[data-chart="loss-by-flows"] [data-rule]', (all) =>
    all.map((one) => one.dataset.rule).sort(),
  );
  assert.deepEqual(clouds, ["AWS 0.000002 %", "Azure 0.036601 %", "Oracle 0.000308 %"]);
  await unfold(page, 'details[data-part="17"] > summary');
  assert.match(await page.textContent('details[data-part="17"] figure[data-chart="flow-lanes"] h4'), /Flow 3 was dark/);
  for (const part of [11, 12, 13]) await unfold(page, `details[data-part="${part}"] > summary`);
  assert.deepEqual(await emptyCharts(page), []);
  quiet(page);
  await shot(page, "survey-open");
  await page.context().close();
});

test("the answer comes first, then the findings, then figures and charts", async () => {
  const document = FIXTURES.survey();
  const { answer } = document.runs[0].diagnosis;
  const page = await open(reportOf("survey-answer", document));
  await drawn(page);
  assert.equal(await page.getAttribute("[data-answer]", "data-answer"), "carries_with_repair");
  assert.equal(await page.textContent("[data-sentence]"), answer.sentence);
  assert.equal(await page.textContent("[data-worst]"), `Worst: ${answer.worst.brief}.`);
  assert.equal(await page.textContent("[data-basis]"), `Rests on: ${answer.basis.sentence}`);
  assert.equal(await page.textContent("[data-next]"), `Next: ${answer.next}`);
  const order = await page.$$eval(
    "article > [data-answer], article > .verdict, article > .figures, article > .charts",
    (all) => all.map((one) => one.classList[0]),
  );
  assert.deepEqual(order.slice(0, 4), ["answer", "verdict", "figures", "charts"]);
  // Evidence is folded away: no number in nanoseconds is seen before it is asked for.
  assert.doesNotMatch(await page.innerText("[data-answer]"), /confidence| ns\b/i);
  assert.deepEqual(await axe(page), []);
  quiet(page);
  await page.context().close();
});

test("a document without an answer, of an older version, shows its findings", async () => {
  const page = await open(reportOf("flows-old", FIXTURES.flows()));
  await drawn(page);
  assert.equal(await page.locator("[data-answer]").count(), 0);
  assert.match(await page.textContent(".verdict h2"), /^Findings: 1 fault/);
  await page.context().close();
});

test("evidence is a click away: numbers, test, query, and the command to copy", async () => {
  const document = FIXTURES.flows();
  const page = await open(reportOf("evidence", document));
  await page.waitForSelector("article");
  assert.equal(await page.getAttribute("[data-verdict]", "data-verdict"), "fault");
  const finding = '[data-finding="outage"]';
  assert.equal(await page.isVisible(`${finding} pre`), false);
  await unfold(page, `${finding} summary`);
  assert.equal(await page.isVisible(`${finding} pre`), true);
  assert.equal(await page.textContent(`${finding} pre code`), document.runs[0].diagnosis.findings[0].query);
  const text = await page.textContent(`${finding} .evidence`);
  assert.match(text, /silence of one flow against the gaps of the others/);
  assert.match(text, /700 ms/);
  assert.match(text, /Its cause: 90.5 %, right in 18 of 19 random networks/);
  assert.match(await page.textContent(finding), /Fault/);
  assert.equal(
    await page.textContent("[data-command]"),
    "weir flows far.example.net --flows 8 --length 8100 --rate 2.5Gbit/s",
  );
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.click(`${finding} .copy`);
  await page.waitForFunction(() => document.querySelector('[data-finding="outage"] .copy').textContent === "Copied");
  await page.context().close();
});

test("time charts zoom together, by wheel, drag, keyboard and buttons", async () => {
  const page = await open(reportOf("zoom", FIXTURES.flows()));
  await drawn(page);
  const plot = page.locator('figure[data-chart="flow-lanes"] .plot');
  await plot.scrollIntoViewIfNeeded();
  const [from, to] = await zoomed(page);
  const box = await plot.boundingBox();
  // Drag over the middle third.
  await page.mouse.move(box.x + box.width * 0.4, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 90, { steps: 5 });
  await page.mouse.up();
  const dragged = await zoomed(page);
  assert.ok(dragged[1] - dragged[0] < (to - from) * 0.3, `dragged to ${dragged}`);
  // All bars of the page say the same part.
  const all = await page.$$eval("[data-zoom]", (bars) => new Set(bars.map((bar) => bar.dataset.from)).size);
  assert.equal(all, 1);
  // The chart has the focus now: the wheel zooms.
  await page.mouse.wheel(0, -200);
  const wheeled = await zoomed(page);
  assert.ok(wheeled[1] - wheeled[0] < dragged[1] - dragged[0]);
  await page.keyboard.press("0");
  assert.deepEqual(await zoomed(page), [from, to]);
  for (let i = 0; i < 12; i++) await page.keyboard.press("+");
  const near = await zoomed(page);
  assert.equal(Math.round((near[1] - near[0]) / 1e6), 1000, "down to a second");
  await page.keyboard.press("Shift+ArrowLeft");
  assert.ok((await zoomed(page))[0] < near[0]);
  await page.keyboard.press("-");
  assert.ok((await zoomed(page))[1] - (await zoomed(page))[0] > 1.9e9);
  await page.click('[data-zoom] button:has-text("Whole run")');
  assert.deepEqual(await zoomed(page), [from, to]);
  // Without focus or Ctrl the wheel scrolls the page.
  await page.locator("h1").click();
  await page.evaluate(() => document.activeElement?.blur());
  await plot.hover();
  await page.mouse.wheel(0, 200);
  assert.deepEqual(await zoomed(page), [from, to]);
  quiet(page);
  await page.context().close();
});

test("the keyboard moves a point, whose exact values are shown and spoken", async () => {
  const document = FIXTURES.rtt();
  const page = await open(reportOf("keys", document));
  await drawn(page);
  const chart = 'figure[data-chart="rtt-by-length"]';
  await page.focus(`${chart} .plot`);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const { length, rtt_p90_ns } = document.runs[0].series.rtt_by_length.columns;
  const spoken = await page.textContent(`${chart} [role=status]`);
  assert.ok(spoken.includes(`${length.values[1]}`), spoken);
  assert.ok(spoken.includes(`${rtt_p90_ns.values[1] / 1000} µs`), spoken);
  assert.equal(await page.isVisible(`${chart} .tip`), true);
  await page.focus('figure[data-chart="rtt-over-time"] .plot');
  await page.keyboard.press("End");
  const time = await page.textContent('figure[data-chart="rtt-over-time"] [role=status]');
  assert.match(time, /06:33:07\.\d{3} \(05:33:07\.\d{3} UTC\)/);
  await page.context().close();
});

test("in the lanes the keyboard goes from event to event", async () => {
  const page = await open(reportOf("lane-keys", FIXTURES.flows()));
  await drawn(page);
  const chart = 'figure[data-chart="flow-lanes"]';
  await page.focus(`${chart} .plot`);
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  const spoken = await page.textContent(`${chart} [role=status]`);
  assert.match(spoken, /flow 3/);
  assert.match(spoken, /packets lost 3,376/);
  await page.context().close();
});

test("charts are saved as SVG, PNG and CSV with what they show", async () => {
  const document = FIXTURES.rtt();
  const page = await open(reportOf("save", document));
  await drawn(page);
  const chart = 'figure[data-chart="rtt-by-length"]';
  const svg = await download(page, `${chart} [data-save=svg]`);
  assert.equal(svg.name, "rtt-by-length.svg");
  const text = svg.bytes.toString();
  assert.match(text, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.match(text, /<title>Longer packets take longer/);
  assert.ok(!text.includes("var(--"), "colours are written out");
  const values = document.runs[0].series.rtt_by_length.columns.rtt_p90_ns.values;
  for (const value of values) assert.ok(text.includes(`data-value="${value}"`));
  const csv = await download(page, `${chart} [data-save=csv]`);
  const lines = csv.bytes.toString().trim().split("\r\n");
  assert.equal(lines[0], "length [bytes],count,lost,rtt_p50_ns,rtt_p90_ns,rtt_p99_ns");
  assert.deepEqual(
    lines.slice(1).map((line) => Number(line.split(",")[4])),
    values,
  );
  const png = await download(page, `${chart} [data-save=png]`);
  assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
  assert.ok(png.bytes.length > 5000);
  await unfold(page, `${chart} .values summary`);
  assert.equal(await page.locator(`${chart} .values tbody tr`).count(), values.length);
  quiet(page);
  await page.context().close();
});

test("runs without packets say so, in every chart, and are never blank", async () => {
  for (const name of ["empty", "empty-rtt"]) {
    const page = await open(reportOf(name, FIXTURES[name]()));
    await drawn(page);
    assert.match(await page.textContent("[data-verdict=none]"), /no packet was received/);
    const messages = await page.$$eval("figure[data-empty] .empty", (all) => all.map((one) => one.textContent));
    assert.ok(messages.length >= 2);
    for (const message of messages) assert.match(message, /^No packets|^Every|^No /);
    assert.deepEqual(await emptyCharts(page), []);
    assert.match(await page.textContent(".run-head"), /interrupted/);
    quiet(page);
    await shot(page, name);
    await page.context().close();
  }
});

test("markup in names, notes and findings stays text", async () => {
  const page = await open(reportOf("hostile", FIXTURES.hostile()));
  await drawn(page);
  await unfold(page, "details > summary");
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.locator("main script").count(), 0);
  assert.ok((await page.textContent("h1")).includes(EVIL.replace("\u202e", "\ufffd")));
  assert.ok((await page.textContent(".run-note")).includes("second line"));
  assert.match(await page.textContent("[data-command]"), /^weir flows '<img src=x/);
  quiet(page);
  await page.context().close();
});

test("a clock that was set back is drawn in the order of its times", async () => {
  const page = await open(reportOf("clock", FIXTURES["clock-step"]()));
  await drawn(page);
  assert.deepEqual(await emptyCharts(page), []);
  const at = await page.$$eval('figure[data-chart="rtt-over-time"] g[data-layer="P50"] [data-x]', (all) =>
    all.map((one) => Number(one.dataset.x)),
  );
  assert.equal(at.length, 20);
  assert.deepEqual(
    at,
    [...at].sort((a, b) => a - b),
  );
  await page.context().close();
});

test("data that cannot be read are told in words", async () => {
  const message = async (url) => {
    const page = await open(url);
    const text = await page.textContent("[data-failure]");
    await page.context().close();
    return text;
  };
  assert.match(await message(reportOf("newer", FIXTURES.newer())), /version 2 \(written by Weir 9\.9\.9\)/);
  assert.match(await message(new URL("../dist/index.html", import.meta.url).href), /contains no data/);
  const { readFileSync, writeFileSync } = await import("node:fs");
  const url = reportOf("cut", FIXTURES.rtt());
  const text = readFileSync(new URL(url), "utf8").replace(/(id="weir-data">.{400})[^<]*/, "$1");
  writeFileSync(new URL(url), text);
  assert.match(await message(url), /Cannot read the data.*truncated/);
});

test("several runs are compared, and each has its own page", async () => {
  const document = FIXTURES.compare();
  const page = await open(reportOf("compare", document));
  await drawn(page);
  assert.equal(await page.getAttribute("[data-compare]", "data-compare"), "1,2,3,4,100");
  const loss = await marks(page, "compare-loss");
  const of = (id) => document.runs.find((run) => run.run_id === id).summary;
  assert.deepEqual(
    loss.map((one) => one.value),
    [of(3).forward.loss, of(4).forward.loss, of(100).by_flows[3].loss],
  );
  const names = await page.$$eval('figure[data-chart="compare-rtt"] g[data-layer]', (all) =>
    all.map((one) => one.dataset.layer),
  );
  assert.deepEqual(names, ["run 1, far.example.net", "run 2, far.example.net", "run 100, far.example.net"]);
  assert.match(await page.textContent('[data-table="compare"]'), /\+50 %/);
  assert.deepEqual(await emptyCharts(page), []);
  await shot(page, "compare-light");
  await page.click('nav a[href="#/runs/3"]');
  await page.waitForSelector('article[data-run="3"]');
  quiet(page);
  await page.context().close();
});

test("the policy of the page allows its own script and style, and no other host", async () => {
  const page = await open(reportOf("policy", FIXTURES.rtt()));
  await drawn(page);
  const policy = await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', "content");
  assert.match(policy, /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; /);
  assert.ok(!policy.includes("unsafe"));
  const tried = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "window.inlined = true";
    document.body.append(script);
    const image = new Image();
    const loaded = new Promise((resolve) => {
      image.onload = () => resolve(true);
      image.onerror = () => resolve(false);
    });
    image.src = "http://127.0.0.1:9/x.png";
    const fetched = await fetch("http://127.0.0.1:9/").then(
      () => true,
      () => false,
    );
    return { inlined: window.inlined === true, image: await loaded, fetched };
  });
  assert.deepEqual(tried, { inlined: false, image: false, fetched: false });
  assert.ok(
    page.problems.filter((one) => one.includes("Content Security Policy")).length >= 3,
    page.problems.join("\n"),
  );
  await page.context().close();
});

test("axe-core would find what it looks for", async () => {
  const page = await open(reportOf("axe-check", FIXTURES.rtt()));
  await drawn(page);
  await page.evaluate(() => {
    const button = document.createElement("button");
    document.querySelector("main").append(button);
  });
  assert.deepEqual(
    (await axe(page)).map((one) => one.id),
    ["button-name"],
  );
  await page.context().close();
});

test("dark and light: by the system, and by the switch", async () => {
  const page = await open(reportOf("dark", FIXTURES.flows()), { dark: true });
  await drawn(page);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  assert.equal(dark, "rgb(16, 19, 23)");
  await shot(page, "flows-dark");
  await page.click("[data-theme-switch]");
  assert.equal(await background(), dark);
  await page.click("[data-theme-switch]");
  assert.equal(await background(), "rgb(246, 247, 249)");
  await page.context().close();
});

test("on a phone a comparison is no wider than the screen", async () => {
  const page = await open(reportOf("phone-compare", FIXTURES.compare()), { width: 375, height: 740 });
  await drawn(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 375);
  await shot(page, "compare-phone");
  await page.context().close();
});

test("axe-core finds nothing serious, in light and dark, with all opened", async () => {
  for (const [name, dark] of [
    ["flows", true],
    ["compare", true],
    ["strange", false],
  ]) {
    const page = await open(reportOf(`axe-${name}`, FIXTURES[name]()), { dark });
    await drawn(page);
    await unfold(page, ".evidence > summary, .facts summary, .values > summary");
    assert.deepEqual(await axe(page), [], `${name}${dark ? ", dark" : ""}`);
    await page.context().close();
  }
});

test("a day of 16 flows opens and zooms with little work, and keeps its one bad second", async (t) => {
  let done;
  const page = await open(reportOf("day", FIXTURES.day()), {
    prepare: async (page) => {
      done = await meter(page);
    },
  });
  await drawn(page);
  const opening = await done();
  t.diagnostic(`opened and drawn: ${JSON.stringify(opening)}`);
  assert.match(await page.textContent('figure[data-chart="flow-lanes"] h4'), /^Flow 9 was dark for 920 ms/);
  const worst = await page.$$eval(
    'figure[data-chart="flow-lanes"] [data-lane="flow 9"] [data-mark="loss"] > [data-value]',
    (marks) => Math.max(...marks.map((one) => Number(one.dataset.value))),
  );
  assert.ok(worst >= 2100, "the bad second is in the lane");
  await shot(page, "day-light");
  await page.click('figure[data-chart="flow-lanes"] .plot', { position: { x: 600, y: 60 } });
  const steps = await zoomIn(page, "flow-lanes", done);
  t.diagnostic(`zoom steps: ${JSON.stringify(steps)}`);
  bounded(opening, steps);
  const bar = await zoomed(page);
  assert.ok(bar[1] - bar[0] <= 1.01e9, "zoomed to a second");
  quiet(page);
  await page.context().close();
});
