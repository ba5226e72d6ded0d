// A population of households, played with each pace.
import { dig, num } from "../data/facts";
import {
  besidePublished,
  changeOf,
  figuresOf,
  populationInputs,
  populationNeighbours,
  populationStream,
  populationTable,
} from "../drawings/population";
import { count, plural } from "../format";
import type { Description, Figure, Headline } from "./describe";

const SHOWN = [
  ["throughput", "media.throughput"],
  ["retransmitted share", "media.retransmitted_share"],
  ["RTT", "media.rtt.mean"],
] as const;

export const population: Description = {
  kind: "population",
  name: "Population",
  figures: ({ run }): Figure[] => {
    const found: Figure[] = [{ name: "households", value: count(num(dig(run.summary, "households"))) }];
    for (const [name, figure] of SHOWN) {
      const change = changeOf(run, figure);
      if (change) found.push({ name: `change of ${name}`, ...change });
    }
    return found;
  },
  headlines: ({ run }): Headline[] => {
    if (run.outcome === "running")
      return [{ severity: "information", sentence: "Households are being played; results appear when all are done." }];
    const unfinished = num(dig(run.summary, "unfinished")) ?? 0;
    const played = `${plural(num(dig(run.summary, "households")) ?? 0, "household")} played`;
    const beside = besidePublished(figuresOf(run));
    const found: Headline[] = [
      {
        severity: "information",
        sentence: `${played}${beside ? `; ${beside}` : ""}. The result holds for its inputs.`,
      },
    ];
    if (unfinished > 0)
      found.push({
        severity: "notice",
        sentence: `${plural(unfinished, "session")} did not end within the time of the file; their figures cover what was played.`,
      });
    return found;
  },
  sections: [
    { title: "The stream", wide: true, drawings: [populationStream] },
    { title: "Others in the household", wide: true, drawings: [populationNeighbours] },
    { title: "All figures", wide: true, drawings: [populationTable] },
    { title: "Inputs", wide: true, drawings: [populationInputs] },
  ],
};
