// Scales and axes: positions of values, ticks and their texts, grid lines, the labels with units.
import { scaleLinear, scaleLog, scaleTime } from "d3-scale";
import { s } from "../dom";
import { tickText, toDate, zone } from "../time";
import type { XAxis, YAxis } from "./model";

export interface Scale {
  (value: number): number;
  invert(pixel: number): number;
  domain: [number, number];
  ticks: { at: number; text: string }[];
}

const FONT = 12;
/** Width of a text, near enough for margins: the mean width of a letter of the system fonts. */
export const textWidth = (text: string, size = FONT) => text.length * size * 0.56;

function make(
  position: (value: number) => number,
  invert: (pixel: number) => number,
  domain: [number, number],
  ticks: Scale["ticks"],
): Scale {
  return Object.assign(position, { invert, domain, ticks });
}

export function linear(
  domain: [number, number],
  range: [number, number],
  format: (v: number) => string,
  wanted: number,
): Scale {
  const scale = scaleLinear(domain, range);
  return make(
    (v) => scale(v),
    (p) => scale.invert(p),
    domain,
    scale.ticks(wanted).map((v) => ({ at: scale(v), text: format(v) })),
  );
}

export function log(
  domain: [number, number],
  range: [number, number],
  format: (v: number) => string,
  wanted: number,
): Scale {
  const scale = scaleLog(domain, range).clamp(true);
  const decades = Math.log10(domain[1] / domain[0]);
  // Few decades have ticks between the powers of ten, many have not even one for each.
  const steps = [
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
    [1, 2, 5],
    [1, 3],
  ].find((some) => some.length * decades <= wanted + 1) ?? [1];
  const every = Math.max(1, Math.ceil(decades / wanted));
  const ticks: Scale["ticks"] = [];
  for (let power = Math.floor(Math.log10(domain[0])); power <= Math.ceil(Math.log10(domain[1])); power++) {
    if (every > 1 && power % every !== 0) continue;
    for (const step of steps) {
      const value = Number(`${step}e${power}`);
      const text = format(value);
      if (text && value >= domain[0] * 0.999999 && value <= domain[1] * 1.000001)
        ticks.push({ at: scale(value), text });
    }
  }
  return make(
    (v) => scale(v),
    (p) => scale.invert(p),
    domain,
    ticks,
  );
}

/** Times are nanoseconds since the start of the run; ticks are at round local times. */
export function time(domain: [number, number], range: [number, number], startedUnixNs: number): Scale {
  const scale = scaleLinear(domain, range);
  const dates = scaleTime([toDate(startedUnixNs, domain[0]), toDate(startedUnixNs, domain[1])], range);
  const wanted = Math.max(2, Math.floor((range[1] - range[0]) / 95));
  const all = dates.ticks(wanted);
  const step = all.length > 1 ? all[1]!.getTime() - all[0]!.getTime() : 1000;
  return make(
    (v) => scale(v),
    (p) => scale.invert(p),
    domain,
    all.map((date) => ({ at: dates(date), text: tickText(date, step) })),
  );
}

export function band(places: string[], range: [number, number]): Scale {
  const width = (range[1] - range[0]) / Math.max(1, places.length);
  return make(
    (v) => range[0] + (v + 0.5) * width,
    (p) => Math.max(0, Math.min(places.length - 1, Math.floor((p - range[0]) / width))),
    [0, places.length - 1],
    places.map((text, i) => ({ at: range[0] + (i + 0.5) * width, text })),
  );
}

export function xScale(axis: XAxis, domain: [number, number], range: [number, number], startedUnixNs: number): Scale {
  const wanted = Math.max(2, Math.floor((range[1] - range[0]) / 90));
  if (axis.kind === "time") return time(domain, range, startedUnixNs);
  if (axis.kind === "band") return band(axis.places ?? [], range);
  return (axis.kind === "log" ? log : linear)(domain, range, axis.format, wanted);
}

export function yScale(axis: YAxis, domain: [number, number], range: [number, number]): Scale {
  const wanted = Math.max(2, Math.floor((range[0] - range[1]) / 45));
  return (axis.kind === "log" ? log : linear)(domain, range, axis.format, wanted);
}

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Grid, ticks and labels. Ticks whose texts would touch are left out. */
export function drawAxes(
  group: SVGGElement,
  box: Box,
  x: Scale,
  y: Scale | null,
  labels: { x: string; y: string },
): void {
  if (y) {
    for (const tick of y.ticks) {
      group.append(
        s("line", { class: "grid", x1: box.left, x2: box.right, y1: tick.at, y2: tick.at }),
        s("text", { class: "tick", x: box.left - 8, y: tick.at, dy: "0.32em", "text-anchor": "end" }, tick.text),
      );
    }
    group.append(s("text", { class: "axis-label", x: Math.max(0, box.left - 44), y: box.top - 10 }, labels.y));
  }
  let taken = -Infinity;
  for (const tick of x.ticks) {
    group.append(s("line", { class: "tick-mark", x1: tick.at, x2: tick.at, y1: box.bottom, y2: box.bottom + 5 }));
    const width = textWidth(tick.text);
    let anchor = "middle";
    let from = tick.at - width / 2;
    if (from + width > box.right + 14) {
      anchor = "end";
      from = tick.at - width;
    }
    if (from < taken) continue;
    taken = from + width + 10;
    group.append(s("text", { class: "tick", x: tick.at, y: box.bottom + 19, "text-anchor": anchor }, tick.text));
  }
  group.append(s("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  group.append(s("text", { class: "axis-label", x: box.right, y: box.bottom + 37, "text-anchor": "end" }, labels.x));
}

export function timeLabel(startedUnixNs: number): string {
  const name = zone(toDate(startedUnixNs, 0));
  return name === "UTC" ? "time (UTC)" : `local time (${name})`;
}
