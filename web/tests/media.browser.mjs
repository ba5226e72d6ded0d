// Reports of made-up runs of `weir send` and `weir recv`: values against the document, the lanes of flows and events, the
// sentences on how it went, hostile text, a day.
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
  title,
  unfold,
  zoomIn,
} from "./browser.mjs";
import { DARK, EVIL, FIXTURES, FLOWS } from "./fixtures.mjs";

before(start);
after(stop);

const figure = (page, name) => page.textContent(`article > dl [data-figure="${name}"] .value`);
const detail = (page, name) => page.textContent(`article > dl [data-figure="${name}"] .detail`);
const column = (document, name, key, run = 0) => document.runs[run].series[name].columns[key].values;
const sum = (values) => values.reduce((a, b) => a + b, 0);
/** What a layer of a chart carries, in the order of its x. */
const values = async (page, chart, layer) => (await marks(page, chart, layer)).map((one) => one.value);

const EXPECTED = {
  recv: ["frames", "frame-delay", "budget-use", "recv-rate", "recv-loss", "flow-states", "recv-cpu", "host-cpu"],
  merged: ["frames", "budget-use", "recv-rate", "recv-loss-0", "recv-loss-1", "recv-late", "flow-states", "recv-cpu"],
  send: ["send-rate", "send-packets", "send-code", "send-trouble", "send-rtt", "flow-states", "send-cpu"],
};

for (const [name, charts] of Object.entries(EXPECTED)) {
  test(`a report of ${name} has all its charts, none of them empty`, async () => {
    const page = await open(reportOf(name, FIXTURES[name]()));
    await drawn(page);
    const there = await page.$$eval("figure[data-chart]:not([data-empty])", (all) =>
      all.map((one) => one.dataset.chart),
    );
    assert.deepEqual(
      charts.filter((chart) => !there.includes(chart)),
      [],
    );
    assert.deepEqual(await emptyCharts(page), []);
    // Every chart has a title that says something, and axes with what they count.
    for (const text of await page.$$eval("figure[data-chart] h4", (all) => all.map((one) => one.textContent)))
      assert.ok(text.length > 15 && !/undefined|NaN|null|–/.test(text), text);
    quiet(page);
    await shot(page, `media-${name}-light`);
    await page.context().close();
  });
}

test("loss before and after repair is that of the document, stacked by what repaired it", async () => {
  const document = FIXTURES.recv();
  const page = await open(reportOf("recv-values", document));
  await drawn(page);
  const of = (key) => column(document, "recv_seconds", key);
  assert.deepEqual(await values(page, "recv-loss", "missed at first"), of("lost"));
  for (const [layer, key] of [
    ["repaired by FEC", "recovered"],
    ["repaired by ARQ", "retransmitted"],
    ["reordered", "overtaken"],
  ])
    assert.deepEqual(
      await values(page, "recv-loss", layer),
      of(key).filter((value) => value > 0),
      layer,
    );
  const layers = await page.$$eval('figure[data-chart="recv-loss"] [data-layer]', (all) =>
    all.map((one) => one.dataset.layer),
  );
  assert.ok(!layers.includes("residual loss") && !layers.includes("received from another sender"), layers.join());
  const lost = sum(of("lost")) - sum(of("overtaken"));
  assert.ok((await title(page, "recv-loss")).startsWith(`${lost.toLocaleString("en")} packets of 2,304,000 were lost`));
  assert.match(await title(page, "recv-loss"), /; no residual loss; 60 were only reordered$/);
  assert.equal(await figure(page, "residual loss"), "0 %");
  assert.equal(await detail(page, "raw loss"), `${lost.toLocaleString("en")} packets`);
  // The columns stand on each other: each begins where the one below ends.
  const tops = await page.$$eval('figure[data-chart="recv-loss"] rect.stack', (all) =>
    all
      .filter((one) => one.dataset.x === "20000000000")
      .map((one) => [Number(one.getAttribute("y")), Number(one.getAttribute("height"))]),
  );
  assert.equal(tops.length, 3);
  for (let i = 1; i < tops.length; i++) assert.ok(Math.abs(tops[i][0] + tops[i][1] - tops[i - 1][0]) <= 1.6, `${tops}`);
  await page.context().close();
});

