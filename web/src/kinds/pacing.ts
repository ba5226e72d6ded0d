// Effects of pacing a stream on other traffic of the line.
import { dig, num } from "../data/facts";
import { figureRows, trials } from "../data/pacing";
import { Table } from "../data/table";
import { linkDrops, linkLateness, linkRate } from "../drawings/link";
import { changeText, intervalText, neighbourChanges, ownChanges, paperChanges } from "../drawings/pacing-figures";
import { neighbourDistributions, trialsOverTime } from "../drawings/pacing-trials";
import { count, nanoseconds, plural, rate } from "../format";
import type { Context, Description, Drawing, Figure, Headline } from "./describe";

/** Changes that the scenario expects something of, and that have an interval. */
function judged({ run }: Context) {
  return figureRows(run).flatMap((row) =>
    row.changes.filter((change) => change.asExpected !== null).map((change) => ({ row, change })),
  );
}

function figures(context: Context): Figure[] {
  const { run } = context;
  const made = trials(run);
  const unfit = num(dig(run.summary, "unfit_trials"));
  const all = judged(context);
  const as = all.filter(({ change }) => change.asExpected);
  const repeats = num(dig(run.parameters, "repeats"));
  const found: Figure[] = [
    {
      name: "trials",
      value: count(made.length),
      detail: repeats === null ? undefined : `${plural(repeats, "repeat")} of each`,
    },
    {
      name: "unfit, repeated",
      value: count(unfit),
      detail: `link lateness above ${nanoseconds(num(dig(run.parameters, "max_lateness_ns")))}`,
    },
    { name: "changes as expected", value: all.length > 0 ? `${count(as.length)} of ${count(all.length)}` : "–" },
  ];
  const line = num(dig(run.parameters, "link", "reverse", "routes", "0", "rate", "fixed"));
  if (line !== null) found.push({ name: "line to the viewer", value: rate(line) });
  return found;
}

function headlines(context: Context): Headline[] {
  const { run } = context;
  const made = trials(run);
  if (run.outcome === "running")
    return [{ severity: "information", sentence: "Trials are running; results appear when all are done." }];
  if (made.length === 0) return [{ severity: "fault", sentence: "no trial was completed." }];
  const unfit = num(dig(run.summary, "unfit_trials")) ?? 0;
  const again =
    unfit > 0 ? `${plural(unfit, "trial")} more ${unfit === 1 ? "was" : "were"} unfit and repeated` : "none was unfit";
  const found: Headline[] = [
    {
      severity: "information",
      sentence: `Scenario ${run.target} was measured in ${plural(made.length, "trial")}; ${again}.`,
    },
  ];
  const all = judged(context);
  const other = all.filter(({ change }) => !change.asExpected);
  if (all.length > 0 && other.length === 0)
    found.push({
      severity: "information",
      sentence: `All ${plural(all.length, "change")} that the scenario expects occurred, with intervals that exclude zero.`,
    });
  for (const { row, change } of other.slice(0, 5))
    found.push({
      severity: "notice",
      sentence: `${row.case}, ${row.congestion}: ${row.figure} was expected to be ${row.expected} with ${change.variant}, but its change is ${changeText(row.figure, change)}, with 95 % from ${intervalText(row.figure, change)}.`,
    });
  if (other.length > 5)
    found.push({
      severity: "notice",
      sentence: `${plural(other.length - 5, "more change")} did not occur as expected; see the tables.`,
    });
  return found;
}

/** Nothing where the link has no data, rather than an empty chart. */
const ofLink =
  (drawing: Drawing): Drawing =>
  (context) =>
    Table.of(context.run, "link_seconds").length > 0 ? drawing(context) : null;

export const pacing: Description = {
  kind: "pacing",
  name: "Pacing",
  figures,
  headlines,
  sections: [
    { title: "Effects on neighbours", wide: true, drawings: [neighbourChanges] },
    { title: "The stream and the line", wide: true, drawings: [ownChanges] },
    { title: "Compared with the paper", wide: true, drawings: [paperChanges] },
    { title: "Over time", wide: true, drawings: [trialsOverTime] },
    { title: "Distributions", drawings: [neighbourDistributions] },
    {
      title: "The link during all trials",
      overTime: true,
      drawings: [linkRate, linkDrops, linkLateness].map(ofLink),
    },
  ],
};
