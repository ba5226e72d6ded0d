// What a page shows, read back as numbers: texts with units, cells of CSV, and quantiles counted anew from the database.
import assert from "node:assert/strict";
import { sql } from "./weir.mjs";

const UNITS = {
  ns: 1,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  "%": 0.01,
  "bit/s": 1,
  "kbit/s": 1e3,
  "Mbit/s": 1e6,
  "Gbit/s": 1e9,
  B: 1,
  kB: 1e3,
  MB: 1e6,
};

const NUMBER = new RegExp(`^([\\d.,]+)(?:\\s(${Object.keys(UNITS).join("|")})(?![A-Za-z/]))?`);

/** The number at the start of a text, with its unit: "1,021 µs" is 1021000. */
export function numberIn(text) {
  const [, digits, unit] = NUMBER.exec(text) ?? [];
  assert.ok(digits, `"${text}" begins with a number`);
  return Number(digits.replaceAll(",", "")) * (UNITS[unit] ?? 1);
}

/** The text shows that value, rounded to three digits or more. */
export function shows(text, exact, what) {
  const read = numberIn(text);
  assert.ok(Math.abs(read - exact) <= Math.abs(exact) * 0.0051, `${what} is ${exact}, the page shows ${text}`);
}

/** The value of a key figure above the charts of a run. */
export const figure = (page, name) => page.textContent(`article > dl [data-figure="${name}"] .value`);

/** Rows of a CSV file, each by its columns' names. No cell that is read has a comma in it. */
export function csvRows(bytes) {
  const [head, ...lines] = bytes.toString().trim().split("\r\n");
  const names = head.split(",").map((name) => name.replace(/ \[.*\]$/, ""));
  return lines.map((line) => {
    const cells = line.split(",");
    assert.equal(cells.length, names.length, line);
    return Object.fromEntries(
      cells.map((cell, i) => [names[i], cell === "" ? null : Number.isNaN(Number(cell)) ? cell : Number(cell)]),
    );
  });
}

/** By nearest rank, for each value of `key`: the smallest RTT that this share (in percent) of the answered packets does
 * not exceed. */
export function rttQuantiles(database, run, key, percent) {
  return sql(
    database,
    `WITH ranked AS (
       SELECT ${key} AS x, rtt_ns,
              row_number() OVER (PARTITION BY ${key} ORDER BY rtt_ns) AS place,
              count(*) OVER (PARTITION BY ${key}) AS n
       FROM rtt_packets WHERE run_id = ${run} AND rtt_ns IS NOT NULL)
     SELECT x, rtt_ns AS value FROM ranked WHERE place = (n * ${percent} + 99) / 100 ORDER BY x`,
  );
}
