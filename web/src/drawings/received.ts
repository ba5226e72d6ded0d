// Charts of a receiver of media: packets received, lost, repaired and late, CPU.
import type { Layer, XYSpec } from "../charts/model";
import type { Run } from "../data/document";
import { Table } from "../data/table";
import { count, digits, nanoseconds, percent, plural, rate } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { gapOf, lineOf, median, overTime, peak, xs } from "./columns";
import { C, colour } from "./palette";
import { type Account, accountOf, expected, lostOf, type Sender, senders } from "./senders";
import { type Part, stackOf } from "./stack";
import { completeness, notes, when } from "./wording";

/** Values in each nanosecond of their rows. A short rest at the end of a run says nothing of a second. */
export function perNs(values: (number | null)[], durations: (number | null)[]): (number | null)[] {
  const rest = (median(durations) ?? 0) / 2;
  return values.map((value, i) => {
    const duration = durations[i];
    if (value === null || !duration || (i === values.length - 1 && duration < rest)) return null;
    return value / duration;
  });
}

/** Bits per second of a table of seconds. */
export function bitsPerSecond(table: Table): (number | null)[] {
  return perNs(table.numbers("bytes"), table.numbers("duration_ns")).map((value) =>
    value === null ? null : value * 8e9,
  );
}

/** How long a point of a series over time sums up, in words for an axis. */
export function each(table: Table): string {
  return nanoseconds(table.series?.bin_ns ?? 1e9);
}

const tables = (all: Sender[]) => all.map((one) => one.table);

export const recvRate: Drawing = (context): XYSpec | null => {
  const all = senders(context.run);
  if (all.length === 0) return null;
  const layers = all.map((one, i): Layer => {
    return {
      kind: "line",
      name: one.name,
      colour: colour(i),
      x: xs(one.table, "at_ns"),
      y: bitsPerSecond(one.table),
      gap: gapOf(one.table),
    };
  });
  const means = layers.map((layer) => median(layer.y));
  const some = Table.of(context.run, "recv_seconds").sum("bytes") > 0;
  return {
    ...overTime(context, ...tables(all)),
    id: "recv-rate",
    title:
      all.length === 1
        ? `${rate(means[0])} arrived`
        : `${all.map((one, i) => `${rate(means[i])} arrived from ${one.name}`).join(", ")}`,
    note: notes("All packets: source, repair and retransmitted ones.", completeness(all[0]!.table)),
    empty: some ? null : "No packets were received.",
    y: { kind: "linear", label: "UDP payload received", format: rate, exact: (v) => rate(Math.round(v)) },
    layers,
    height: 230,
  };
};

/** Missed packets by repair; residual loss is at the axis. */
export const REPAIRS: (Part & { column: keyof Account; by: string })[] = [
  { column: "unrepaired", name: "residual loss", colour: C.red, by: "" },
  { column: "recovered", name: "repaired by FEC", colour: C.blue, by: "by FEC" },
  { column: "retransmitted", name: "repaired by ARQ", colour: C.orange, by: "by ARQ" },
  { column: "elsewhere", name: "received from another sender", colour: C.green, by: "by another sender" },
  { column: "overtaken", name: "reordered", colour: C.sky, by: "" },
];

/** Loss of a sender before and after repair, as a sentence without a full stop. */
export function repairSentence(account: Account): string {
  const all = expected(account);
  const lost = lostOf(account);
  const share = (n: number) => (all > 0 ? percent(n / all) : "–");
  const late = account.overtaken > 0 ? `; ${count(account.overtaken)} were only reordered` : "";
  if (lost === 0) return `No loss among ${plural(all, "packet")}${late}`;
  const by = REPAIRS.filter((one) => one.by && account[one.column] > 0).map(
    (one) => `${count(account[one.column])} ${one.by}`,
  );
  const left = account.unrepaired;
  const repaired = by.length > 0 ? `: repaired ${by.join(", ")}` : "";
  const after =
    left > 0 ? `residual loss ${count(left)} (${share(left)})` : by.length > 0 ? "no residual loss" : "repair unknown";
  return `${plural(lost, "packet")} of ${count(all)} ${lost === 1 ? "was" : "were"} lost (${share(lost)})${repaired}; ${after}${late}`;
}

function lossOf(context: Context, one: Sender, several: boolean): XYSpec {
  const { table } = one;
  const x = xs(table, "at_ns");
  const parts = stackOf(table, REPAIRS);
  const lost = table.sum("lost");
  const named = several ? `${one.name}: ` : "";
  const sentence = repairSentence(accountOf(table));
  return {
    ...overTime(context, table),
    id: several ? `recv-loss-${one.index}` : "recv-loss",
    title: named + (named ? sentence.charAt(0).toLowerCase() + sentence.slice(1) : sentence),
    note: notes(
      "A packet is counted when it is missed, and again under its repair when that arrives, which may be in the next second.",
      completeness(table),
    ),
    empty: lost + parts.length === 0 ? "No packet was missed; nothing to repair." : null,
    y: { kind: "linear", label: `packets in ${each(table)}`, format: count },
    layers: [
      ...parts,
      {
        kind: "line",
        name: "missed at first",
        colour: "var(--text)",
        dash: "5 3",
        step: true,
        x,
        y: table.numbers("lost"),
        gap: gapOf(table),
      },
    ],
    height: 250,
  };
}

