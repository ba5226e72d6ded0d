// RTT against throughput, with what would hold it: the windows that hosts allow, and loss by Mathis's formula.
import type { Curve, ScatterSpec } from "../charts/model";
import { meshOf, type Window } from "../data/mesh";
import { binary, count, digits, nanoseconds, rate } from "../format";
import type { Drawing } from "../kinds/describe";
import { arrow, look, told } from "./mesh-distance";
import { C } from "./palette";

const WINDOWS = [64 * 1024, 1024 * 1024, 16 * 1024 * 1024];
/** Loss rates. */
const LOSSES = [1e-4, 1e-6, 1e-8];
/** Payload of a TCP segment on a path of 1,500 bytes, bytes. */
const MSS = 1448;
const DASHES = ["2 3", "6 3", "10 4"];

/** Bits per second with a window of this many bytes. */
export const windowRate = (window: number, rttNs: number) => (window * 8e9) / rttNs;

/** Mathis, Semke, Mahdavi and Ott (1997): MSS * sqrt(3/2) / (RTT * sqrt(p)), bits per second. */
export const mathisRate = (loss: number, rttNs: number) => (MSS * 8e9 * Math.sqrt(1.5)) / (rttNs * Math.sqrt(loss));

function title(windows: Window[]): string {
  if (windows.length === 0) return "Throughput of one connection against the RTT";
  const each = windows.map((window) => `${binary(window.medianBytes)} towards ${window.to}`);
  return `Above 60 ms, throughput fits a window of ${each.join(", ")}`;
}

export const throughputOverRtt: Drawing = ({ run }): ScatterSpec => {
  const mesh = meshOf(run);
  const { tests } = mesh;
  const rows: number[] = [];
  for (let i = 0; i < tests.length; i++) if ((tests.rttNs[i] ?? 0) > 0 && (tests.bps[i] ?? 0) > 0) rows.push(i);
  const xs = rows.map((i) => tests.rttNs[i]!);
  const [low, high] = [xs.reduce((a, b) => Math.min(a, b), Infinity), xs.reduce((a, b) => Math.max(a, b), 0)];
  const curve = (name: string, colour: string, dash: string | undefined, at: (rttNs: number) => number): Curve => ({
    name,
    colour,
    dash,
    points: [low / 4, high * 4].map((rtt): [number, number] => [rtt, at(rtt)]),
  });
  const implied = mesh.windows.filter((window) => window.isCloud);
  return {
    type: "scatter",
    id: "mesh-rtt-throughput",
    title: title(implied),
    note: `Falling lines: throughput limit of a window, and of TCP at a loss rate (Mathis and others, 1997; segments of ${count(MSS)} bytes).`,
    empty: rows.length === 0 ? "No test has both an RTT and a throughput." : null,
    x: { kind: "log", label: "RTT", format: (ns) => nanoseconds(ns) },
    y: { kind: "log", label: "throughput of one TCP connection", format: rate },
    xs,
    ys: rows.map((i) => tests.bps[i]!),
    groups: mesh.groups
      .map((name) => ({
        name: arrow(name),
        ...look(mesh, name),
        points: rows.flatMap((row, i) => (tests.group[row] === name ? [i] : [])),
      }))
      .filter((group) => group.points.length > 0),
    curves: [
      ...WINDOWS.map((window, i) =>
        curve(`window ${binary(window)}`, C.grey, DASHES[i], (rtt) => windowRate(window, rtt)),
      ),
      ...LOSSES.map((loss, i) =>
        curve(`loss ${digits(loss * 100)} %`, C.red, DASHES[i], (rtt) => mathisRate(loss, rtt)),
      ),
    ],
    head: (point) => `${tests.from[rows[point]!]} to ${tests.to[rows[point]!]}`,
    tell: (point) => {
      const row = rows[point]!;
      const window = (tests.bps[row]! * tests.rttNs[row]!) / 8e9;
      return [...told(mesh, row), { name: "window implied", text: binary(window) }];
    },
    height: 420,
    content: () => ({
      columns: ["from", "to", "rtt_ms", "tcp_bps", "window_bytes"],
      rows: rows.map((i) => [
        tests.from[i]!,
        tests.to[i]!,
        tests.rttNs[i]! / 1e6,
        tests.bps[i]!,
        (tests.bps[i]! * tests.rttNs[i]!) / 8e9,
      ]),
    }),
  };
};
