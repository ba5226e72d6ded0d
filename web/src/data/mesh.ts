// Tests between places: the series of a run read into lists, and its pairs summed up. It knows no chart.
import type { Run } from "./document";
import { type Numbers, Table } from "./table";

/** Light in fibre there and back, milliseconds for each 1,000 km: two thirds of its speed in a vacuum. */
export const FIBRE_MS = 2e6 / (299_792.458 * (2 / 3));

export interface Place {
  name: string;
  /** Empty where it is in no cloud. */
  cloud: string;
  latitude: number | null;
  longitude: number | null;
}

/** What senders of TCP and the receiver of UDP report about a test, as the series names it. */
const FIGURES = [
  "tcp_bps",
  "tcp_retransmits",
  "tcp_cwnd_bytes",
  "tcp_rtt_ns",
  "tcp_streams",
  "tcp_streams_bps",
  "tcp_streams_retransmits",
  "tcp_streams_cwnd_bytes",
  "tcp_streams_rtt_ns",
  "from_window_bytes",
  "to_window_bytes",
  "udp_bps",
  "udp_loss",
  "udp_jitter_ns",
  "udp_pdv_ns",
  "udp_reordered",
] as const;
export type TestFigure = (typeof FIGURES)[number];

/** Tests that went through, in lists of the same length. */
export interface Tests {
  length: number;
  from: string[];
  to: string[];
  /** The two clouds, as in `aws->gcp`. */
  group: string[];
  km: Numbers;
  rttNs: Numbers;
  bps: Numbers;
  tooFast: boolean[];
  figures: Record<TestFigure, Numbers>;
  /** Congestion control of the sender; empty where nobody said. */
  control: string[];
}

export interface Failure {
  from: string;
  to: string;
  hosts: string;
  reason: string;
}

export interface Pair {
  from: number;
  to: number;
  tests: number;
  km: number | null;
  rttNs: number | null;
  bps: number | null;
  streamsBps: number | null;
  /** The runs of its surveys. */
  surveys: number[];
}

export interface Fit {
  group: string;
  quantity: string;
  points: number;
  correlation: number;
  correlationBounds: [number, number] | null;
  slope: number;
  slopeBounds: [number, number] | null;
  intercept: number;
}

export interface Window {
  to: string;
  isCloud: boolean;
  tests: number;
  medianBytes: number;
  bounds: [number, number] | null;
}

export interface Mesh {
  tests: Tests;
  failures: Failure[];
  places: Place[];
  /** By the numbers of their places: `from * places.length + to`. */
  pairs: Map<number, Pair>;
  groups: string[];
  fits: Fit[];
  windows: Window[];
  leftOut: number;
}

const read = new WeakMap<Run, Mesh>();

/** The tests of a run; read once for all its drawings. */
export function meshOf(run: Run): Mesh {
  const known = read.get(run);
  if (known) return known;
  const table = Table.of(run, "mesh_tests");
  const words = (column: string) => table.values(column).map((value) => (typeof value === "string" ? value : ""));
  const [from, to, reason, fromHost, toHost] = ["from", "to", "reason", "from_host", "to_host"].map(words) as [
    string[],
    string[],
    string[],
    string[],
    string[],
  ];
  const places = placesOf(run);
  const number = new Map(places.map((place, i) => [place.name, i]));
  const cloud = (place: string) => places[number.get(place) ?? -1]?.cloud || "other";
  const done = Array.from({ length: table.length }, (_, i) => i).filter((i) => reason[i] === "");
  const pick = <T>(values: T[]) => done.map((i) => values[i]!);
  const tests: Tests = {
    length: done.length,
    from: pick(from),
    to: pick(to),
    group: done.map((i) => `${cloud(from[i]!)}->${cloud(to[i]!)}`),
    km: pick(table.numbers("distance_m")).map((metres) => (metres === null ? null : metres / 1000)),
    rttNs: pick(table.numbers("rtt_ns")),
    bps: pick(table.numbers("tcp_bps")),
    tooFast: pick(table.numbers("faster_than_light")).map((value) => value === 1),
    figures: Object.fromEntries(FIGURES.map((name) => [name, pick(table.numbers(name))])) as Tests["figures"],
    control: pick(words("congestion_control")),
  };
  const failures = reason.flatMap((text, i): Failure[] =>
    text === ""
      ? []
      : [{ from: from[i]!, to: to[i]!, hosts: [fromHost[i], toHost[i]].filter(Boolean).join(" to "), reason: text }],
  );
  const mesh: Mesh = {
    tests,
    failures,
    places,
    pairs: pairsOf(tests, number, places.length, tests.figures.tcp_streams_bps, pick(table.numbers("survey_run"))),
    groups: [...new Set(tests.group)].sort(),
    fits: fitsOf(run),
    windows: windowsOf(run, number),
    leftOut: table.series?.left_out ?? 0,
  };
  read.set(run, mesh);
  return mesh;
}

