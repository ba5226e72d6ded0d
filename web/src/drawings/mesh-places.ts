// Tests between places by place: the matrix of pairs, and the map.
import { classesOf } from "../charts/classes";
import type { MapSpec, MatrixSpec, PointGroup, Told } from "../charts/model";
import { type Mesh, meshOf, middle, type Pair, type Place } from "../data/mesh";
import { count, digits, nanoseconds, plural, rate } from "../format";
import type { Drawing } from "../kinds/describe";
import { colour } from "./palette";

/** Rows of a matrix: more cannot be seen. */
const MOST_PLACES = 250;
const SHAPES: PointGroup["shape"][] = ["circle", "square", "diamond", "triangle"];

const cloudOf = (place: Place) => place.cloud || "other";

/** Places by cloud and then from west to east, so that neighbours are next to each other; those with most pairs. */
function placesInOrder(mesh: Mesh): number[] {
  const pairs = mesh.places.map(() => 0);
  for (const pair of mesh.pairs.values()) {
    pairs[pair.from]!++;
    pairs[pair.to]!++;
  }
  return mesh.places
    .map((_, i) => i)
    .filter((i) => pairs[i]! > 0)
    .sort((a, b) => pairs[b]! - pairs[a]!)
    .slice(0, MOST_PLACES)
    .sort((a, b) => {
      const [one, other] = [mesh.places[a]!, mesh.places[b]!];
      return (
        cloudOf(one).localeCompare(cloudOf(other)) ||
        (one.longitude ?? 999) - (other.longitude ?? 999) ||
        one.name.localeCompare(other.name)
      );
    });
}

function toldOfPair(pair: Pair | undefined): Told[] {
  if (!pair) return [{ name: "no test", text: "" }];
  const lines: Told[] = [];
  if (pair.rttNs !== null) lines.push({ name: "RTT", text: nanoseconds(pair.rttNs) });
  if (pair.bps !== null) lines.push({ name: "one connection", text: rate(pair.bps) });
  if (pair.streamsBps !== null) lines.push({ name: "several connections", text: rate(pair.streamsBps) });
  if (pair.km !== null) lines.push({ name: "distance", text: `${digits(pair.km, 4)} km` });
  if (pair.tests > 1) lines.push({ name: "medians of", text: plural(pair.tests, "test") });
  if (pair.surveys.length > 0) lines.push({ name: "survey", text: pair.surveys.map((run) => `run ${run}`).join(", ") });
  return lines;
}

function matrix(
  mesh: Mesh,
  what: {
    id: string;
    name: string;
    value: (pair: Pair) => number | null;
    format: (value: number) => string;
    best: "least" | "most";
  },
): MatrixSpec | null {
  const order = placesInOrder(mesh);
  const pairAt = (row: number, column: number) => mesh.pairs.get(order[row]! * mesh.places.length + order[column]!);
  const values: (number | null)[] = [];
  let best: { value: number; pair: Pair } | null = null;
  for (let row = 0; row < order.length; row++)
    for (let column = 0; column < order.length; column++) {
      const pair = pairAt(row, column);
      const value = pair ? what.value(pair) : null;
      values.push(value);
      if (
        pair &&
        value !== null &&
        pair.from !== pair.to &&
        (best === null || (what.best === "least") === value < best.value)
      )
        best = { value, pair };
    }
  const there = values.filter((value): value is number => value !== null);
  if (there.length === 0) return null;
  const name = (place: number) => mesh.places[place]!.name;
  const left = mesh.places.length - order.length;
  return {
    type: "matrix",
    id: `mesh-matrix-${what.id}`,
    title: best
      ? `${what.name} of ${plural(there.length, "pair")}: ${what.best} ${what.format(best.value)}, ${name(best.pair.from)} to ${name(best.pair.to)}`
      : `${what.name} of ${plural(there.length, "pair")}`,
    note: left > 0 ? `The ${count(order.length)} places with most pairs; ${count(left)} more are in the CSV.` : null,
    places: order.map((place) => ({ name: name(place), group: cloudOf(mesh.places[place]!) })),
    labels: { row: "from", column: "to" },
    values,
    classes: classesOf(there, what.format),
    tell: (row, column) => toldOfPair(pairAt(row, column)),
    content: () => ({
      columns: ["from", "to", "tests", "distance_km", "rtt_ms", "tcp_bps", "tcp_streams_bps"],
      rows: [...mesh.pairs.values()].map((pair) => [
        name(pair.from),
        name(pair.to),
        pair.tests,
        pair.km,
        pair.rttNs === null ? null : pair.rttNs / 1e6,
        pair.bps,
        pair.streamsBps,
      ]),
    }),
  };
}

