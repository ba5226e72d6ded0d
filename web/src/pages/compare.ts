// Two or more runs side by side: key figures with their differences, RTT distributions over each other, loss with
// bounds.
import { chart } from "../charts";
import type { XYSpec } from "../charts/model";
import { CLOUDS, CLOUDS_NOTE, LOSS_NOTE, lossRules, rttRules } from "../clouds";
import type { Run } from "../data/document";
import { dig, loss, num, quantile } from "../data/facts";
import { Table } from "../data/table";
import { h, table } from "../dom";
import { colour } from "../drawings/palette";
import { oneIn, tail, tailDomain } from "../drawings/rtt";
import { flowSteps } from "../drawings/survey";
import { count, digits, nanoseconds, percent, rate } from "../format";
import { kindName } from "../kinds/registry";
import { bothLines, toDate } from "../time";
import { outcomeBadge } from "./run";

/** A run, and where its RTT and its flows were measured: in itself, or in a part of it. */
interface Compared {
  run: Run;
  name: string;
  rtt: Run;
  flows: { lost: number; received: number; loss: number | null; interval: [number, number] | null } | null;
  rate: number | null;
}

function compared(run: Run, all: Run[]): Compared {
  const parts = all.filter((one) => one.parent_run_id === run.run_id);
  const rtt = [run, ...parts].find((one) => one.series.rtt_distribution) ?? run;
  let flows = run.kind === "flows" ? (loss(run, "forward") ?? loss(run, "reverse")) : null;
  let got = num(dig(run.summary, "forward", "rate")) ?? num(dig(run.summary, "reverse", "rate"));
  if (run.kind === "survey") {
    const best = dig(run.summary, "best");
    const steps = [...flowSteps(run, parts, "by_flows"), ...flowSteps(run, parts, "by_length")];
    const step =
      steps.find((one) => one.flows === dig(best, "flows") && one.length === dig(best, "length")) ?? steps[0];
    if (step) flows = { lost: step.lost, received: step.received, loss: step.loss, interval: [step.low, step.high] };
    got = num(dig(best, "rate")) ?? step?.rate ?? null;
  }
  return { run, name: `run ${run.run_id}, ${run.target}`, rtt, flows, rate: got };
}

function difference(value: number | null, base: number | null): string {
  if (value === null || base === null) return "";
  if (value === base) return "the same";
  if (base === 0) return "";
  const ratio = value / base;
  const change = (ratio - 1) * 100;
  return ratio >= 3 || ratio <= 1 / 3 ? `${digits(ratio, 2)} times` : `${change > 0 ? "+" : ""}${digits(change, 2)} %`;
}

function figuresTable(all: Compared[]): HTMLElement {
  const lines: [string, (one: Compared) => number | null, (value: number) => string][] = [
    ["RTT, P50", (one) => quantile(one.rtt, 0.5), nanoseconds],
    ["RTT, P90", (one) => quantile(one.rtt, 0.9), nanoseconds],
    ["RTT, P99", (one) => quantile(one.rtt, 0.99), nanoseconds],
    ["RTT, P99.9", (one) => quantile(one.rtt, 0.999), nanoseconds],
    ["packets lost", (one) => one.flows?.loss ?? null, percent],
    ["media rate", (one) => one.rate, rate],
  ];
  const rows = lines
    .filter(([, of]) => all.some((one) => of(one) !== null))
    .map(([name, of, write]) => [
      name,
      ...all.map((one, i) => {
        const value = of(one);
        const change = i > 0 ? difference(value, of(all[0]!)) : "";
        return h(
          "span",
          null,
          value === null ? "–" : write(value),
          change ? h("span", { class: "difference" }, change) : null,
        );
      }),
    ]);
  return h(
    "div",
    { class: "panel", "data-table": "compare" },
    table(
      "Key figures, with the difference from the first run",
      ["", ...all.map((one) => one.name)],
      [
        ["kind", ...all.map((one) => kindName(one.run.kind))],
        [
          "when",
          ...all.map((one) => {
            const [local, utc] = bothLines(toDate(one.run.started_unix_ns, 0));
            return h("span", null, local, utc ? h("span", { class: "difference" }, utc) : null);
          }),
        ],
        ["outcome", ...all.map((one) => outcomeBadge(one.run.outcome))],
        ...rows,
      ],
      { numeric: all.map((_, i) => i + 1) },
    ),
  );
}

