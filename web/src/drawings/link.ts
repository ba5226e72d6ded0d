// Charts of an emulated link: packets offered and delivered, drops by cause, and lateness.
import type { Layer, XYSpec } from "../charts/model";
import { directions, Table } from "../data/table";
import { bytes, count, nanoseconds, plural, rate, words } from "../format";
import type { Drawing } from "../kinds/describe";
import { lineOf, overTime } from "./columns";
import { C, colour } from "./palette";
import { exactNs } from "./rtt";
import { completeness } from "./wording";

const of = (run: Parameters<typeof Table.of>[0]) => {
  const all = Table.of(run, "link_seconds");
  const names = directions(all);
  return { all, names, tables: names.map((name) => all.where("direction", name).sortedBy("at_ns")) };
};

const perSecond = (table: Table, column: string) => {
  const durations = table.numbers("duration_ns");
  return table.numbers(column).map((value, i) => (value === null ? null : (value * 8e9) / (durations[i] || 1e9)));
};

export const linkRate: Drawing = (context): XYSpec => {
  const { all, names, tables } = of(context.run);
  const offered = all.sum("offered");
  const delivered = all.sum("delivered");
  return {
    ...overTime(context, all),
    id: "link-rate",
    title: `The link delivered ${count(delivered)} of ${plural(offered, "packet")} offered`,
    note: completeness(all),
    empty: offered === 0 ? "No packets were offered to the link." : null,
    y: { kind: "linear", label: "IP packets", format: rate, exact: (v) => rate(Math.round(v)) },
    layers: names.flatMap((name, i): Layer[] => [
      lineOf(tables[i]!, `offered, ${name}`, perSecond(tables[i]!, "offered_bytes"), colour(i), "4 3"),
      lineOf(tables[i]!, `delivered, ${name}`, perSecond(tables[i]!, "delivered_bytes"), colour(i)),
    ]),
    height: 240,
  };
};

export const linkDrops: Drawing = (context): XYSpec | null => {
  const { all, names, tables } = of(context.run);
  const causes = all.names.filter(
    (name) => name.startsWith("dropped_") || name === "own_losses" || name === "corrupted" || name === "duplicated",
  );
  const layers: Layer[] = [];
  let sum = 0;
  names.forEach((name, i) => {
    for (const cause of causes) {
      const n = tables[i]!.sum(cause);
      if (n === 0) continue;
      if (cause.startsWith("dropped_")) sum += n;
      layers.push(
        lineOf(
          tables[i]!,
          `${words(cause.replace("dropped_", "dropped: "))}, ${name}`,
          cause,
          [C.red, C.orange, C.purple, C.blue, C.green, C.sky, C.grey][layers.length % 7]!,
        ),
      );
    }
  });
  if (layers.length === 0) return null;
  return {
    ...overTime(context, all),
    id: "link-drops",
    title: `The link dropped ${plural(sum, "packet")}`,
    y: { kind: "linear", label: "packets", format: count },
    layers,
    height: 220,
  };
};

export const linkLateness: Drawing = (context): XYSpec | null => {
  const { all, names, tables } = of(context.run);
  if (all.max("lateness_p99_ns") === null) return null;
  return {
    ...overTime(context, all),
    id: "link-lateness",
    title: `Lateness of the emulator: at most ${nanoseconds(all.max("lateness_max_ns"))}`,
    note: "Time by which packets left the link too late. It does not matter where it is far below the link's delay.",
    y: { kind: "log", label: "lateness", format: (v) => nanoseconds(v), exact: exactNs },
    layers: names.flatMap((name, i): Layer[] => [
      lineOf(tables[i]!, `P50, ${name}`, "lateness_p50_ns", colour(i)),
      lineOf(tables[i]!, `P99, ${name}`, "lateness_p99_ns", colour(i), "4 3"),
    ]),
    height: 220,
  };
};

export const linkQueue: Drawing = (context): XYSpec | null => {
  const { all, names, tables } = of(context.run);
  const most = all.max("most_queued_bytes") ?? 0;
  if (most === 0) return null;
  return {
    ...overTime(context, all),
    id: "link-queue",
    title: `Queue of the link: at most ${bytes(most)}`,
    note: "Maximum since the link started.",
    y: { kind: "linear", label: "bytes queued", format: bytes },
    layers: names.map((name, i) => lineOf(tables[i]!, name, "most_queued_bytes", colour(i))),
    height: 200,
  };
};
