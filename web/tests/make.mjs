// Small pieces that documents of the contract are made of: series, runs, documents, and reports of them.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

export const START = 1795239128315371300; // beyond 2^53, as the Unix times of an exporter are
const PLACE = '<script type="application/gzip;base64" id="weir-data"></script>';
export const PAGE = new URL("../dist/index.html", import.meta.url);

/** The page with a document in it. */
export function report(document) {
  const page = readFileSync(PAGE, "utf8");
  if (page.split(PLACE).length !== 2) throw new Error("the page has no place for data");
  const data = gzipSync(JSON.stringify(document)).toString("base64");
  return page.replace(PLACE, () => PLACE.replace("></", `>${data}</`));
}

/** Random numbers that are the same each time (mulberry32). */
export function random(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const UNITS = [
  [/_ns$/, "ns"],
  [/bytes$|^length$|^size$/, "bytes"],
  [/_cores$/, "cores"],
];
const unitOf = (name) => UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? null;

/** A series from its column names and rows. */
export function series(names, rows, { bin_ns = null, left_out = 0, of = rows.length + left_out } = {}) {
  const columns = {};
  names.forEach((name, i) => {
    columns[name] = { unit: unitOf(name), values: rows.map((row) => row[i] ?? null) };
  });
  return { rows: of, bin_ns, left_out, columns };
}

export function run(id, kind, more = {}) {
  const seconds = more.seconds ?? 20;
  delete more.seconds;
  return {
    run_id: id,
    parent_run_id: null,
    kind,
    target: "far.example.net",
    started_unix_ns: START,
    ended_unix_ns: START + seconds * 1e9,
    last_unix_ns: START + seconds * 1e9,
    outcome: "finished",
    reason: null,
    local_host: { name: "studio-a", kernel: "6.18.44", cpu: "AMD EPYC", cores: 2, mtu: 9001, cloud: null },
    remote_host: { name: "studio-b", kernel: "6.18.44", cpu: "AMD EPYC", cores: 2, mtu: 9001, cloud: null },
    parameters: {},
    summary: null,
    weir_version: "0.1.0",
    merged_records: 0,
    lost_records: 0,
    note: "",
    tags: [],
    diagnosis: null,
    no_diagnosis: null,
    clock_steps: [],
    series: {},
    ...more,
  };
}

export function document(...runs) {
  return { format: "weir-report-data", version: 1, weir_version: "0.1.0", made_unix_ns: START + 3600e9, runs };
}