function distributions(all: Compared[]): XYSpec {
  const found = all
    .map((one) => ({ ...one, table: Table.of(one.rtt, "rtt_distribution").sortedBy("share") }))
    .filter((one) => one.table.length > 0);
  const ranked = found
    .map((one) => ({ name: one.name, p90: quantile(one.rtt, 0.9) }))
    .filter((one) => one.p90 !== null)
    .sort((a, b) => a.p90! - b.p90!);
  const [fastest, slowest] = [ranked[0], ranked[ranked.length - 1]];
  return {
    type: "xy",
    id: "compare-rtt",
    title:
      ranked.length > 1
        ? `RTT P90 goes from ${nanoseconds(fastest!.p90)} (${fastest!.name}) to ${nanoseconds(slowest!.p90)} (${slowest!.name})`
        : "RTT distributions",
    note: CLOUDS_NOTE,
    empty: found.length === 0 ? "None of these runs measured the RTT." : null,
    x: { kind: "log", label: "RTT", format: (v) => nanoseconds(v) },
    y: {
      kind: "log",
      label: "share of packets with a longer RTT",
      format: oneIn,
      exact: oneIn,
      domain: tailDomain(found.map((one) => one.table)),
    },
    layers: found.map((one, i) => ({
      kind: "line",
      name: one.name,
      colour: colour(i),
      dash: i >= 4 ? "5 3" : undefined,
      ...tail(one.table),
    })),
    rules: rttRules("x"),
    height: 340,
    content: () => ({
      columns: ["run", "share", "rtt_ns"],
      rows: found.flatMap((one) =>
        one.table.numbers("share").map((share, i) => [one.name, share, one.table.numbers("rtt_ns")[i] ?? null]),
      ),
    }),
  };
}

function losses(all: Compared[]): XYSpec {
  const found = all.filter((one) => one.flows?.loss !== null && one.flows);
  const of = found.map((one) => one.flows!);
  const overlap =
    of.every((one) => one.interval) &&
    Math.max(...of.map((one) => one.interval![0])) <= Math.min(...of.map((one) => one.interval![1]));
  const smallest = Math.min(
    1e-6,
    ...of.flatMap((one) => [one.loss ?? 0, one.interval?.[0] ?? 0]).filter((value) => value > 0),
  );
  return {
    type: "xy",
    id: "compare-loss",
    title:
      found.length > 1
        ? overlap
          ? "Loss may be the same: the bounds overlap"
          : "Loss differs: the bounds do not overlap"
        : "Loss",
    note: `With 95 % bounds. Runs without loss are at the bottom. ${LOSS_NOTE}`,
    empty: found.length === 0 ? "None of these runs measured the loss of flows." : null,
    x: { kind: "band", label: "run", format: count, places: found.map((one) => `run ${one.run.run_id}`) },
    y: {
      kind: "log",
      label: "packets lost (%)",
      format: (v) => percent(v),
      exact: (v) => percent(v, 4),
      domain: [
        Math.min(1e-8, smallest / 3),
        Math.max(1e-3, ...of.map((one) => one.interval?.[1] ?? one.loss ?? 0)) * 2,
      ],
    },
    layers: [
      {
        kind: "points",
        name: "loss",
        colour: "var(--c-red)",
        shape: "circle",
        x: found.map((_, i) => i),
        y: of.map((one) => one.loss),
        lo: of.map((one) => one.interval?.[0] ?? null),
        hi: of.map((one) => one.interval?.[1] ?? null),
      },
    ],
    rules: lossRules(),
    height: 300,
    content: () => ({
      columns: ["run", "lost", "received", "loss", "loss_low", "loss_high"],
      rows: found.map((one) => [
        one.name,
        one.flows!.lost,
        one.flows!.received,
        one.flows!.loss,
        one.flows!.interval?.[0] ?? null,
        one.flows!.interval?.[1] ?? null,
      ]),
    }),
  };
}

/** The published figures as a table, for those who want the numbers. */
function cloudsTable(): HTMLElement {
  return h(
    "div",
    { class: "panel", "data-table": "clouds" },
    table(
      "Measurements by Port 9 Labs on four clouds, October 21-22, 2022",
      ["cloud", "RTT, P90", "loss"],
      CLOUDS.map((cloud) => [
        cloud.name,
        `${(cloud.rttP90Ns / 1e6).toFixed(3)} ms`,
        cloud.loss === 0 ? "0 %" : `${(cloud.loss * 100).toFixed(6)} %`,
      ]),
      { numeric: [1, 2] },
    ),
  );
}

export function compareArticle(runs: Run[], all: Run[]): HTMLElement {
  const list = runs.map((run) => compared(run, all));
  return h(
    "article",
    { class: "run compare", "data-compare": runs.map((run) => run.run_id).join(",") },
    h(
      "header",
      { class: "run-head" },
      h("p", { class: "kind" }, "Comparison"),
      h("h1", null, `${count(runs.length)} runs side by side`),
    ),
    figuresTable(list),
    h(
      "section",
      { class: "charts" },
      h("div", { class: "section-head" }, h("h2", null, "Round-trip time")),
      h("div", { class: "column" }, chart(distributions(list))),
    ),
    h(
      "section",
      { class: "charts" },
      h("div", { class: "section-head" }, h("h2", null, "Loss")),
      h("div", { class: "column" }, chart(losses(list))),
    ),
    cloudsTable(),
  );
}
