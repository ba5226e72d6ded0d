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

const { database, players, experiment } = realRuns().load;
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

/** Runs of an experiment's part with that configuration. */
const runsOf = (part, configuration) =>
  sql(
    database,
    `SELECT run_id FROM runs WHERE parent_run_id = ${experiment}
       AND json_extract(parameters, '$.cell.part') = '${part}'
       AND json_extract(parameters, '$.cell.configuration') = '${configuration}'`,
  ).map((one) => one.run_id);

/** The mean of a second's value over the seconds with so many viewers. */
const byViewers = (run, second) =>
  sql(
    database,
    `WITH loads AS (${second})
     SELECT viewers AS x, avg(loads.value) AS value FROM viewer_seconds AS seen
     JOIN loads ON round((loads.unix_ns - loads.duration_ns - began) / 1e9)
                 = round((seen.unix_ns - seen.duration_ns - began) / 1e9)
     JOIN (SELECT started_unix_ns AS began FROM runs WHERE run_id = ${run})
     WHERE run_id = ${run} AND viewers > 0 AND loads.value IS NOT NULL GROUP BY viewers ORDER BY viewers`,
  );

/** What a run came to, as it was stored when it ended. */
const outcome = (run, path) =>
  value(database, `SELECT json_extract(summary, '$.${path}') FROM runs WHERE run_id = ${run}`);

test("an experiment: response times and requests over the ramp are those of its runs, by configuration", () =>
  withReport("experiment", experiment, async (page) => {
    for (const name of ["C", "E"]) {
      const [run, ...others] = runsOf("configurations", name);
      assert.ok(run && others.length === 0);
      same(
        await marks(page, "experiment-times-configurations", name),
        byViewers(
          run,
          `SELECT unix_ns, duration_ns, last_byte_p50_ns AS value FROM load_seconds WHERE run_id = ${run} AND kind = 'video'`,
        ),
        `times of ${name}`,
      );
      same(
        await marks(page, "experiment-requests-configurations", name),
        byViewers(
          run,
          `SELECT unix_ns, duration_ns, sum(requests * 1e9 / duration_ns) AS value FROM load_seconds
           WHERE run_id = ${run} AND ${WHOLE} GROUP BY unix_ns`,
        ),
        `requests of ${name}`,
      );
    }
  }));

const cells = (page, name) =>
  page.$$eval(`[data-table="experiment-${name}"] tbody tr`, (rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent)),
  );

test("an experiment: its tables, the model's line and the stalls are what its runs came to", () =>
  withReport("experiment-tables", experiment, async (page) => {
    const rows = await cells(page, "configurations");
    const published = await cells(page, "published");
    assert.deepEqual(
      [rows, published].map((all) => all.map((row) => row[0])),
      [
        ["C", "E"],
        ["C", "E"],
      ],
    );
    for (const [i, name] of ["C", "E"].entries()) {
      const [run] = runsOf("configurations", name);
      const told = (path) => outcome(run, path);
      const [, into, out, efficiency, requests, mean, p99] = rows[i];
      shows(requests, told("all.requests_per_second"), `requests of ${name}`);
      shows(mean, told("all.last_byte.mean"), `mean time of ${name}`);
      shows(p99, told("all.last_byte.p99"), `P99 of ${name}`);
      shows(efficiency, told("origin.efficiency"), `OUT/IN of ${name}`);
      // Bytes of the origin's own counters, over the time of the run.
      const rate = (bytes) => (told(bytes) * 8e9) / told("duration_ns");
      assert.ok(Math.abs(numberIn(out) / rate("origin.out_bytes") - 1) < 0.3, `OUT of ${name}`);
      assert.ok(Math.abs(numberIn(into) / rate("origin.in_bytes") - 1) < 0.3, `IN of ${name}`);
      // The same beside what was published.
      assert.deepEqual([published[i][2], published[i][4], published[i][6]], [into, out, efficiency]);
    }
    const [{ model }] = sql(
      database,
      `SELECT json_extract(summary, '$.model') AS model FROM runs WHERE run_id = ${experiment}`,
    ).map((row) => ({ model: JSON.parse(row.model) }));
    const line = await marks(page, "experiment-model", "the model");
    const [from, to] = [line[0], line.at(-1)];
    assert.deepEqual([from.x, from.value], [0, 0]);
    assert.ok(Math.abs(to.value / to.x - model.factor) < 1e-9, "the model's slope");
    // The line through the origin with the least squares, computed anew from the points that are drawn.
    const points = [];
    for (const layer of ["2 s segments", "4 s segments"])
      points.push(...(await marks(page, "experiment-model", layer)));
    assert.equal(points.length, 2);
    const sum = (of) => points.reduce((total, one) => total + of(one), 0);
    const slope = sum((one) => one.x * one.value) / sum((one) => one.x * one.x);
    assert.ok(Math.abs(slope - model.factor) < 1e-6, `${slope} is not ${model.factor}`);
    const stalled = await page.$$eval('figure[data-chart="experiment-stalls"] [data-value]', (bars) =>
      bars.map((bar) => Number(bar.dataset.value)),
    );
    const ratio = outcome(runsOf("viewers", "E")[0], "quality.rebuffer_ratio");
    assert.ok(ratio !== null, "viewers have played");
    assert.deepEqual(stalled, [ratio]);
  }));
