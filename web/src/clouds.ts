// Reference values: measurements by Port 9 Labs between close instances on four clouds, October 21-22, 2022.
import type { Rule } from "./charts/model";

export const CLOUDS = [
  { name: "AWS", rttP90Ns: 133_000, loss: 0.00000002 },
  { name: "Google", rttP90Ns: 280_000, loss: 0 },
  { name: "Oracle", rttP90Ns: 397_000, loss: 0.00000308 },
  { name: "Azure", rttP90Ns: 520_000, loss: 0.00036601 },
];

export const CLOUDS_NOTE =
  "Dashed lines: measurements by Port 9 Labs between close instances of four clouds, October 21-22, 2022.";

export function rttRules(axis: "x" | "y"): Rule[] {
  return CLOUDS.map(({ name, rttP90Ns }) => ({
    axis,
    value: rttP90Ns,
    label: `${name} P90 ${(rttP90Ns / 1e6).toFixed(3)} ms`,
    short: name,
  }));
}

/** The loss of 0 on Google has no place on a logarithmic axis; the note of a chart says it. */
export function lossRules(): Rule[] {
  return CLOUDS.filter(({ loss }) => loss > 0).map(({ name, loss }) => ({
    axis: "y",
    value: loss,
    label: `${name} ${(loss * 100).toFixed(6)} %`,
    short: name,
  }));
}

export const LOSS_NOTE = `${CLOUDS_NOTE} Google: no loss (0 %).`;