function placesOf(run: Run): Place[] {
  const table = Table.of(run, "mesh_places");
  const [clouds, latitudes, longitudes] = [
    table.values("cloud"),
    table.numbers("latitude"),
    table.numbers("longitude"),
  ];
  return table.values("place").map((name, i) => ({
    name: String(name),
    cloud: String(clouds[i] ?? ""),
    latitude: latitudes[i] ?? null,
    longitude: longitudes[i] ?? null,
  }));
}

export function middle(values: number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** The tests of each pair; medians where there are several. */
function pairsOf(
  tests: Tests,
  number: Map<string, number>,
  places: number,
  streams: Numbers,
  surveys: Numbers,
): Map<number, Pair> {
  const rows = new Map<number, number[]>();
  for (let i = 0; i < tests.length; i++) {
    const [from, to] = [number.get(tests.from[i]!), number.get(tests.to[i]!)];
    if (from === undefined || to === undefined) continue;
    const key = from * places + to;
    const known = rows.get(key);
    if (known) known.push(i);
    else rows.set(key, [i]);
  }
  const pairs = new Map<number, Pair>();
  for (const [key, of] of rows) {
    const median = (values: Numbers) =>
      middle(of.map((i) => values[i]).filter((value): value is number => typeof value === "number"));
    pairs.set(key, {
      from: Math.floor(key / places),
      to: key % places,
      tests: of.length,
      km: median(tests.km),
      rttNs: median(tests.rttNs),
      bps: median(tests.bps),
      streamsBps: median(streams),
      surveys: of.map((i) => surveys[i]).filter((run): run is number => typeof run === "number"),
    });
  }
  return pairs;
}

const bounds = (low: number | null | undefined, high: number | null | undefined): [number, number] | null =>
  typeof low === "number" && typeof high === "number" ? [low, high] : null;

function fitsOf(run: Run): Fit[] {
  const table = Table.of(run, "mesh_fits");
  const [groups, quantities] = [table.values("group"), table.values("quantity")];
  const column = (name: string) => table.numbers(name);
  const [points, r, low, high] = [
    column("points"),
    column("correlation"),
    column("correlation_low"),
    column("correlation_high"),
  ];
  const [slope, slopeLow, slopeHigh, intercept] = [
    column("slope"),
    column("slope_low"),
    column("slope_high"),
    column("intercept"),
  ];
  const fits: Fit[] = [];
  for (let i = 0; i < table.length; i++) {
    const [rise, start, goes] = [slope[i], intercept[i], r[i]];
    if (typeof rise !== "number" || typeof start !== "number" || typeof goes !== "number") continue;
    fits.push({
      group: String(groups[i]),
      quantity: String(quantities[i]),
      points: points[i] ?? 0,
      correlation: goes,
      correlationBounds: bounds(low[i], high[i]),
      slope: rise,
      slopeBounds: bounds(slopeLow[i], slopeHigh[i]),
      intercept: start,
    });
  }
  return fits;
}

function windowsOf(run: Run, places: Map<string, number>): Window[] {
  const table = Table.of(run, "mesh_windows");
  const [tests, median] = [table.numbers("tests"), table.numbers("median_bytes")];
  const [low, high] = [table.numbers("median_low_bytes"), table.numbers("median_high_bytes")];
  return table.values("to").flatMap((to, i): Window[] => {
    const bytes = median[i];
    if (typeof bytes !== "number") return [];
    const name = String(to);
    return [
      {
        to: name,
        isCloud: !places.has(name),
        tests: tests[i] ?? 0,
        medianBytes: bytes,
        bounds: bounds(low[i], high[i]),
      },
    ];
  });
}

export function fitOf(mesh: Mesh, group: string, quantity: "rtt" | "throughput"): Fit | null {
  // One group only has all.
  return (
    mesh.fits.find((fit) => fit.group === group && fit.quantity === quantity) ??
    (mesh.groups.length === 1
      ? (mesh.fits.find((fit) => fit.group === "all" && fit.quantity === quantity) ?? null)
      : null)
  );
}
