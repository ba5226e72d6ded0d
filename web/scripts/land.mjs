// Makes src/charts/land.ts, the outline of the continents behind the map, from Natural Earth's land at 1:110,000,000:
//   npm pack world-atlas@2.0.2 && tar xzf world-atlas-2.0.2.tgz package/land-110m.json
//   node scripts/land.mjs package/land-110m.json > src/charts/land.ts
// Natural Earth is in the public domain. What is too small to be seen on a map as wide as a page is left out.
import { readFileSync } from "node:fs";

const { arcs, objects, transform } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const [scale, shift] = [transform.scale, transform.translate];
/** Square degrees: a corner whose triangle with its neighbours is smaller goes, and so does a smaller island. */
const CORNER = 0.7;
const ISLAND = 2.5;
/** No cloud has a region south of this. */
const SOUTH = -58;

const decoded = arcs.map((arc) => {
  let [x, y] = [0, 0];
  return arc.map(([dx, dy]) => {
    x += dx;
    y += dy;
    return [x * scale[0] + shift[0], y * scale[1] + shift[1]];
  });
});
const ring = (indices) =>
  indices.flatMap((index, i) => {
    const arc = index < 0 ? [...decoded[~index]].reverse() : decoded[index];
    return i === 0 ? arc : arc.slice(1);
  });
/** Across the 180th meridian the longitude goes on; what is then beyond the map is drawn a second time, on its other side. */
function unwrapped(points) {
  let turn = 0;
  return points.map(([x, y], i) => {
    const jump = i > 0 ? x - points[i - 1][0] : 0;
    if (Math.abs(jump) > 180) turn -= Math.sign(jump) * 360;
    return [x + turn, y];
  });
}
function copies(points) {
  const xs = points.map(([x]) => x);
  const shifts = [0, ...(Math.max(...xs) > 180 ? [-360] : []), ...(Math.min(...xs) < -180 ? [360] : [])];
  return shifts.map((by) => points.map(([x, y]) => [x + by, y]));
}
const triangle = (a, b, c) => Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2;
const area = (points) =>
  Math.abs(
    points.reduce((sum, [x, y], i) => {
      const [nextX, nextY] = points[(i + 1) % points.length];
      return sum + x * nextY - nextX * y;
    }, 0) / 2,
  );

/** Takes the corner away that matters least, again and again (Visvalingam and Whyatt, 1993). */
function simplified(points) {
  const left = points.slice(0, -1);
  const weight = (i) => triangle(left.at(i - 1), left[i], left[(i + 1) % left.length]);
  while (left.length > 4) {
    let least = 0;
    for (let i = 1; i < left.length; i++) if (weight(i) < weight(least)) least = i;
    if (weight(least) >= CORNER) break;
    left.splice(least, 1);
  }
  return left;
}

function pathOf(points) {
  let before = [0, 0];
  const steps = points.map(([x, y]) => {
    const at = [Math.round(x * 10), Math.round(-y * 10)];
    const step = `${at[0] - before[0]} ${at[1] - before[1]}`;
    before = at;
    return step.replace(" -", "-");
  });
  return `M${steps[0]}l${steps.slice(1).join(" ").replaceAll(" -", "-")}z`;
}

const paths = [];
for (const geometry of objects.land.geometries) {
  const polygons = geometry.type === "Polygon" ? [geometry.arcs] : geometry.arcs;
  for (const polygon of polygons) {
    for (const indices of polygon) {
      const points = unwrapped(ring(indices));
      if (area(points) < ISLAND || points.every(([, y]) => y < SOUTH)) continue;
      for (const copy of copies(simplified(points))) paths.push(pathOf(copy));
    }
  }
}
const text = paths.join("");
console.log(`// The continents as an SVG path, in tenths of a degree east and south. Made by scripts/land.mjs from Natural Earth 4.1.0,
// land at 1:110,000,000, in the public domain (naturalearthdata.com); do not edit.
export const LAND =
  "${text}";`);
console.error(`${paths.length} outlines, ${text.length} bytes`);
