// What a pace changes in a population of households: changes of means with their intervals, beside published ranges, and
// all figures as a table. It knows no household.
import type { Layer, XYSpec } from "../charts/model";
import type { Json, Run } from "../data/document";
import { dig, num, objects } from "../data/facts";
import { h, table as tableOf } from "../dom";
import { count, plural } from "../format";
import type { Drawing } from "../kinds/describe";
import { inItsUnit, isOwn, signedPercent } from "./pacing-figures";
import { C, colour } from "./palette";

export interface Changed {
  name: string;
  mean: number;
  /** Relative change of the mean from the first variant, with its 95 % interval. */
  change: number | null;
  interval: [number, number] | null;
}

export interface Variant extends Changed {
  households: number;
  quantiles: [number, number, number];
}

export interface Figured<Of extends Changed = Changed> {
  figure: string;
  variants: Of[];
  published: { range: [number, number]; source: string } | null;
}

/** Two numbers, as intervals and ranges are written. */
export function pair(value: unknown): [number, number] | null {
  const [low, high] = Array.isArray(value) ? value.map(num) : [];
  return typeof low === "number" && typeof high === "number" ? [low, high] : null;
}

function variantOf(one: Json): Variant {
  const of = (name: string) => num(dig(one, "spread", name)) ?? 0;
  return {
    name: String(one.variant ?? ""),
    households: of("households"),
    mean: of("mean"),
    quantiles: [of("p10"), of("p50"), of("p90")],
    change: num(dig(one, "change", "mean")),
    interval: pair(dig(one, "change", "mean_interval")),
  };
}

/** What was published of a figure, with its source. */
export function publishedOf(figure: Json): Figured["published"] {
  const range = pair(dig(figure, "published", "change"));
  return range && { range, source: String(dig(figure, "published", "source") ?? "") };
}

/** Figures of a run that are not 0 in every household. */
export function figuresOf(run: Run): Figured<Variant>[] {
  return objects(run.summary, "figures")
    .map((one) => ({
      figure: String(one.figure ?? ""),
      variants: objects(one.variants).map(variantOf),
      published: publishedOf(one),
    }))
    .filter((one) => one.variants.some((variant) => variant.mean !== 0));
}

/** Changes of figures, with their intervals, beside published ranges. */
export function changesOf(all: Figured[], id: string, title: string): XYSpec | null {
  const shown = all.filter((one) => one.variants.some((variant) => variant.change !== null));
  if (shown.length === 0) return null;
  const names = [...new Set(shown.flatMap((one) => one.variants.slice(1).map((variant) => variant.name)))];
  const at = (one: Figured, name: string) => one.variants.slice(1).find((variant) => variant.name === name);
  const places = shown.map((_, i) => i);
  const layers: Layer[] = names.map((name, i) => ({
    kind: "points",
    name,
    colour: colour(i),
    shape: "circle",
    // Next to each other, not on top of each other.
    x: places.map((place) => place + (i - (names.length - 1) / 2) * 0.16),
    y: shown.map((one) => at(one, name)?.change ?? null),
    lo: shown.map((one) => at(one, name)?.interval?.[0] ?? null),
    hi: shown.map((one) => at(one, name)?.interval?.[1] ?? null),
  }));
  if (shown.some((one) => one.published !== null))
    layers.push({
      kind: "points",
      name: "published",
      colour: C.grey,
      shape: "diamond",
      x: places.map((place) => place + 0.3),
      y: shown.map((one) => one.published && (one.published.range[0] + one.published.range[1]) / 2),
      lo: shown.map((one) => one.published?.range[0] ?? null),
      hi: shown.map((one) => one.published?.range[1] ?? null),
    });
  const base = shown[0]?.variants[0]?.name ?? "the first variant";
  return {
    type: "xy",
    id,
    title,
    note: `Change of the mean over households from ${base}, with its 95 % interval.`,
    x: { kind: "band", label: "figure", format: count, places: shown.map((one) => one.figure) },
    y: { kind: "linear", label: "change", format: signedPercent, exact: signedPercent, zero: false },
    layers,
    rules: [{ axis: "y", value: 0, label: "no change", short: "0" }],
    height: 320,
    content: () => ({
      columns: ["figure", "variant", "change", "low", "high", "published_from", "published_to"],
      rows: shown.flatMap((one) =>
        one.variants
          .slice(1)
          .map((variant) => [
            one.figure,
            variant.name,
            variant.change,
            variant.interval?.[0] ?? null,
            variant.interval?.[1] ?? null,
            one.published?.range[0] ?? null,
            one.published?.range[1] ?? null,
          ]),
      ),
    }),
  };
}

