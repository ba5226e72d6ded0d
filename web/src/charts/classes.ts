// Ranges of values, each with a colour, for maps and matrices, and their legend.
import { s } from "../dom";
import { drawLegend } from "./draw";
import type { ValueClass } from "./model";

/** From few to much: shades of one scale, which the style has for light and dark. */
const SHADES = ["var(--v1)", "var(--v2)", "var(--v3)", "var(--v4)", "var(--v5)", "var(--v6)", "var(--v7)"];

/** Rounds up to two significant digits, for readable bounds. */
function rounded(value: number): number {
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  return Number((Math.ceil(value / step - 1e-9) * step).toPrecision(2));
}

/** At most seven classes with about as many values in each; their bounds are round. Values must be above 0. */
export function classesOf(values: number[], format: (value: number) => string): ValueClass[] {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  if (sorted.length === 0) return [];
  const bounds = new Set<number>();
  for (let i = 1; i <= SHADES.length; i++)
    bounds.add(rounded(sorted[Math.ceil((i * sorted.length) / SHADES.length) - 1]!));
  const all = [...bounds];
  // With fewer classes than shades, they are spread over the scale.
  const shade = (i: number) => SHADES[all.length === 1 ? 3 : Math.round((i * (SHADES.length - 1)) / (all.length - 1))]!;
  return all.map((most, i) => ({ most, text: `up to ${format(most)}`, colour: shade(i) }));
}

/** The class of a value; the last one's bound is above all values. */
export function classOf(classes: ValueClass[], value: number): number {
  const found = classes.findIndex((one) => value <= one.most);
  return found < 0 ? classes.length - 1 : found;
}

/** Returns its height. */
export function drawClassLegend(group: SVGGElement, classes: ValueClass[], width: number): number {
  const items = classes.map((one) => ({
    name: one.text,
    draw: (x: number, y: number) =>
      s("rect", { class: "swatch", x: x + 3, y: y - 6, width: 12, height: 12, fill: one.colour }),
  }));
  return drawLegend(group, items, 2, width);
}
