// The colours of series: the palette of Okabe and Ito, which colour-blind people tell apart. The style has shades for
// light and dark.
export const C = {
  blue: "var(--c-blue)",
  orange: "var(--c-orange)",
  green: "var(--c-green)",
  red: "var(--c-red)",
  purple: "var(--c-purple)",
  sky: "var(--c-sky)",
  grey: "var(--c-grey)",
};
export const CYCLE = [C.blue, C.orange, C.green, C.purple, C.red, C.sky, C.grey];
export const colour = (i: number) => CYCLE[i % CYCLE.length]!;
