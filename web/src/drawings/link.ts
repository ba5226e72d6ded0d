// Charts of an emulated link: packets offered and delivered, drops by cause, and lateness.
import type { Layer, XYSpec } from "../charts/model";
import { directions, Table } from "../data/table";
import { bytes, count, nanoseconds, plural, rate, words } from "../format";
import type { Drawing } from "../kinds/describe";
import { contentOf, gapOf, xs } from "./columns";
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
    type: "xy",
    id: "link-rate",
    title: `The link delivered ${count(delivered)} of ${plural(offered, "packet")} offered`,
    note: completeness(all),
    empty: offered === 0 ? "No packets were offered to the link." : null,
    x: { kind: "time", label: "", format: String },
    y: { kind: "linear", label: "IP packets", format: rate, exact: (v) => rate(Math.round(v)) },
    layers: names.flatMap((name, i): Layer[] => [
      {
        kind: "line",
        name: `offered, ${name}`,
        colour: colour(i),
        x: xs(tables[i]!, "at_ns"),
        y: perSecond(tables[i]!, "offered_bytes"),
        gap: gapOf(all),
        dash: "4 3",
      },
      {
        kind: "line",
        name: `delivered, ${name}`,
        colour: colour(i),
        x: xs(tables[i]!, "at_ns"),
        y: perSecond(tables[i]!, "delivered_bytes"),
        gap: gapOf(all),
      },
    ]),
    view: context.view,
    startedUnixNs: context.run.started_unix_ns,
    height: 240,
    content: contentOf(all),
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
      layers.push({
        kind: "line",
        name: `${words(cause.replace("dropped_", "dropped: "))}, ${name}`,
        colour: [C.red, C.orange, C.purple, C.blue, C.green, C.sky, C.grey][layers.length % 7]!,
        x: xs(tables[i]!, "at_ns"),
        y: tables[i]!.numbers(cause),
        gap: gapOf(all),
      });
    }
  });
  if (layers.length === 0) return null;
  return {
    type: "xy",
    id: "link-drops",
    title: `The link dropped ${plural(sum, "packet")}`,
    x: { kind: "time", label: "", format: String },
    y: { kind: "linear", label: "packets", format: count },
    layers,
    view: context.view,
    startedUnixNs: context.run.started_unix_ns,
    height: 220,
    content: contentOf(all),
  };
};

export const linkLateness: Drawing = (context): XYSpec | null => {
  const { all, names, tables } = of(context.run);
  if (all.max("lateness_p99_ns") === null) return null;
  return {
    type: "xy",
    id: "link-lateness",
    title: `Lateness of the emulator: at most ${nanoseconds(all.max("lateness_max_ns"))}`,
    note: "Time by which packets left the link too late. It does not matter where it is far below the link's delay.",
    x: { kind: "time", label: "", format: String },
    y: { kind: "log", label: "lateness", format: (v) => nanoseconds(v), exact: exactNs },
    layers: names.flatMap((name, i): Layer[] => [
      {
        kind: "line",
        name: `P50, ${name}`,
        colour: colour(i),
        x: xs(tables[i]!, "at_ns"),
        y: tables[i]!.numbers("lateness_p50_ns"),
        gap: gapOf(all),
      },
      {
        kind: "line",
        name: `P99, ${name}`,
        colour: colour(i),
        x: xs(tables[i]!, "at_ns"),
        y: tables[i]!.numbers("lateness_p99_ns"),
        gap: gapOf(all),
        dash: "4 3",
      },
    ]),
    view: context.view,
    startedUnixNs: context.run.started_unix_ns,
    height: 220,
    content: contentOf(all),
  };
};

export const linkQueue: Drawing = (context): XYSpec | null => {
  const { all, names, tables } = of(context.run);
  const most = all.max("most_queued_bytes") ?? 0;
  if (most === 0) return null;
  return {
    type: "xy",
    id: "link-queue",
    title: `Queue of the link: at most ${bytes(most)}`,
    note: "Maximum since the link started.",
    x: { kind: "time", label: "", format: String },
    y: { kind: "linear", label: "bytes queued", format: bytes },
    layers: names.map((name, i) => ({
      kind: "line",
      name: name,
      colour: colour(i),
      x: xs(tables[i]!, "at_ns"),
      y: tables[i]!.numbers("most_queued_bytes"),
      gap: gapOf(all),
    })),
    view: context.view,
    startedUnixNs: context.run.started_unix_ns,
    height: 200,
    content: contentOf(all),
  };
};