export const recvLoss: Drawing = (context): XYSpec[] => {
  const all = senders(context.run);
  return all.map((one) => lossOf(context, one, all.length > 1));
};

const IDLE: (Part & { dash?: string })[] = [
  { column: "late", name: "too late: after the playout deadline", colour: C.red },
  { column: "duplicates", name: "duplicates", colour: C.sky, dash: "5 3" },
  { column: "rejected", name: "rejected: wrong tag, session or form", colour: C.purple, dash: "1 3" },
  { column: "socket_drops", name: "dropped at the socket", colour: C.orange, dash: "8 3 2 3" },
];

/** Only where there were any: most runs have none. */
export const recvLate: Drawing = (context): XYSpec | null => {
  const all = senders(context.run);
  const layers = all.flatMap((one): Layer[] =>
    IDLE.filter((part) => one.table.sum(part.column) > 0).map((part) =>
      lineOf(one.table, all.length > 1 ? `${one.name}: ${part.name}` : part.name, part.column, part.colour, part.dash),
    ),
  );
  if (layers.length === 0) return null;
  const sum = (column: string) => all.reduce((n, one) => n + one.table.sum(column), 0);
  const late = sum("late");
  const worst = all
    .map((one) => ({ x: xs(one.table, "at_ns"), top: peak(one.table.numbers("late")) }))
    .sort((a, b) => (b.top?.value ?? 0) - (a.top?.value ?? 0))[0];
  const rest = IDLE.slice(1)
    .filter((part) => sum(part.column) > 0)
    .map((part) => `${count(sum(part.column))} ${part.name.split(":")[0]}`);
  const first =
    late > 0
      ? `${plural(late, "packet")} arrived too late, most at ${when(context, worst!.x[worst!.top!.index]!)}`
      : "No packet arrived too late";
  return {
    ...overTime(context, ...tables(all)),
    id: "recv-late",
    title: [first, ...rest].join("; "),
    note: completeness(all[0]!.table),
    y: { kind: "linear", label: `packets in ${each(all[0]!.table)}`, format: count },
    layers,
    height: 210,
  };
};

/** CPU of the sending or receiving thread, in cores. */
export function cpuChart(
  context: Context,
  id: string,
  name: string,
  table: Table,
  seconds: { at: number; duration: number; cpu: number }[],
): XYSpec | null {
  const x = seconds.map((one) => one.at);
  const y = perNs(
    seconds.map((one) => one.cpu),
    seconds.map((one) => one.duration),
  );
  const [usual, top] = [median(y), peak(y)];
  if (usual === null || !top || top.value === 0) return null;
  const cores = (value: number) => `${digits(value, 3)} ${value === 1 ? "core" : "cores"}`;
  return {
    ...overTime(context, table),
    id,
    title: `${name.charAt(0).toUpperCase()}${name.slice(1)} used ${cores(usual)} (median), at most ${cores(top.value)} at ${when(context, x[top.index]!)}`,
    note: completeness(table),
    y: { kind: "linear", label: "CPU (cores)", format: (v) => digits(v, 3), exact: cores },
    layers: [{ kind: "line", name, colour: C.blue, x, y, gap: gapOf(table) }],
    height: 200,
  };
}

/**
 * CPU of the receiver: one thread may serve all senders, and its time then stands in the row of one of them. Rows that
 * begin together are one second.
 */
export const recvCpu: Drawing = (context): XYSpec | null => {
  const all = Table.of(context.run, "recv_seconds").sortedBy("at_ns");
  const [at, durations, cpu] = ["at_ns", "duration_ns", "cpu_ns"].map((name) => all.numbers(name));
  const seconds: { at: number; duration: number; cpu: number }[] = [];
  for (let i = 0; i < all.length; i++) {
    const [began, duration, spent] = [at![i] ?? 0, durations![i] ?? 0, cpu![i] ?? 0];
    const last = seconds[seconds.length - 1];
    if (last && began - last.at < last.duration / 4) last.cpu += spent;
    else seconds.push({ at: began, duration, cpu: spent });
  }
  return cpuChart(context, "recv-cpu", "the receiving thread", all, seconds);
};

/** Loss of all senders together, before and after repair; null before there are packets. */
export function lossOfAll(run: Run): { lost: number; left: number; expected: number } | null {
  const accounts = senders(run).map((one) => accountOf(one.table));
  const sum = (of: (account: Account) => number) => accounts.reduce((n, account) => n + of(account), 0);
  const all = sum(expected);
  return all > 0 ? { lost: sum(lostOf), left: sum((one) => one.unrepaired), expected: all } : null;
}
