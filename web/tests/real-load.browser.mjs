// The report of real load on an origin, as `weir report` writes it: what its charts and tables show is held against SQL on
// the database.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { download, drawn, emptyCharts, marks, open, quiet, shot, start, stop, title } from "./browser.mjs";
import { realRuns } from "./real-runs.mjs";
import { csvRows, figure, numberIn, shows } from "./shown-values.mjs";
import { sql, value, weir } from "./weir.mjs";

const { database, players } = realRuns().load;
const folder = mkdtempSync(join(tmpdir(), "weir-load-"));

before(start);
after(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens the report of a run; the test ends with a page in which nothing went wrong. */
async function withReport(name, run, body) {
  const path = join(folder, `${name}.html`);
  await weir(["report", String(run), "--db", database, "-o", path, "-q"]);
  const page = await open(pathToFileURL(path).href);
  await drawn(page);
  await body(page);
  assert.deepEqual(await emptyCharts(page), []);
  quiet(page);
  await shot(page, `real-${name}`);
  await page.context().close();
}

const started = `(SELECT started_unix_ns FROM runs WHERE run_id = ${players})`;

/** Points of a chart: where they are must be the same, and what they show to the tenth digit. */
function same(found, expected, what) {
  assert.ok(expected.length > 0, `${what}: nothing is in the store`);
  assert.deepEqual(
    found.map((one) => one.x),
    expected.map((one) => one.x),
    what,
  );
  for (const [i, one] of found.entries())
    assert.ok(Math.abs(one.value - expected[i].value) <= 1e-10 * Math.abs(expected[i].value), `${what}: ${i}`);
}

/** A column of `load_seconds` or `viewer_seconds` by the second, without the seconds in which there is none. */
const seconds = (table, column, where = "1") =>
  sql(
    database,
    `SELECT unix_ns - duration_ns - ${started} AS x, ${column} AS value FROM ${table}
     WHERE run_id = ${players} AND ${where} AND value IS NOT NULL ORDER BY unix_ns`,
  );
const EACH_SECOND = "* 1e9 / duration_ns";
/** What is left at the end is shorter than a second: it is no rate of one. */
const WHOLE = "duration_ns >= 500000000";

test("players: requests, times, throughput, viewers and their stalls are the store's", () =>
  withReport("players", players, async (page) => {
    for (const kind of ["manifest", "init", "audio", "video"]) {
      const chart = async (name, layer, column, where = "1") =>
        same(
          await marks(page, name, layer),
          seconds("load_seconds", column, `kind = '${kind}' AND ${where}`),
          `${name} of ${kind}`,
        );
      await chart("load-requests", kind, `requests ${EACH_SECOND}`, WHOLE);
      await chart("load-rate", kind, `all_bytes * 8 ${EACH_SECOND}`, WHOLE);
      await chart("load-times", `${kind}, P50`, "last_byte_p50_ns");
      await chart("load-times", `${kind}, P99`, "last_byte_p99_ns");
    }
    same(await marks(page, "load-viewers", "viewers"), seconds("viewer_seconds", "viewers"), "viewers");
    same(
      await marks(page, "load-stalls", "stalls"),
      seconds("viewer_seconds", `stalls ${EACH_SECOND}`, WHOLE),
      "stalls",
    );
    same(await marks(page, "load-generator"), seconds("viewer_seconds", "cpu_ns * 1.0 / duration_ns", WHOLE), "cores");
    const [sum] = sql(
      database,
      `SELECT sum(stalls) AS stalls, sum(stalled_ns) * 1.0 / (sum(stalled_ns) + sum(played_ns)) AS ratio,
              max(viewers) AS most FROM viewer_seconds WHERE run_id = ${players}`,
    );
    assert.ok(sum.stalls > 0, "the link is too slow for all of them");
    assert.match(await title(page, "load-stalls"), new RegExp(`^Viewers stalled ${sum.stalls} times?, `));
    shows(await figure(page, "rebuffer ratio"), sum.ratio, "rebuffer ratio");
    assert.equal(numberIn(await figure(page, "viewers, at most")), sum.most);
    assert.equal(
      numberIn(await figure(page, "requests")),
      value(database, `SELECT sum(requests) FROM load_seconds WHERE run_id = ${players}`),
    );
  }));

/** The buckets of a distribution, the least first: [value, count]. */
const buckets = (kind, time) => {
  const all = new Map();
  const rows = sql(
    database,
    `SELECT buckets FROM load_histograms WHERE run_id = ${players} AND kind = '${kind}' AND time = '${time}'`,
  );
  for (const row of rows) for (const [at, n] of JSON.parse(row.buckets)) all.set(at, (all.get(at) ?? 0) + n);
  return [...all].sort((a, b) => a[0] - b[0]);
};

/** The bucket that this share of them all does not exceed. */
function quantile(all, share) {
  const wanted = Math.max(1, Math.ceil(share * all.reduce((sum, [, n]) => sum + n, 0) - 1e-9));
  let seen = 0;
  for (const [at, n] of all) {
    seen += n;
    if (seen >= wanted) return at;
  }
  return Number.NaN;
}

/** Buckets are as wide as three digits are exact. */
const near = (found, expected, what) =>
  assert.ok(Math.abs(found - expected) <= 0.002 * expected, `${what}: ${found} is drawn for ${expected}`);

test("players: distributions are those of the stored histograms", () =>
  withReport("distributions", players, async (page) => {
    for (const kind of ["manifest", "init", "audio", "video"]) {
      const all = buckets(kind, "last_byte");
      const there = await marks(page, "load-distribution", kind);
      assert.equal(there.length, 6);
      for (const [i, share] of [0, 0.5, 0.9, 0.99, 0.999, 1].entries())
        near(there[i].value, quantile(all, share), `${kind}, ${share}`);
    }
    for (const [chart, time, unit] of [
      // Shares of the time are stored in millionths.
      ["viewer-startup", "startup", 1],
      ["viewer-stalls", "rebuffer_ppm", 1e-6],
      ["viewer-bitrate", "bitrate", 1],
    ]) {
      const all = buckets("viewers", time);
      // The line has too many points for marks: they are in the file that is saved of it.
      const rows = csvRows((await download(page, `figure[data-chart="${chart}"] [data-save=csv]`)).bytes);
      assert.ok(rows.length > 10, chart);
      for (const { share, value } of rows) near(value, quantile(all, share) * unit, `${chart}, ${share}`);
    }
  }));