test("frames, delay and budget are those of the document", async () => {
  const document = FIXTURES.merged();
  const page = await open(reportOf("merged-values", document));
  await drawn(page);
  const of = (key) => column(document, "frame_seconds", key);
  for (const [layer, key] of [
    ["complete", "frames"],
    ["damaged: incomplete", "damaged"],
    ["lost: no packets", "lost"],
    ["dropped: slow output", "dropped"],
  ])
    assert.deepEqual(
      await values(page, "frames", layer),
      of(key).filter((value) => value > 0),
      layer,
    );
  for (const [chart, prefix] of [
    ["frame-delay", "delay"],
    ["budget-use", "used"],
  ]) {
    for (const [layer, q] of [
      ["P50", "p50"],
      ["P99", "p99"],
      ["P99.9", "p999"],
      ["largest", "max"],
    ])
      assert.deepEqual(await values(page, chart, layer), of(`${prefix}_${q}_ns`), `${chart} ${layer}`);
    assert.deepEqual(await values(page, chart, "latency budget"), of("budget_ns"));
  }
  assert.match(
    await title(page, "frames"),
    /^2,388 of 2,400 frames were complete \(99\.5 %\): 4 damaged, 2 lost, 6 dropped for a slow output/,
  );
  assert.equal(await page.getAttribute("[data-verdict]", "data-verdict"), "fault");
  assert.equal(await figure(page, "complete frames"), "99.5 %");
  // Two senders: one chart of loss and one line each, named as the receiver was told of them.
  assert.match(await title(page, "recv-loss-0"), /^studio-b:5004: 435 packets .* 150 by another sender/);
  assert.match(await title(page, "recv-loss-1"), /^studio-c:5004: .*; residual loss 37/);
  assert.deepEqual(await values(page, "recv-loss-1", "residual loss"), [37]);
  assert.deepEqual(
    (await values(page, "recv-late", "studio-c:5004: too late: after the playout deadline")).filter(Boolean),
    [9],
  );
  const names = await page.$$eval('figure[data-chart="recv-rate"] [data-layer]', (all) =>
    all.map((one) => one.dataset.layer),
  );
  assert.deepEqual(names, ["studio-b:5004", "studio-c:5004"]);
  await page.context().close();
});

test("the lanes show which flow was left, when and why, and events are marks and a list", async () => {
  const document = FIXTURES.recv();
  const page = await open(reportOf("recv-lanes", document));
  await drawn(page);
  assert.match(await title(page, "flow-states"), /^Flow 5 was unused for 1 s at \d\d:32:28, because it was silent$/);
  const chart = 'figure[data-chart="flow-states"]';
  const states = await page.$$eval(`${chart} [data-state] > [data-value]`, (all) =>
    all.map((one) => [
      one.closest("[data-lane]").dataset.lane,
      one.parentElement.dataset.state,
      Number(one.dataset.at),
      Number(one.dataset.value),
    ]),
  );
  const begin = DARK.second * 1e9;
  assert.deepEqual(
    states.filter(([, state]) => state !== "used"),
    [
      ["flow 5", "trial", begin + 1.03e9, 5e7],
      ["flow 5", "silent", begin + 3e7, 1e9],
    ],
  );
  assert.equal(
    states.filter(([lane, state, at, value]) => lane !== "flow 5" && state === "used" && at === 0 && value === 60e9)
      .length,
    FLOWS - 1,
  );
  const events = await page.$$eval(`${chart} [data-event]`, (all) =>
    all.map((one) => [one.dataset.event, Number(one.dataset.at)]),
  );
  assert.deepEqual(
    events,
    column(document, "media_events", "event").map((event, i) => [event, column(document, "media_events", "at_ns")[i]]),
  );
  const rows = await page.$$eval('[data-table="media-events"] tbody tr', (all) =>
    all.map((row) => [...row.children].map((cell) => cell.textContent)),
  );
  assert.deepEqual(
    rows.map(([, what]) => what),
    [
      "connected: studio-b:5004: session 4f2a, 16 flows",
      "format: studio-b:5004: 1920 x 1080, 59.94 frames/s, 4:2:2, 10 bit",
      "ended: studio-b:5004: the input ended",
    ],
  );
  assert.match(rows[0][0], /^2026-11-21 06:32:08\.\d{3}05:32:08\.\d{3} UTC$/);
  // By keyboard: from the events down to the flow, then to what happened to it.
  await page.focus(`${chart} .plot`);
  for (let i = 0; i < 1 + DARK.flow; i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(
    await page.textContent(`${chart} [role=status]`),
    /flow 5 used 98\.3 % of the time, dropped 1 time; .*unused: silent 1 s/,
  );
  const csv = await download(page, `${chart} [data-save=csv]`);
  assert.match(csv.bytes.toString(), /^lane,what,at_ns,duration_ns,detail\r\nevents,connected,120000000,,/);
  assert.ok(csv.bytes.toString().includes(`flow 5,silent,${begin + 3e7},1000000000,`));
  quiet(page);
  await page.context().close();
});

test("a sender's packets by cause, code rate and trouble are those of the document", async () => {
  const document = FIXTURES.send();
  const page = await open(reportOf("send-values", document));
  await drawn(page);
  const of = (key) => column(document, "send_seconds", key);
  for (const [layer, key] of [
    ["source packets", "sources"],
    ["repair packets (FEC)", "repairs"],
    ["retransmissions (ARQ)", "retransmitted"],
    ["flow probes", "trials"],
  ])
    assert.deepEqual(
      await values(page, "send-packets", layer),
      of(key).filter((value) => value > 0),
      layer,
    );
  assert.deepEqual(
    await values(page, "send-rate"),
    of("bytes").map((value) => value * 8),
  );
  assert.match(
    await title(page, "send-code"),
    /^FEC sent one repair packet per 12 source packets \(8\.33 %\), over a window of 96$/,
  );
  for (const value of await values(page, "send-code")) assert.equal(value, 1 / 12);
  assert.deepEqual((await values(page, "send-trouble", "packets refused by the kernel")).filter(Boolean), [5]);
  assert.deepEqual(
    (await values(page, "send-trouble", "retransmission requests that came too late")).filter(Boolean),
    [3],
  );
  assert.equal(await figure(page, "frames sent"), "3,598");
  assert.match(await page.textContent("[data-headline]"), /3,598 of 3,600 frames of the input were sent/);
  await page.context().close();
  const stopped = await open(reportOf("send-stopped", FIXTURES["send-stopped"]()));
  await drawn(stopped);
  assert.match(
    await stopped.textContent("[data-headline]"),
    /Fault The circuit breaker stopped the sender at \d\d:\d\d:\d\d: 31 % of the packets were lost for 2 s/,
  );
  await stopped.context().close();
});

test("a stack says its own values, and the keyboard speaks them", async () => {
  const page = await open(reportOf("stack-keys", FIXTURES.merged()));
  await drawn(page);
  const chart = 'figure[data-chart="frames"]';
  await page.focus(`${chart} .plot`);
  for (let i = 0; i < 16; i++) await page.keyboard.press("ArrowRight");
  assert.match(
    await page.textContent(`${chart} [role=status]`),
    /lost: no packets 2; damaged: incomplete 4; dropped: slow output 0; complete 54/,
  );
  await page.context().close();
});

test("a run to which nothing came says so, in words, and is never blank", async () => {
  const page = await open(reportOf("silent-media", FIXTURES["silent-media"]()));
  await drawn(page);
  assert.match(await page.textContent("[data-verdict=fault]"), /No media was received\./);
  const messages = await page.$$eval("figure[data-empty] .empty", (all) => all.map((one) => one.textContent));
  assert.deepEqual(messages.sort(), [
    "No frames were output.",
    "No packet was missed; nothing to repair.",
    "No packets were received.",
  ]);
  assert.deepEqual(await emptyCharts(page), []);
  quiet(page);
  await page.context().close();
});

test("markup in events, names and summaries stays text", async () => {
  const page = await open(reportOf("hostile-media", FIXTURES["hostile-media"]()));
  await drawn(page);
  await unfold(page, "details > summary");
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.locator("main script").count(), 0);
  const shown = EVIL.replace("\u202e", "\ufffd");
  assert.ok((await page.textContent('[data-table="media-events"]')).includes(shown));
  assert.ok((await page.textContent("[data-headline]")).includes(shown));
  assert.deepEqual(await emptyCharts(page), []);
  quiet(page);
  await page.context().close();
});

