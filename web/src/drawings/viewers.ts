// Quality of viewers' sessions as distributions: start-up delay, share of the viewing time that was stalled, mean bit
// rate. Each session counts alike.
import type { XYSpec } from "../charts/model";
import { Table } from "../data/table";
import { nanoseconds, percent, rate } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { contentOf, xs } from "./columns";
import { C } from "./palette";

/** The sessions' values of a measure by share; none where the run has none. */
function sessions({ run }: Context, measure: string): Table | null {
  const all = Table.of(run, "viewer_distribution");
  const table = all.where("measure", measure).sortedBy("share");
  return all.has("measure") && table.length > 0 ? table : null;
}

/** What this share of the sessions does not exceed. */
export function atShare(table: Table, share: number): number {
  const at = table.numbers("share").findIndex((one) => one !== null && one >= share - 1e-12);
  return table.numbers("value")[at] ?? 0;
}

/** The largest share of the sessions that has no more than 0. */
function shareOfNone(table: Table): number {
  const values = table.numbers("value");
  const shares = table.numbers("share").filter((_, i) => values[i] === 0);
  return Math.max(0, ...shares.map((share) => share ?? 0));
}

interface Look {
  id: string;
  title: string;
  note: string;
  name: string;
  colour: string;
  label: string;
  kind: "linear" | "log";
  format: (value: number) => string;
  exact: (value: number) => string;
}

function distribution(table: Table, look: Look): XYSpec {
  return {
    type: "xy",
    id: look.id,
    title: look.title,
    note: look.note,
    x: { kind: "linear", label: "share of the sessions", format: (v) => percent(v), domain: [0, 1] },
    y: { kind: look.kind, label: look.label, format: look.format, exact: look.exact },
    layers: [{ kind: "line", name: look.name, colour: look.colour, x: xs(table, "share"), y: table.numbers("value") }],
    height: 240,
    content: contentOf(table),
  };
}

const ALIKE = "Each session counts alike; the value is the quantile at this share of sessions.";

export const viewerStartup: Drawing = (context) => {
  const table = sessions(context, "startup");
  if (!table) return null;
  const least = atShare(table, 0);
  return distribution(table, {
    id: "viewer-startup",
    title: `Start-up delay of sessions: P50 ${nanoseconds(atShare(table, 0.5))}, P99 ${nanoseconds(atShare(table, 0.99))}`,
    note: `${ALIKE} Sessions without a first picture are excluded.`,
    name: "start-up delay",
    colour: C.blue,
    label: "start-up delay",
    kind: least > 0 && atShare(table, 1) > 20 * least ? "log" : "linear",
    format: (v) => nanoseconds(v),
    exact: (v) => nanoseconds(v, 4),
  });
};

/** Without stalls, there is no distribution. */
export const viewerStalls: Drawing = (context) => {
  const table = sessions(context, "rebuffer");
  if (!table || atShare(table, 1) === 0) return null;
  return distribution(table, {
    id: "viewer-stalls",
    title: `At least ${percent(shareOfNone(table))} of the sessions never stalled; maximum stall share ${percent(atShare(table, 1))}`,
    note: ALIKE,
    name: "stalled",
    colour: C.red,
    label: "share of the viewing time that was stalled",
    kind: "linear",
    format: (v) => percent(v),
    exact: (v) => percent(v, 4),
  });
};

export const viewerBitrate: Drawing = (context) => {
  const table = sessions(context, "bitrate");
  if (!table) return null;
  return distribution(table, {
    id: "viewer-bitrate",
    title:
      atShare(table, 0) === atShare(table, 1)
        ? `All sessions had ${rate(atShare(table, 1))} on average`
        : `Half of the sessions had ${rate(atShare(table, 0.5))} or less on average, a tenth of them ${rate(atShare(table, 0.1))} or less`,
    note: ALIKE,
    name: "mean bit rate",
    colour: C.green,
    label: "mean bit rate per session",
    kind: "linear",
    format: rate,
    exact: (v) => rate(Math.round(v)),
  });
};
