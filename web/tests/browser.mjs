// Chromium for the tests: a page that notes requests and errors, reports of fixtures, what charts hold, axe, screenshots.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { report } from "./fixtures.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "weir-page-"));
const shots = new URL("artefacts/", import.meta.url).pathname;
mkdirSync(shots, { recursive: true });

let browser = null;

export async function start() {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-background-networking", "--autoplay-policy=no-user-gesture-required"],
  });
}

export async function stop() {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}

/** The address of a report with that document, as a file. */
export function reportOf(name, document) {
  const path = join(folder, `${name}.html`);
  writeFileSync(path, report(document));
  return pathToFileURL(path).href;
}

/** What does not happen within this many milliseconds does not happen, on a busy machine either. */
export const LIMIT_MS = 120_000;

/**
 * Opens an address; `page.outside` are requests to other hosts, `page.problems` what went wrong in the page. `prepare` gets
 * the page before it is opened.
 */
export async function open(
  url,
  { width = 1280, height = 900, dark = false, timezone = "Europe/Berlin", prepare = () => {} } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    timezoneId: timezone,
    acceptDownloads: true,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  page.outside = [];
  page.problems = [];
  const own = new URL(url);
  page.on("request", (request) => {
    const to = new URL(request.url());
    if (["data:", "blob:"].includes(to.protocol)) return;
    if (own.protocol === "file:" ? to.href.split("#")[0] !== own.href.split("#")[0] : to.host !== own.host)
      page.outside.push(to.href);
  });
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("console", (message) => {
    // A browser logs every 401 and 404 itself.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      page.problems.push(message.text());
  });
  await prepare(page);
  await page.goto(url);
  return page;
}

/**
 * Counts what a page does from now on: the blocks of its script that are executed, and the nodes that it has in the end.
 * Neither depends on how fast a machine is, but for what waits until the page is at rest; `npm run test:day` has milliseconds.
 */
export async function meter(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Profiler.enable");
  await session.send("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return async () => {
    const { result } = await session.send("Profiler.takePreciseCoverage");
    const ranges = result.flatMap((script) => script.functions.flatMap((one) => one.ranges));
    const blocks = ranges.reduce((sum, range) => sum + range.count, 0);
    return { blocks, nodes: await page.evaluate(() => document.querySelectorAll("*").length) };
  };
}

/** Zooms in 17 times with a key; what each step does, by the page's meter. */
export async function zoomIn(page, chart, done) {
  const plot = page.locator(`figure[data-chart="${chart}"] .plot`);
  await plot.scrollIntoViewIfNeeded();
  const steps = [];
  await done();
  for (let i = 0; i < 17; i++) {
    await plot.dispatchEvent("keydown", { key: "+", bubbles: true, cancelable: true });
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    steps.push(await done());
  }
  return steps;
}

/**
 * Fails where a page works more than it has to for a day. Those of 2026-11 open with up to 38 million blocks and 4,500 nodes. Their
 * zoom steps take up to 35 million together where each has the time to draw what is out of sight too; on a fast machine it has
 * not.
 */
export function bounded(opening, steps) {
  assert.ok(opening.blocks < 50e6, `opened with ${opening.blocks} blocks`);
  const zoomed = steps.reduce((sum, step) => sum + step.blocks, 0);
  assert.ok(zoomed < 45e6, `zoom steps: ${JSON.stringify(steps)}`);
  assert.ok(Math.max(opening.nodes, ...steps.map((step) => step.nodes)) < 6000, `nodes: ${JSON.stringify(steps)}`);
}

/** Waits until every chart that is on the page and not folded away has been drawn. */
export async function drawn(page) {
  await page.waitForSelector("article");
  await page.waitForFunction(
    () =>
      [...document.querySelectorAll("figure[data-chart]:not([data-empty])")]
        .filter((figure) => figure.clientWidth > 0)
        .every((figure) => figure.dataset.drawn === "true") &&
      [...document.querySelectorAll("details[open]")].every((details) => details.childElementCount > 1),
  );
}

/**
 * Clicks every summary that the selector names, and waits for what is made when a box opens: the event that makes it
 * comes after the click has returned.
 */
export async function unfold(page, selector) {
  const summaries = await page.$$(selector);
  assert.ok(summaries.length > 0, `nothing to open: ${selector}`);
  for (const summary of summaries) await summary.click();
  await drawn(page);
}

/**
 * Charts that are shown, are not honestly empty, and have no mark, line or area with a size. The chart `emptied` loses its
 * shapes just before: later, a new size of its box would draw it anew.
 */
export async function emptyCharts(page, emptied) {
  return page.$$eval(
    "figure[data-chart]",
    (figures, emptied) => {
      for (const shape of document.querySelectorAll(`figure[data-chart="${emptied}"] [data-layer] *`)) shape.remove();
      return figures
        .filter((figure) => figure.clientWidth > 0 && !figure.dataset.empty)
        .filter((figure) => {
          const shapes = figure.querySelectorAll(
            "[data-layer] path[d], [data-layer] rect, [data-lane] path, [data-lane] rect, rect[data-value]",
          );
          return ![...shapes].some((shape) => {
            const box = shape.getBBox();
            return box.width > 0 || box.height > 0;
          });
        })
        .map((figure) => figure.dataset.chart);
    },
    emptied,
  );
}

/** The page has asked no other host for anything, and nothing went wrong in it. */
export function quiet(page) {
  assert.deepEqual(page.outside, [], "requests to other hosts");
  assert.deepEqual(page.problems, [], "errors in the page");
}

/** What is shown on the zoom bars of a page: the first and the last nanosecond. */
export const zoomed = (page) => page.$eval("[data-zoom]", (bar) => [Number(bar.dataset.from), Number(bar.dataset.to)]);

/** What a chart says is seen. */
export const title = (page, chart) => page.textContent(`figure[data-chart="${chart}"] h4`);

/** Serious and critical findings of axe-core. */
export async function axe(page) {
  // The policy of the page allows no other script: the test's own is put in past it.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: AXE });
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, { resultTypes: ["violations"] }).then((found) => JSON.stringify(found.violations
      .filter((one) => one.impact === "serious" || one.impact === "critical")
      .map((one) => ({ id: one.id, nodes: one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + (node.any[0]?.message ?? "")) }))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  return JSON.parse(result.value);
}

/** A picture of the whole page for inspection, if `SHOTS` is set. */
export async function shot(page, name) {
  if (!process.env.SHOTS) return;
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

/** Clicks what saves something, and gives the name and the bytes of the file. */
export async function download(page, selector) {
  // Longer than a click may take: where the click is what failed, it is what is named.
  const saved = page.waitForEvent("download", { timeout: 2 * LIMIT_MS });
  const [file] = await Promise.all([saved, page.click(selector)]);
  return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

/** Marks of a chart that carry values: [{x, value}]. */
export function marks(page, chart, layer) {
  return page.$$eval(
    `figure[data-chart="${chart}"] ${layer ? `g[data-layer="${layer}"]` : ""} [data-value][data-x]`,
    (all) =>
      all.map((one) => ({
        x: Number.isNaN(Number(one.dataset.x)) ? one.dataset.x : Number(one.dataset.x),
        value: Number(one.dataset.value),
      })),
  );
}