export const rttMatrix: Drawing = ({ run }) =>
  matrix(meshOf(run), {
    id: "rtt",
    name: "RTT",
    value: (pair) => pair.rttNs,
    format: (value) => nanoseconds(value),
    best: "least",
  });

export const throughputMatrix: Drawing = ({ run }) =>
  matrix(meshOf(run), {
    id: "throughput",
    name: "Throughput of one connection",
    value: (pair) => pair.bps,
    format: rate,
    best: "most",
  });

/** Pairs of places whatever the direction: the median of both where there are both. */
function links(mesh: Mesh, number: Map<number, number>): MapSpec["links"] {
  const both = new Map<string, { from: number; to: number; values: number[] }>();
  for (const pair of mesh.pairs.values()) {
    const [from, to] = [number.get(pair.from), number.get(pair.to)];
    if (from === undefined || to === undefined || from === to || pair.rttNs === null) continue;
    const [low, high] = from < to ? [from, to] : [to, from];
    const key = `${low} ${high}`;
    const known = both.get(key);
    if (known) known.values.push(pair.rttNs);
    else both.set(key, { from: low, to: high, values: [pair.rttNs] });
  }
  return [...both.values()].map(({ from, to, values }) => ({ from, to, value: middle(values)! }));
}

export const placesMap: Drawing = ({ run }): MapSpec | null => {
  const mesh = meshOf(run);
  const known = mesh.places
    .map((place, i) => ({ place, i }))
    .filter(({ place }) => place.latitude !== null && place.longitude !== null);
  if (known.length === 0) return null;
  const all = links(mesh, new Map(known.map(({ i }, number) => [i, number])));
  const clouds = [...new Set(known.map(({ place }) => cloudOf(place)))].sort();
  const of = (place: number) => all.filter((link) => link.from === place || link.to === place);
  const nameOf = (place: number) => known[place]!.place.name;
  return {
    type: "map",
    id: "mesh-map",
    title: `${plural(known.length, "place")} of ${clouds.join(", ")}, ${plural(all.length, "pair")} of them tested`,
    note:
      all.length > 60
        ? "A place that is pointed at shows its pairs, with the colour of their RTT. Land: Natural Earth."
        : "Lines have the colour of the RTT of their pair. Land: Natural Earth.",
    places: known.map(({ place }) => ({
      name: place.name,
      group: cloudOf(place),
      latitude: place.latitude!,
      longitude: place.longitude!,
    })),
    looks: Object.fromEntries(
      clouds.map((cloud, i) => [cloud, { colour: colour(i), shape: SHAPES[i % SHAPES.length]! }]),
    ),
    links: all,
    classes: classesOf(
      all.map((link) => link.value),
      (value) => nanoseconds(value),
    ),
    tell: (place) => {
      const own = of(place).sort((a, b) => a.value - b.value);
      const end = (link: (typeof own)[number]) => nameOf(link.from === place ? link.to : link.from);
      const lines: Told[] = [{ name: "pairs", text: count(own.length) }];
      const [first, last] = [own[0], own[own.length - 1]];
      if (first) lines.push({ name: `least RTT, ${end(first)}`, text: nanoseconds(first.value) });
      if (last && last !== first) lines.push({ name: `most, ${end(last)}`, text: nanoseconds(last.value) });
      return lines;
    },
    content: () => ({
      columns: ["place", "cloud", "latitude", "longitude"],
      rows: mesh.places.map((place) => [place.name, place.cloud, place.latitude, place.longitude]),
    }),
  };
};
