// Tables of tests between places: what TCP and UDP did in each, the fits with their bounds, the windows that are
// implied, what beats light, what failed.
import { type Fit, meshOf, type TestFigure, type Tests } from "../data/mesh";
import { h, table } from "../dom";
import { binary, count, digits, nanoseconds, percent, plural, rate } from "../format";
import type { Drawing } from "../kinds/describe";
import { arrow } from "./mesh-distance";

const MOST_ROWS = 100;

const panel = (name: string, element: HTMLElement) => h("div", { class: "panel", "data-table": name }, element);

const within = (value: number, bounds: [number, number] | null, format: (value: number) => string) =>
  bounds ? `${format(value)} (${format(bounds[0])} to ${format(bounds[1])})` : format(value);

const more = (title: string, all: number) =>
  all > MOST_ROWS ? `${title}, the first ${MOST_ROWS} of ${count(all)}` : title;

/** The tests that have one of these figures, by their numbers. */
const having = ({ figures }: Tests, ...names: TestFigure[]) =>
  figures.tcp_bps.flatMap((_, i) => (names.some((name) => typeof figures[name][i] === "number") ? [i] : []));

const known = (value: number | null | undefined, format: (value: number) => string) =>
  typeof value === "number" ? format(value) : "–";

type Cell = (name: TestFigure, format: (value: number) => string) => string;

/** Rows of these tests: both ends, then the results of each. */
const rowsOf = (tests: Tests, found: number[], told: (cell: Cell, i: number) => string[]) =>
  found.slice(0, MOST_ROWS).map((i) => {
    const cell: Cell = (name, format) => known(tests.figures[name][i], format);
    return [tests.from[i]!, tests.to[i]!, ...told(cell, i)];
  });

export const tcpTable: Drawing = ({ run }) => {
  const { tests } = meshOf(run);
  const found = having(tests, "tcp_bps", "tcp_streams_bps");
  if (found.length === 0) return null;
  const rows = rowsOf(tests, found, (cell, i) => [
    cell("tcp_bps", rate),
    cell("tcp_retransmits", count),
    cell("tcp_cwnd_bytes", binary),
    cell("tcp_rtt_ns", nanoseconds),
    cell("tcp_streams", count),
    cell("tcp_streams_bps", rate),
    cell("tcp_streams_retransmits", count),
    cell("tcp_streams_cwnd_bytes", binary),
    cell("tcp_streams_rtt_ns", nanoseconds),
    tests.control[i] || "–",
    cell("from_window_bytes", binary),
    cell("to_window_bytes", binary),
  ]);
  return panel(
    "mesh-tcp",
    table(
      more("TCP with one connection, then with several: rate at the receiver, and data of the sender", found.length),
      [
        "from",
        "to",
        "rate",
        "retransmitted",
        "window",
        "RTT",
        "connections",
        "their rate",
        "retransmitted",
        "largest window",
        "mean RTT",
        "congestion control",
        "sender's window limit",
        "receiver's",
      ],
      rows,
      { numeric: [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13] },
    ),
  );
};

export const udpTable: Drawing = ({ run }) => {
  const { tests } = meshOf(run);
  const found = having(tests, "udp_bps", "udp_loss");
  if (found.length === 0) return null;
  const rows = rowsOf(tests, found, (cell) => [
    cell("udp_bps", rate),
    cell("udp_loss", percent),
    cell("udp_jitter_ns", nanoseconds),
    cell("udp_pdv_ns", nanoseconds),
    cell("udp_reordered", count),
  ]);
  return panel(
    "mesh-udp",
    table(
      more(
        "UDP at a media rate: loss, interarrival jitter (RFC 3550), delay variation (P99) and reordering",
        found.length,
      ),
      ["from", "to", "rate", "lost", "jitter", "delay variation", "packets reordered"],
      rows,
      { numeric: [2, 3, 4, 5, 6] },
    ),
  );
};

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
      "Fits against distance, with 95 % bounds, assuming independent tests",
      ["tests", "number", "r of RTT", "RTT per 1,000 km", "r of log throughput", "throughput per 1,000 km"],
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
        "TCP window implied by throughput and RTT, for tests with an RTT above 60 ms: median with 95 % bounds",
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
