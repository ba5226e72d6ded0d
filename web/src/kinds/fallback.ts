// Any kind that has no description of its own: all series, plainly.
import { plainSeries } from "../drawings/plain";
import type { Context, Description } from "./describe";

export function fallback(kind: string, context: Context): Description {
  const drawn = plainSeries(context);
  return {
    kind,
    name: kind,
    figures: () => [],
    sections: drawn.length > 0 ? [{ title: "Series", overTime: true, drawings: drawn.map((one) => () => one) }] : [],
    showParts: true,
  };
}
