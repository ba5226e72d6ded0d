// Charts of tests between places over the distance, each with its fit: RTT with the line of light, throughput; for all
// tests and for those from one cloud to another.

import type { Curve, PointGroup, ScatterSpec, Told } from "../charts/model";
import { FIBRE_MS, type Fit, fitOf, type Mesh, meshOf } from "../data/mesh";
import type { Numbers } from "../data/table";
import { count, digits, nanoseconds, rate } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { C, colour } from "./palette";

const SHAPES: PointGroup["shape"][] = ["circle", "square", "diamond", "triangle"];

/** Colour and shape of the tests between two clouds, the same in all charts of a mesh. */
export function look(mesh: Mesh, group: string): { colour: string; shape: PointGroup["shape"] } {
  const place = mesh.groups.indexOf(group);
  return { colour: colour(place), shape: SHAPES[(place + Math.floor(place / 7)) % SHAPES.length]! };
}

export const arrow = (group: string) => group.replace("->", " → ");
const kilometres = (km: number) => `${digits(km, 4)} km`;
const milliseconds = (ms: number) => nanoseconds(ms * 1e6);

/** What is drawn over the distance. */
interface Quantity {
  id: "rtt" | "throughput";
  values: (mesh: Mesh) => Numbers;
  format: (value: number) => string;
  y: ScatterSpec["y"];
  /** The value of a fit at a distance. */
  at: (fit: Fit, km: number) => number;
  title: (fit: Fit) => string;
}

const RTT: Quantity = {
  id: "rtt",
  values: (mesh) => mesh.tests.rttNs.map((ns) => (ns === null ? null : ns / 1e6)),
  format: milliseconds,
  y: { kind: "linear", label: "RTT", format: milliseconds },
  at: (fit, km) => fit.intercept + (fit.slope * km) / 1000,
  title: (fit) => `RTT rises by ${digits(fit.slope)} ms per 1,000 km; light in fibre needs 10 ms`,
};

const THROUGHPUT: Quantity = {
  id: "throughput",
  values: (mesh) => mesh.tests.bps,
  format: rate,
  y: { kind: "log", label: "throughput of one TCP connection", format: rate },
  at: (fit, km) => 10 ** (fit.intercept + (fit.slope * km) / 1000),
  title: (fit) => {
    const change = (10 ** fit.slope - 1) * 100;
    return `Throughput ${change < 0 ? "falls" : "rises"} by ${digits(Math.abs(change))} % per 1,000 km`;
  },
};

const bounded = (value: number, between: [number, number] | null) =>
  between ? `${digits(value)} (${digits(between[0])} to ${digits(between[1])})` : digits(value);

function note(fit: Fit | null, left: number): string | null {
  const parts: string[] = [];
  if (fit) parts.push(`r = ${bounded(fit.correlation, fit.correlationBounds)}, ${count(fit.points)} tests.`);
  if (left > 0) parts.push(`${count(left)} more tests are not drawn; the fit includes them.`);
  return parts.join(" ") || null;
}

/** The fit as a line from the nearest to the farthest test. */
function fitCurve(quantity: Quantity, fit: Fit | null, km: number[]): Curve[] {
  if (!fit) return [];
  const ends = [Math.min(...ofFew(km, Math.min)), Math.max(...ofFew(km, Math.max))];
  return [
    { name: "fit", colour: "var(--text)", points: ends.map((at): [number, number] => [at, quantity.at(fit, at)]) },
  ];
}

/** Tens of thousands of arguments are more than a function takes: the least or most of each thousand. */
function ofFew(values: number[], best: (...values: number[]) => number): number[] {
  const out: number[] = [];
  for (let i = 0; i < values.length; i += 1000) out.push(best(...values.slice(i, i + 1000)));
  return out;
}

/** Of all tests, or of those from one cloud to another only. */
function overDistance(context: Context, quantity: Quantity, only: string | null): ScatterSpec {
  const mesh = meshOf(context.run);
  const { tests } = mesh;
  const values = quantity.values(mesh);
  const rows: number[] = [];
  for (let i = 0; i < tests.length; i++) {
    const value = values[i];
    if (tests.km[i] === null || typeof value !== "number" || (quantity.y.kind === "log" && value <= 0)) continue;
    if (only === null || tests.group[i] === only) rows.push(i);
  }
  const xs = rows.map((i) => tests.km[i]!);
  const fit = fitOf(mesh, only ?? "all", quantity.id);
  const groups = (only === null ? mesh.groups : [only])
    .map((name) => ({
      name: arrow(name),
      ...look(mesh, name),
      points: rows.flatMap((row, i) => (tests.group[row] === name ? [i] : [])),
    }))
    .filter((group) => group.points.length > 0);
  const light: Curve = {
    name: "light in fibre, 10 ms per 1,000 km",
    colour: C.red,
    dash: "5 4",
    points: [
      [0, 0],
      [21_000, 21 * FIBRE_MS],
    ],
  };
  const what = quantity.id === "rtt" ? "RTT against distance" : "Throughput against distance";
  const title = fit ? quantity.title(fit) : what;
  return {
    type: "scatter",
    id: `mesh-${quantity.id}${only === null ? "" : `-${only.replace("->", "-")}`}`,
    title: only === null ? title : `${arrow(only)}: ${title}`,
    note: note(fit, mesh.leftOut),
    empty:
      rows.length === 0
        ? `No test has both a distance and ${quantity.id === "rtt" ? "an RTT" : "a throughput"}.`
        : null,
    x: { kind: "linear", label: "great-circle distance", format: kilometres },
    y: quantity.y,
    xs,
    ys: rows.map((i) => values[i]!),
    groups,
    curves: [...fitCurve(quantity, fit, xs), ...(quantity.id === "rtt" ? [light] : [])],
    head: (point) => `${tests.from[rows[point]!]} to ${tests.to[rows[point]!]}`,
    tell: (point) => told(mesh, rows[point]!),
    height: only === null ? 380 : 260,
    content: () => ({
      columns: ["from", "to", "distance_km", quantity.id === "rtt" ? "rtt_ms" : "tcp_bps"],
      rows: rows.map((i) => [tests.from[i]!, tests.to[i]!, tests.km[i]!, values[i]!]),
    }),
  };
}

export function told({ tests }: Mesh, test: number): Told[] {
  const lines: Told[] = [];
  const [km, rtt, bps] = [tests.km[test], tests.rttNs[test], tests.bps[test]];
  if (typeof km === "number") lines.push({ name: "distance", text: kilometres(km) });
  if (typeof rtt === "number") {
    lines.push({ name: "RTT", text: nanoseconds(rtt) });
    if (typeof km === "number" && km > 0)
      lines.push({ name: "over light in fibre", text: `${digits(rtt / (km * FIBRE_MS * 1000))} times` });
  }
  if (typeof bps === "number") lines.push({ name: "one connection", text: rate(bps) });
  if (tests.tooFast[test]) lines.push({ name: "faster than light", text: "a place is wrong" });
  return lines;
}

export const rttOverDistance: Drawing = (context) => overDistance(context, RTT, null);
export const throughputOverDistance: Drawing = (context) => overDistance(context, THROUGHPUT, null);

/** One chart for each two clouds. */
const byClouds =
  (quantity: Quantity): Drawing =>
  (context) => {
    const { groups } = meshOf(context.run);
    if (groups.length < 2) return null;
    return groups.map((group) => overDistance(context, quantity, group)).filter((spec) => !spec.empty);
  };

export const rttByClouds = byClouds(RTT);
export const throughputByClouds = byClouds(THROUGHPUT);
