// Facts about a run that are not in its series: from its summary and parameters, which differ by kind.
import type { Json, Run } from "./document";
import { Table } from "./table";

/** Follows names through nested JSON; undefined where there is nothing. */
export function dig(value: unknown, ...path: string[]): unknown {
  let here = value;
  for (const name of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Json)[name];
  }
  return here;
}

/** The objects in a list; none where there is no list. */
export function objects(value: unknown, ...path: string[]): Json[] {
  const found = dig(value, ...path);
  return Array.isArray(found) ? found.filter((one) => typeof one === "object" && one !== null) : [];
}

export function num(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A summary's account of one direction of a flow test. */
export function direction(run: Run, name: string): Json | null {
  const found = dig(run.summary, name);
  return typeof found === "object" && found !== null ? (found as Json) : null;
}

/** The requested media rate: from the summary, or from the parameters while there is none. */
export function askedRate(run: Run, name = "forward"): number | null {
  const asked = num(dig(run.summary, name, "asked"));
  if (asked !== null) return asked;
  if (dig(run.parameters, "flows", "unpaced") === true) return null;
  for (const format of [dig(run.parameters, "flows", "format"), dig(run.parameters, "format")]) {
    const bytes = num(dig(format, "bytes_per_frame"));
    const up = num(dig(format, "frame_rate", "numerator"));
    const down = num(dig(format, "frame_rate", "denominator"));
    if (bytes !== null && up !== null && down) return (bytes * 8 * up) / down;
  }
  return null;
}

export interface Loss {
  lost: number;
  received: number;
  loss: number | null;
  interval: [number, number] | null;
}

/** Loss of a direction with its 95 % bounds; summed from the seconds while there is no summary. */
export function loss(run: Run, name: string): Loss | null {
  const account = direction(run, name);
  const bounds = dig(account, "loss_interval");
  if (account) {
    return {
      lost: num(account.lost) ?? 0,
      received: num(account.received) ?? 0,
      loss: num(account.loss),
      interval: Array.isArray(bounds) && bounds.length === 2 ? [Number(bounds[0]), Number(bounds[1])] : null,
    };
  }
  const seconds = Table.of(run, "stream_seconds").where("direction", name);
  if (seconds.length === 0) return null;
  const lost = seconds.sum("lost");
  const received = seconds.sum("received");
  return { lost, received, loss: lost + received > 0 ? lost / (lost + received) : null, interval: null };
}

/**
 * A quantile from the distribution of a run. Between two shares that the series has it is interpolated; outside of them
 * there is none.
 */
export function quantile(run: Run, share: number): number | null {
  const table = Table.of(run, "rtt_distribution").sortedBy("share");
  return interpolate(table.numbers("share"), table.numbers("rtt_ns"), share);
}

export function interpolate(shares: (number | null)[], values: (number | null)[], share: number): number | null {
  let before: [number, number] | null = null;
  for (let i = 0; i < shares.length; i++) {
    const at = shares[i];
    const value = values[i];
    if (at === null || at === undefined || value === null || value === undefined) continue;
    if (at === share) return value;
    if (at > share) {
      if (!before) return null;
      return before[1] + ((value - before[1]) * (share - before[0])) / (at - before[0]);
    }
    before = [at, value];
  }
  return null;
}

export interface Row {
  name: string;
  value: unknown;
}

/** Nested JSON as rows of dotted names; long lists are given by their length. */
export function flatten(value: unknown, prefix = "", depth = 0): Row[] {
  if (Array.isArray(value)) {
    if (value.every((one) => typeof one !== "object" || one === null)) {
      return [{ name: prefix, value: value.length <= 12 ? value.join(", ") : `${value.length} values` }];
    }
    if (depth > 4 || value.length > 32) return [{ name: prefix, value: `${value.length} entries` }];
    return value.flatMap((one, i) => flatten(one, `${prefix}[${i}]`, depth + 1));
  }
  if (typeof value === "object" && value !== null) {
    if (depth > 6) return [{ name: prefix, value: JSON.stringify(value) }];
    return Object.entries(value).flatMap(([name, one]) => flatten(one, prefix ? `${prefix}.${name}` : name, depth + 1));
  }
  return [{ name: prefix, value }];
}
