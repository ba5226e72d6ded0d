// Charts of a sender of media: rate, packets by cause, code rate, send failures, RTT, CPU.
import type { XYSpec } from "../charts/model";
import type { Run } from "../data/document";
import { Table } from "../data/table";
import { count, nanoseconds, percent, plural, rate } from "../format";
import type { Drawing } from "../kinds/describe";
import { lineOf, median, overTime, peak, xs } from "./columns";
import { C } from "./palette";
import { bitsPerSecond, cpuChart, each } from "./received";
import { exactNs } from "./rtt";
import { completeness, notes, when } from "./wording";

const seconds = (run: Run) => Table.of(run, "send_seconds").sortedBy("at_ns");

export const sendRate: Drawing = (context): XYSpec | null => {
  const table = seconds(context.run);
  if (table.length === 0) return null;
  const y = bitsPerSecond(table);
  return {
    ...overTime(context, table),
    id: "send-rate",
    title: `${rate(median(y))} were sent`,
    note: notes("All packets: source, repair and retransmitted ones, and probes of flows.", completeness(table)),
    empty: table.sum("bytes") === 0 ? "No packets were sent." : null,
    y: { kind: "linear", label: "UDP payload sent", format: rate, exact: (v) => rate(Math.round(v)) },
    layers: [lineOf(table, "sent", y, C.blue)],
    height: 230,
  };
};

const CAUSES: [string, string, string, string | undefined][] = [
  ["sources", "source packets", C.blue, undefined],
  ["repairs", "repair packets (FEC)", C.green, "8 3"],
  ["retransmitted", "retransmissions (ARQ)", C.orange, "5 3"],
  ["trials", "flow probes", C.purple, "1 3"],
];

export const sendPackets: Drawing = (context): XYSpec | null => {
  const table = seconds(context.run);
  const there = CAUSES.filter(([column]) => table.sum(column) > 0);
  if (there.length === 0) return null;
  const sources = table.sum("sources");
  const share = (column: string) => (sources > 0 ? ` (${percent(table.sum(column) / sources)})` : "");
  const more = there
    .filter(([column]) => column !== "sources")
    .map(([column, name]) => `${count(table.sum(column))} ${name}${share(column)}`);
  return {
    ...overTime(context, table),
    id: "send-packets",
    title: `${plural(sources, "source packet")} were sent${more.length > 0 ? `, and ${more.join(", ")}` : ", and no others"}`,
    note: completeness(table),
    y: { kind: "log", label: `packets in ${each(table)}`, format: count },
    // A logarithmic axis has no place for 0.
    layers: there.map(([column, name, colour, dash]) =>
      lineOf(
        table,
        name,
        table.numbers(column).map((value) => value || null),
        colour,
        dash,
      ),
    ),
    height: 240,
  };
};

/** Repair packets for each source packet; null where there is no FEC. */
export function codeRate(table: Table): (number | null)[] {
  return table.numbers("fec_sources").map((sources) => (sources ? 1 / sources : null));
}

export const sendCode: Drawing = (context): XYSpec | null => {
  const table = seconds(context.run);
  const y = codeRate(table);
  const usual = median(y);
  if (usual === null) return null;
  const windows = table.numbers("fec_window");
  const [low, high] = [Math.min(...real(y)), Math.max(...real(y))];
  return {
    ...overTime(context, table),
    id: "send-code",
    title:
      low === high
        ? `FEC sent one repair packet per ${count(1 / usual)} source packets (${percent(usual)}), over a window of ${count(median(windows))}`
        : `FEC overhead was ${percent(low)} to ${percent(high)}`,
    note: completeness(table),
    y: { kind: "linear", label: "repair packets per source packet", format: percent, exact: (v) => percent(v, 5) },
    layers: [{ ...lineOf(table, "code rate", y, C.green), step: true }],
    height: 190,
  };
};

const real = (values: (number | null)[]) => values.filter((value): value is number => value !== null);

const TROUBLE: [string, string, string, string | undefined][] = [
  ["unsent", "packets refused by the kernel", C.red, undefined],
  ["refused", "retransmission requests that came too late", C.orange, "5 3"],
  ["rejected", "rejected feedback packets", C.purple, "1 3"],
  ["frames_skipped", "skipped frames", C.sky, "8 3"],
];

/** Only where there was any. */
export const sendTrouble: Drawing = (context): XYSpec | null => {
  const table = seconds(context.run);
  const there = TROUBLE.filter(([column]) => table.sum(column) > 0);
  if (there.length === 0) return null;
  const [first] = there as [(typeof TROUBLE)[number]];
  const top = peak(table.numbers(first[0]))!;
  return {
    ...overTime(context, table),
    id: "send-trouble",
    title: `${there.map(([column, name]) => `${count(table.sum(column))} ${name}`).join("; ")}; of the first the most at ${when(context, xs(table, "at_ns")[top.index]!)}`,
    note: completeness(table),
    y: { kind: "linear", label: `in ${each(table)}`, format: count },
    layers: there.map(([column, name, colour, dash]) => lineOf(table, name, table.numbers(column), colour, dash)),
    height: 210,
  };
};

export const sendRtt: Drawing = (context): XYSpec | null => {
  const table = seconds(context.run);
  const y = table.numbers("receiver_rtt_ns");
  const usual = median(y);
  const top = peak(y);
  if (usual === null || !top) return null;
  return {
    ...overTime(context, table),
    id: "send-rtt",
    title: `RTT to the receiver: P50 ${nanoseconds(usual)}, maximum ${nanoseconds(top.value)} at ${when(context, xs(table, "at_ns")[top.index]!)}`,
    note: completeness(table),
    y: { kind: "linear", label: "RTT to the receiver", format: (v) => nanoseconds(v), exact: exactNs },
    layers: [lineOf(table, "RTT", y, C.blue)],
    height: 190,
  };
};

export const sendCpu: Drawing = (context): XYSpec | null => {
  const table = seconds(context.run);
  const [durations, cpu] = [table.numbers("duration_ns"), table.numbers("cpu_ns")];
  const rows = xs(table, "at_ns").map((at, i) => ({ at, duration: durations[i] ?? 0, cpu: cpu[i] ?? 0 }));
  return cpuChart(context, "send-cpu", "the sending thread", table, rows);
};
