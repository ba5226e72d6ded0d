// A search for a pace over a population.
import { dig, num } from "../data/facts";
import { signedPercent } from "../drawings/pacing-figures";
import { populationInputs } from "../drawings/population";
import { candidatesOf, tuneFront, tunePublished, tuneSettings, tuneTable } from "../drawings/tune";
import { count, plural } from "../format";
import type { Description, Figure, Headline } from "./describe";

export const tune: Description = {
  kind: "tune",
  name: "Pace search",
  figures: ({ run }): Figure[] => {
    const found: Figure[] = [{ name: "sessions", value: count(num(dig(run.summary, "sessions"))) }];
    const chosen = candidatesOf(run).find((one) => one.isRecommended);
    if (chosen)
      found.push(
        { name: "recommended pace", value: chosen.name },
        { name: "gain of neighbours", value: signedPercent(chosen.gain) },
        { name: "harm to viewers", value: signedPercent(chosen.harm) },
      );
    return found;
  },
  headlines: ({ run }): Headline[] => {
    const all = candidatesOf(run);
    const chosen = all.find((one) => one.isRecommended);
    if (!chosen)
      return [{ severity: "information", sentence: "The search has not ended: there is no recommendation." }];
    return [
      {
        severity: "information",
        sentence: `Recommended: ${chosen.name}, with the highest score of ${plural(all.length, "candidate")}. The result holds for its inputs.`,
      },
    ];
  },
  sections: [
    { title: "Harm against gain", wide: true, drawings: [tuneFront] },
    { title: "Settings", wide: true, drawings: [tuneSettings] },
    { title: "The stream with the recommended pace", wide: true, drawings: [tunePublished] },
    { title: "All candidates", wide: true, drawings: [tuneTable] },
    { title: "Inputs", wide: true, drawings: [populationInputs] },
  ],
};