/** How many figures are within the published ranges, in words; none without such ranges. */
export function besidePublished(all: Figured[]): string | null {
  const compared = all.flatMap((one) =>
    one.published === null
      ? []
      : one.variants.slice(1).map((variant) => ({ change: variant.change, range: one.published!.range })),
  );
  const known = compared.filter((one) => one.change !== null);
  if (known.length === 0) return null;
  const within = known.filter(({ change, range }) => range[0] <= change! && change! <= range[1]).length;
  return `${count(within)} of ${plural(known.length, "change")} ${within === 1 ? "is" : "are"} within the published range`;
}

/** Of the stream and its queue, with the published ranges. */
export const populationStream: Drawing = ({ run }) => {
  const all = figuresOf(run).filter(isOwn);
  return changesOf(all, "population-stream", besidePublished(all) ?? "What the pace changes in the stream");
};

export const populationNeighbours: Drawing = ({ run }) =>
  changesOf(
    figuresOf(run).filter((one) => !isOwn(one)),
    "population-neighbours",
    "What the pace changes for others in the household",
  );

export const populationTable: Drawing = ({ run }) => {
  const all = figuresOf(run);
  if (all.length === 0) return null;
  const head = ["figure", "variant", "households", "mean", "P10", "P50", "P90", "change", "95 % interval", "published"];
  const body = all.flatMap((one) =>
    one.variants.map((variant, place) => [
      one.figure,
      variant.name,
      count(variant.households),
      ...[variant.mean, ...variant.quantiles].map((value) => inItsUnit(one.figure, value)),
      variant.change === null ? "–" : signedPercent(variant.change),
      variant.interval === null ? "–" : variant.interval.map(signedPercent).join(" to "),
      one.published === null || place === 0 ? "–" : one.published.range.map(signedPercent).join(" to "),
    ]),
  );
  const numeric = head.map((_, i) => i).filter((i) => i > 1);
  return h(
    "div",
    { class: "panel", "data-table": "population-figures" },
    tableOf("Every figure over the households", head, body, { numeric }),
  );
};

/** The distributions that the households were drawn from. */
export const populationInputs: Drawing = ({ run }) => {
  const inputs = dig(run.summary, "inputs");
  if (typeof inputs !== "string" || inputs === "") return null;
  const published = objects(run.summary, "figures").map(publishedOf);
  const sources = [...new Set(published.flatMap((one) => (one ? [one.source] : [])))];
  return h(
    "div",
    { class: "panel" },
    ...sources.map((source) => h("p", null, `Published: ${source}`)),
    h("details", null, h("summary", null, "The file with the distributions"), h("pre", null, inputs)),
  );
};

/** The change of a figure with the last variant, for the head of the page. */
export function changeOf(run: Run, figure: string): { value: string; detail: string } | null {
  const last = figuresOf(run)
    .find((one) => one.figure === figure)
    ?.variants.at(-1);
  if (last?.change === null || last?.change === undefined) return null;
  return {
    value: signedPercent(last.change),
    detail: last.interval ? `${last.name}; 95 % from ${last.interval.map(signedPercent).join(" to ")}` : last.name,
  };
}
