// Tables of tests between places: the fits with their bounds, the windows that are implied, what beats light, what failed.
import { type Fit, meshOf } from "../data/mesh";
import { h, table } from "../dom";
import { binary, count, digits, nanoseconds, plural } from "../format";
import type { Drawing } from "../kinds/describe";
import { arrow } from "./mesh-distance";

const MOST_ROWS = 100;

const panel = (name: string, element: HTMLElement) => h("div", { class: "panel", "data-table": name }, element);

const within = (value: number, bounds: [number, number] | null, format: (value: number) => string) =>
  bounds ? `${format(value)} (${format(bounds[0])} to ${format(bounds[1])})` : format(value);

const more = (title: string, all: number) =>
  all > MOST_ROWS ? `${title}, the first ${MOST_ROWS} of ${count(all)}` : title;

export const fitsTable: Drawing = ({ run }) => {
  const { fits } = meshOf(run);
  if (fits.length === 0) return null;
  const groups = [...new Set(fits.map((fit) => fit.group))];
  const cell = (fit: Fit | undefined, of: (fit: Fit) => string) => (fit ? of(fit) : "–");
  const rows = groups.map((group) => {
    const [rtt, throughput] = ["rtt", "throughput"].map((quantity) =>
      fits.find((fit) => fit.group === group && fit.quantity === quantity),
    );
    const r = (fit: Fit) => within(fit.correlation, fit.correlationBounds, (value) => digits(value));
    const percent = (slope: number) => `${digits((10 ** slope - 1) * 100)} %`;
    return [
      arrow(group),
      count(Math.max(rtt?.points ?? 0, throughput?.points ?? 0)),
      cell(rtt, r),
      cell(rtt, (fit) => `${within(fit.slope, fit.slopeBounds, (value) => digits(value))} ms`),
      cell(throughput, r),
      cell(throughput, (fit) => within(fit.slope, fit.slopeBounds, percent)),
    ];
  });
  return panel(
    "mesh-fits",
    table(
      "Fits over the distance, with 95 % bounds, as if tests were independent of each other",
      ["tests", "number", "r of RTT", "RTT for 1,000 km", "r of log throughput", "throughput with 1,000 km"],
      rows,
      { numeric: [1, 2, 3, 4, 5] },
    ),
  );
};

export const windowsTable: Drawing = ({ run }) => {
  const { windows } = meshOf(run);
  if (windows.length === 0) return null;
  const rows = windows
    .slice(0, MOST_ROWS)
    .map((window) => [window.to, count(window.tests), within(window.medianBytes, window.bounds, binary)]);
  return panel(
    "mesh-windows",
    table(
      more(
        "TCP window that throughput and RTT imply, of tests with an RTT above 60 ms: median with 95 % bounds",
        windows.length,
      ),
      ["towards", "tests", "window"],
      rows,
      { numeric: [1, 2] },
    ),
  );
};

export const impossibleTable: Drawing = ({ run }) => {
  const { tests } = meshOf(run);
  const found = tests.tooFast.flatMap((fast, i) => (fast ? [i] : []));
  if (found.length === 0) return null;
  const rows = found
    .slice(0, MOST_ROWS)
    .map((i) => [tests.from[i]!, tests.to[i]!, `${digits(tests.km[i] ?? 0, 4)} km`, nanoseconds(tests.rttNs[i])]);
  return panel(
    "mesh-impossible",
    table(
      more(
        `${plural(found.length, "test")} faster than light in fibre: the coordinates of a place are wrong`,
        found.length,
      ),
      ["from", "to", "distance", "RTT"],
      rows,
      { numeric: [2, 3] },
    ),
  );
};

export const failuresTable: Drawing = ({ run }) => {
  const { failures } = meshOf(run);
  if (failures.length === 0) return null;
  const rows = failures.slice(0, MOST_ROWS).map((one) => [one.from, one.to, one.hosts, one.reason]);
  return panel(
    "mesh-failures",
    table(more(`${plural(failures.length, "test")} failed`, failures.length), ["from", "to", "hosts", "why"], rows),
  );
};