test("axe-core finds nothing serious, in light and dark, with all opened; a phone is wide enough", async () => {
  for (const [name, dark] of [
    ["merged", false],
    ["recv", true],
    ["send", true],
  ]) {
    const page = await open(reportOf(`axe-${name}`, FIXTURES[name]()), { dark });
    await drawn(page);
    await unfold(page, ".facts summary, .values > summary");
    assert.deepEqual(await axe(page), [], `${name}${dark ? ", dark" : ""}`);
    await shot(page, `media-${name}-${dark ? "dark" : "open"}`);
    await page.context().close();
  }
  const page = await open(reportOf("phone-media", FIXTURES.merged()), { width: 375, height: 740 });
  await drawn(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 375);
  await shot(page, "media-phone");
  await page.context().close();
});

test("a day opens and zooms with little work, and shows its one bad bin", async (t) => {
  let done;
  const page = await open(reportOf("media-day", FIXTURES["media-day"]()), {
    prepare: async (page) => {
      done = await meter(page);
    },
  });
  await drawn(page);
  const opening = await done();
  t.diagnostic(`opened and drawn: ${JSON.stringify(opening)}`);
  assert.match(await title(page, "recv-loss"), /; residual loss 55/);
  assert.deepEqual(await values(page, "recv-loss", "residual loss"), [55]);
  assert.deepEqual(await values(page, "frames", "damaged: incomplete"), [1]);
  assert.deepEqual(await emptyCharts(page), []);
  await shot(page, "media-day-light");
  const steps = await zoomIn(page, "flow-states", done);
  t.diagnostic(`zoom steps: ${JSON.stringify(steps)}`);
  bounded(opening, steps);
  quiet(page);
  await page.context().close();
});
