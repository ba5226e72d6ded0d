// Which pace to choose: harm to the viewer against the gain of the neighbours for each candidate, the front of both, its knee
// and the recommendation. It knows no household.
import type { Layer, XYSpec } from "../charts/model";
import type { Json, Run } from "../data/document";
import { dig, num, objects } from "../data/facts";
import { h, table as tableOf } from "../dom";
import { count, digits, plural } from "../format";
import type { Drawing } from "../kinds/describe";
import { signedPercent } from "./pacing-figures";
import { C, colour } from "./palette";
import { besidePublished, changesOf, type Figured, figuresOf, pair } from "./population";

export interface Candidate {
  name: string;
  /** Name of its variant. */
  variant: string;
  factor: number;
  households: number;
  harm: number;
  harmInterval: [number, number] | null;
  gain: number;
  gainInterval: [number, number] | null;
  score: number;
  onFront: boolean;
  isKnee: boolean;
  isRecommended: boolean;
}

export function candidatesOf(run: Run): Candidate[] {
  const knee = num(dig(run.summary, "knee"));
  const recommended = num(dig(run.summary, "recommended", "place"));
  return objects(run.summary, "candidates").map((one: Json, place) => ({
    name: `${String(one.pace ?? "")}, burst ${String(one.pace_burst ?? "")}`,
    variant: `${String(one.pace ?? "")}/${String(one.pace_burst ?? "")}`,
    factor: num(one.pace_factor) ?? 1,
    households: num(one.households) ?? 0,
    harm: num(dig(one, "harm", "mean")) ?? 0,
    harmInterval: pair(dig(one, "harm", "interval")),
    gain: num(dig(one, "gain", "mean")) ?? 0,
    gainInterval: pair(dig(one, "gain", "interval")),
    score: num(one.score) ?? 0,
    onFront: one.on_front === true,
    isKnee: place === knee,
    isRecommended: place === recommended,
  }));
}

function points(name: string, shown: Candidate[], colour: string, shape: Layer["shape"]): Layer {
  return {
    kind: "points",
    name,
    colour,
    shape,
    x: shown.map((one) => one.harm),
    y: shown.map((one) => one.gain),
    lo: shown.map((one) => one.gainInterval?.[0] ?? null),
    hi: shown.map((one) => one.gainInterval?.[1] ?? null),
  };
}

export const tuneFront: Drawing = ({ run }): XYSpec | null => {
  const all = candidatesOf(run);
  if (all.length === 0) return null;
  const front = all.filter((one) => one.onFront);
  const recommended = all.find((one) => one.isRecommended);
  const layers: Layer[] = [
    points(
      "other candidates",
      all.filter((one) => !one.onFront && !one.isRecommended),
      C.grey,
      "circle",
    ),
    {
      kind: "line",
      name: "front",
      colour: colour(0),
      x: front.map((one) => one.harm),
      y: front.map((one) => one.gain),
    },
    points(
      "on the front",
      front.filter((one) => !one.isKnee && !one.isRecommended),
      colour(0),
      "circle",
    ),
    points(
      "knee",
      all.filter((one) => one.isKnee && !one.isRecommended),
      colour(1),
      "diamond",
    ),
    points("recommended", recommended ? [recommended] : [], colour(2), "square"),
  ];
  return {
    type: "xy",
    id: "tune-front",
    title: recommended
      ? `${recommended.name} is recommended: neighbours' times ${signedPercent(-recommended.gain)}, viewers' value ${signedPercent(-recommended.harm)}`
      : "The search has not ended: there is no recommendation",
    note: "Harm is the value that viewers lose, gain the fall of the neighbours' times, both against unpaced, with the 95 % interval of the gain.",
    x: { kind: "linear", label: "harm to viewers", format: signedPercent },
    y: {
      kind: "linear",
      label: "gain of neighbours",
      format: signedPercent,
      exact: signedPercent,
      zero: false,
    },
    layers: layers.filter((layer) => layer.x.length > 0),
    rules: [{ axis: "x", value: 0, label: "no harm", short: "0" }],
    height: 360,
    content: () => ({
      columns: ["candidate", "households", "harm", "gain", "gain_low", "gain_high", "score", "on_front"],
      rows: all.map((one) => [
        one.name,
        one.households,
        one.harm,
        one.gain,
        one.gainInterval?.[0] ?? null,
        one.gainInterval?.[1] ?? null,
        one.score,
        one.onFront,
      ]),
    }),
  };
};

const between = (interval: [number, number] | null) =>
  interval === null ? "–" : interval.map(signedPercent).join(" to ");

function mark(one: Candidate): string {
  const words = [one.isRecommended && "recommended", one.isKnee && "knee", one.onFront && "front"];
  return words.filter((word) => word !== false).join(", ");
}

export const tuneTable: Drawing = ({ run }) => {
  const all = candidatesOf(run);
  if (all.length === 0) return null;
  const head = ["pace", "factor", "households", "harm", "95 % interval", "gain", "95 % interval", "score", ""];
  const body = all.map((one) => [
    one.name,
    digits(one.factor),
    count(one.households),
    signedPercent(one.harm),
    between(one.harmInterval),
    signedPercent(one.gain),
    between(one.gainInterval),
    signedPercent(one.score),
    mark(one),
  ]);
  const caption = `${plural(all.length, "candidate")}, the least harm first`;
  return h(
    "div",
    { class: "panel", "data-table": "tune-candidates" },
    tableOf(caption, head, body, { numeric: [1, 2, 3, 4, 5, 6, 7] }),
  );
};

export const tuneSettings: Drawing = ({ run }) => {
  const origin = dig(run.summary, "recommended", "origin");
  const player = dig(run.summary, "recommended", "player");
  if (typeof origin !== "string" || typeof player !== "string") return null;
  return h("div", { class: "panel" }, h("pre", null, `weir origin ${origin}\nweir load ${player}`));
};

/** Figures with published changes, with the recommended pace. */
export function publishedFigures(run: Run): Figured[] {
  const chosen = candidatesOf(run).find((one) => one.isRecommended);
  if (!chosen) return [];
  return figuresOf(run).map((one) => ({
    ...one,
    variants: one.variants.filter((variant, place) => place === 0 || variant.name === chosen.variant),
  }));
}

/** The stream with the recommended pace, with the published ranges. */
export const tunePublished: Drawing = ({ run }) => {
  const all = publishedFigures(run);
  return changesOf(all, "tune-published", besidePublished(all) ?? "What the recommended pace changes in the stream");
};
