// A grid of queues, congestion controls and paces over a population.
import { dig, num, objects } from "../data/facts";
import { gainsOf, gridFigures, gridFirst, gridGains, gridPublished, gridSecond } from "../drawings/grid";
import { signedPercent } from "../drawings/pacing-figures";
import { populationInputs } from "../drawings/population";
import { count } from "../format";
import type { Description, Figure, Headline } from "./describe";

export const grid: Description = {
  kind: "grid",
  name: "Grid",
  figures: ({ run }): Figure[] => [
    { name: "households", value: count(num(dig(run.summary, "households"))) },
    { name: "cells", value: count(objects(objects(run.summary, "figures")[0], "cells").length) },
  ],
  headlines: ({ run }): Headline[] => {
    if (run.outcome === "running")
      return [{ severity: "information", sentence: "Households are being played; results appear when all are done." }];
    return gainsOf(run)
      .filter((gain) => gain.pace?.change != null && gain.queue?.change != null)
      .slice(0, 4)
      .map((gain) => ({
        severity: "information" as const,
        sentence: `With ${gain.congestion}, ${gain.figure} changes by ${signedPercent(gain.pace!.change!)} with the pace alone (${gain.pace!.cell}), ${signedPercent(gain.queue!.change!)} with the queue alone (${gain.queue!.cell}).`,
      }));
  },
  sections: [
    { title: "What neighbours gain", wide: true, drawings: [gridGains, gridFirst, gridSecond] },
    { title: "The stream in the first queue", wide: true, drawings: [gridPublished] },
    { title: "All figures", wide: true, drawings: [gridFigures] },
    { title: "Inputs", wide: true, drawings: [populationInputs] },
  ],
};
