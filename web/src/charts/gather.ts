// Marks of a lane that would be drawn over each other become one, which knows their number, sum and largest.
import type { Marks } from "./model";

/** Marks of one kind in one pixel column of a lane, taken together. */
export interface Together {
  /** Pixels. */
  left: number;
  right: number;
  /** Times of the first and the last mark in it. */
  from: number;
  to: number;
  marks: number;
  sum: number;
  most: number;
  /** Pixel of the largest. */
  peak: number;
}

/** Takes together what would be drawn within `grain` pixels, so that a lane never has more marks than room. */
export function gather(
  marks: Marks,
  from: number,
  to: number,
  pixel: (at: number) => number,
  grain: number,
): Together[] {
  const out: Together[] = [];
  // A long mark that began before the part shown may reach into it: marks are looked through from the start.
  for (let i = 0; i < marks.at.length; i++) {
    const at = marks.at[i]!;
    if (at > to) break;
    const end = at + marks.duration[i]!;
    if (end < from) continue;
    const left = pixel(Math.max(at, from));
    const right = pixel(Math.min(end, to));
    const value = marks.value[i]!;
    const last = out[out.length - 1];
    if (last && left < last.left + grain) {
      last.right = Math.max(last.right, right);
      last.to = Math.max(last.to, end);
      last.marks++;
      last.sum += value;
      if (value > last.most) {
        last.most = value;
        last.peak = left;
      }
    } else {
      out.push({ left, right, from: at, to: end, marks: 1, sum: value, most: value, peak: left });
    }
  }
  return out;
}
