// Fewer points than rows, without losing what an eye would see: of all rows in one pixel column the first, the last, the
// smallest and the largest stay, so that one bad second in a day is still drawn at its full height.

type Values = ArrayLike<number | null>;

/** The first index whose x is at least `value`; x ascends. */
export function lowerBound(x: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (x[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Indices of the rows between two x, with one more on either side so that lines run out of the picture. */
export function visible(x: ArrayLike<number>, from: number, to: number): [number, number] {
  return [
    Math.max(0, lowerBound(x, from) - 1),
    Math.min(x.length, lowerBound(x, to + Number.EPSILON * Math.abs(to)) + 1),
  ];
}

/** The row whose x is nearest. */
export function nearest(x: ArrayLike<number>, value: number): number {
  const at = lowerBound(x, value);
  if (at === 0) return 0;
  if (at === x.length) return x.length - 1;
  return value - x[at - 1]! <= x[at]! - value ? at - 1 : at;
}

/** Indices to draw of a line, ascending. `pixel` gives the column of an x. */
export function decimate(
  x: ArrayLike<number>,
  y: Values,
  [first, end]: [number, number],
  pixel: (x: number) => number,
  width: number,
): number[] {
  const kept: number[] = [];
  if (end - first <= 2 * width) {
    for (let i = first; i < end; i++) kept.push(i);
    return kept;
  }
  let column = Number.NaN;
  let start = -1;
  let last = -1;
  let low = -1;
  let high = -1;
  let hole = -1;
  const flush = () => {
    if (start < 0) return;
    // A null stays where a column has one, so that the line keeps its gap.
    const all = [start, low, high, hole, last].filter((i) => i >= 0).sort((a, b) => a - b);
    for (const i of all) if (kept[kept.length - 1] !== i) kept.push(i);
  };
  for (let i = first; i < end; i++) {
    const here = Math.floor(pixel(x[i]!));
    if (here !== column) {
      flush();
      column = here;
      start = i;
      low = high = hole = -1;
    }
    last = i;
    const value = y[i];
    if (value === null || value === undefined) {
      if (hole < 0) hole = i;
      continue;
    }
    if (low < 0 || value < y[low]!) low = i;
    if (high < 0 || value > y[high]!) high = i;
  }
  flush();
  return kept;
}

export interface Band {
  x: number[];
  lo: (number | null)[];
  hi: (number | null)[];
}

/** A band between two lines, per pixel column the lowest of the one and the highest of the other. */
export function decimateBand(
  x: ArrayLike<number>,
  lo: Values,
  hi: Values,
  [first, end]: [number, number],
  pixel: (x: number) => number,
  width: number,
): Band {
  const band: Band = { x: [], lo: [], hi: [] };
  const few = end - first <= 2 * width;
  let column = Number.NaN;
  for (let i = first; i < end; i++) {
    const here = Math.floor(pixel(x[i]!));
    const low = lo[i] ?? null;
    const high = hi[i] ?? null;
    const top = band.x.length - 1;
    if (few || here !== column) {
      column = here;
      band.x.push(x[i]!);
      band.lo.push(low);
      band.hi.push(high);
      continue;
    }
    if (low !== null && (band.lo[top] === null || low < band.lo[top]!)) band.lo[top] = low;
    if (high !== null && (band.hi[top] === null || high > band.hi[top]!)) band.hi[top] = high;
  }
  return band;
}
