// An experiment: runs against origins that differ in one thing at a time.
import { dig, num } from "../data/facts";
import {
  groups,
  model,
  publishedTable,
  rampRequests,
  rampTimes,
  resultTables,
  stalls,
  throughput,
} from "../drawings/experiment";
import { count, digits, percent } from "../format";
import type { Context, Description, Figure, Headline } from "./describe";

function figures({ run, parts }: Context): Figure[] {
  const done = dig(run.summary, "done");
  const made = Array.isArray(done) ? done.length : parts.filter((part) => part.outcome === "finished").length;
  const wanted = num(dig(run.summary, "cells")) ?? num(dig(run.parameters, "cells"));
  const found: Figure[] = [
    { name: "runs finished", value: count(made), detail: wanted === null ? undefined : `of ${count(wanted)}` },
  ];
  const factor = num(dig(run.summary, "model", "factor"));
  if (factor !== null)
    found.push({
      name: "OUT / (R × S × B)",
      value: digits(factor, 4),
      detail: `R² ${digits(num(dig(run.summary, "model", "r_squared")) ?? 0, 5)}`,
    });
  return found;
}

function headlines({ run }: Context): Headline[] {
  const said = dig(run.summary, "description");
  const found: Headline[] =
    typeof said === "string" && said ? [{ severity: "information", sentence: said.trim() }] : [];
  const all = groups(run);
  const repeats = all.reduce((sum, group) => sum + (num(group.repeats) ?? 0), 0);
  const limited = all.reduce((sum, group) => sum + (num(group.generator_limited) ?? 0), 0);
  if (limited > 0)
    found.push({
      severity: "notice",
      sentence: `in ${percent(limited / Math.max(1, repeats))} of the runs the generator was the limit; their times include its own delay.`,
    });
  return found;
}

export const experiment: Description = {
  kind: "experiment",
  name: "Experiment",
  figures,
  headlines,
  sections: [
    { title: "Over the ramp", drawings: [rampTimes, rampRequests] },
    { title: "Results", drawings: [resultTables, publishedTable] },
    { title: "Throughput", drawings: [throughput, model] },
    { title: "Stalls of viewers", drawings: [stalls] },
  ],
  showParts: true,
};
