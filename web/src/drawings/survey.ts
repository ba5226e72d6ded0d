// Charts of a survey: what its flow tests lost, by payload length and by number of flows.
import type { XYSpec } from "../charts/model";
import { LOSS_NOTE, lossRules } from "../clouds";
import type { Run } from "../data/document";
import { dig, num } from "../data/facts";
import { count, percent, plural, rate } from "../format";
import type { Context, Drawing } from "../kinds/describe";
import { C } from "./palette";

interface Step {
  flows: number;
  length: number;
  direction: string;
  lost: number;
  received: number;
  loss: number;
  low: number;
  high: number;
  rate: number | null;
}

function step(summary: unknown): Step | null {
  const bounds = dig(summary, "loss_interval");
  const flows = num(dig(summary, "flows"));
  const length = num(dig(summary, "length"));
  const loss = num(dig(summary, "loss"));
  if (flows === null || length === null || loss === null || !Array.isArray(bounds)) return null;
  return {
    flows,
    length,
    direction: String(dig(summary, "direction") ?? "forward"),
    lost: num(dig(summary, "lost")) ?? 0,
    received: num(dig(summary, "received")) ?? 0,
    loss,
    low: Number(bounds[0]),
    high: Number(bounds[1]),
    rate: num(dig(summary, "rate")),
  };
}

/** The flow tests of a survey: as its summary tells them, or before there is one as its parts do. */
export function flowSteps(run: Run, parts: Run[], list: "by_flows" | "by_length"): Step[] {
  const own = dig(run.summary, list);
  const found = Array.isArray(own) ? own.map(step) : [];
  if (found.some((one) => one !== null)) return found.filter((one): one is Step => one !== null);
  const all = parts
    .filter((part) => part.kind === "flows")
    .map((part) => step(dig(part.summary, "forward")))
    .filter((one): one is Step => one !== null);
  // Without a summary: steps that share the payload (or the number of flows) that most have.
  const key = list === "by_flows" ? "length" : "flows";
  const most = [...new Set(all.map((one) => one[key]))].sort(
    (a, b) => all.filter((one) => one[key] === b).length - all.filter((one) => one[key] === a).length,
  )[0];
  return all.filter((one) => one[key] === most);
}

/** A lossless step has no place on a logarithmic axis: it lies on the floor, with its upper bound above it. */
function lossChart(id: string, title: string, label: string, steps: Step[], key: "flows" | "length"): XYSpec {
  const sorted = [...steps].sort((a, b) => a[key] - b[key]);
  const places = [...new Set(sorted.map((one) => one[key]))];
  const smallest = Math.min(1e-6, ...sorted.flatMap((one) => [one.loss, one.low]).filter((value) => value > 0));
  return {
    type: "xy",
    id,
    title,
    note: `With 95 % bounds. Steps without loss are at the bottom. ${LOSS_NOTE}`,
    x: { kind: "band", label, format: count, places: places.map((place) => count(place)) },
    y: {
      kind: "log",
      label: "packets lost (%)",
      format: (v) => percent(v),
      exact: (v) => percent(v, 4),
      domain: [Math.min(1e-8, smallest / 3), Math.max(1e-3, ...sorted.map((one) => one.high)) * 2],
    },
    layers: [
      {
        kind: "points",
        name: "loss",
        colour: C.red,
        shape: "circle",
        x: sorted.map((one) => places.indexOf(one[key])),
        y: sorted.map((one) => one.loss),
        lo: sorted.map((one) => one.low),
        hi: sorted.map((one) => one.high),
      },
    ],
    rules: lossRules(),
    height: 290,
    content: () => ({
      columns: [
        "flows",
        "length",
        "direction",
        "lost",
        "received",
        "loss",
        "loss_low",
        "loss_high",
        "rate_bits_per_second",
      ],
      rows: sorted.map((one) => [
        one.flows,
        one.length,
        one.direction,
        one.lost,
        one.received,
        one.loss,
        one.low,
        one.high,
        one.rate,
      ]),
    }),
  };
}

export const lossByFlows: Drawing = ({ run, parts }: Context): XYSpec | null => {
  const steps = flowSteps(run, parts, "by_flows");
  if (steps.length === 0) return null;
  const sorted = [...steps].sort((a, b) => a.flows - b.flows);
  const [first, last] = [sorted[0]!, sorted[sorted.length - 1]!];
  let title = `Loss hardly depends on the number of flows: ${percent(first.loss)} with ${first.flows}, ${percent(last.loss)} with ${last.flows}`;
  if (steps.every((one) => one.lost === 0)) title = `No loss with ${sorted.map((one) => one.flows).join(", ")} flows`;
  else if (last.low > first.high)
    title = `More flows lose more: ${percent(first.loss)} with ${first.flows}, ${percent(last.loss)} with ${last.flows}`;
  else if (last.high < first.low)
    title = `More flows lose less: ${percent(first.loss)} with ${first.flows}, ${percent(last.loss)} with ${last.flows}`;
  return lossChart("loss-by-flows", title, `flows (payload of ${count(first.length)} bytes)`, steps, "flows");
};

export const lossByLength: Drawing = ({ run, parts }: Context): XYSpec | null => {
  const steps = flowSteps(run, parts, "by_length");
  if (steps.length === 0) return null;
  const sorted = [...steps].sort((a, b) => a.length - b.length);
  const [first, last] = [sorted[0]!, sorted[sorted.length - 1]!];
  let title = `Loss hardly depends on the payload: ${percent(first.loss)} at ${count(first.length)} bytes, ${percent(last.loss)} at ${count(last.length)}`;
  const cliff = sorted.findIndex((one, i) => i > 0 && one.low > sorted[i - 1]!.high * 3 && one.loss > 1e-5);
  if (steps.every((one) => one.lost === 0)) title = `No loss at any payload up to ${count(last.length)} bytes`;
  else if (cliff > 0)
    title = `Loss jumps to ${percent(sorted[cliff]!.loss)} at ${count(sorted[cliff]!.length)} bytes of payload; at ${count(sorted[cliff - 1]!.length)} it is ${percent(sorted[cliff - 1]!.loss)}`;
  return lossChart("loss-by-length", title, `UDP payload (bytes), ${plural(first.flows, "flow")}`, steps, "length");
};

/** Rates that the steps held, in one line for the figures. */
export function bestText(run: Run): { value: string; detail: string } | null {
  const best = dig(run.summary, "best");
  const flows = num(dig(best, "flows"));
  const length = num(dig(best, "length"));
  if (flows === null || length === null) return null;
  const held = dig(best, "held") === true;
  return {
    value: percent(num(dig(best, "loss"))),
    detail: `${plural(flows, "flow")}, ${count(length)} bytes, ${rate(num(dig(best, "rate")))}${held ? "" : ", rate not reached"}`,
  };
}
