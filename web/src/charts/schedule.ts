// Draws charts when they are seen. A zoom redraws at once what is in the window, and the rest before it is needed.

export interface Drawable {
  readonly element: HTMLElement;
  draw(): void;
}

const dirty = new Set<Drawable>();
const seen = new Map<Element, Drawable>();
const inWindow = new Set<Drawable>();
let frame = 0;
let idle = 0;

const intersections = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const chart = seen.get(entry.target);
      if (!chart) continue;
      if (entry.isIntersecting) inWindow.add(chart);
      else inWindow.delete(chart);
    }
    request();
  },
  { rootMargin: "200px" },
);

const widths = new WeakMap<Element, number>();
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const chart = seen.get(target);
    // A chart changes its own height by drawing itself: only another width asks for a new drawing.
    if (chart && widths.get(target) !== target.clientWidth) dirty.add(chart);
    widths.set(target, target.clientWidth);
  }
  request();
});

/** Takes charge of a chart: it is drawn now or soon, and again whenever its width changes. */
export function manage(chart: Drawable): void {
  seen.set(chart.element, chart);
  dirty.add(chart);
  intersections.observe(chart.element);
  sizes.observe(chart.element);
  request();
}

/** What the chart shows has changed. */
export function invalidate(chart: Drawable): void {
  dirty.add(chart);
  request();
}

/** Forgets all charts, before the page shows something else. */
export function forgetAll(): void {
  intersections.disconnect();
  sizes.disconnect();
  seen.clear();
  dirty.clear();
  inWindow.clear();
}

function drawOne(chart: Drawable): void {
  dirty.delete(chart);
  // Inside something folded it has no width yet; it gets one, and is drawn, when that is opened.
  if (chart.element.clientWidth === 0) return;
  widths.set(chart.element, chart.element.clientWidth);
  chart.draw();
}

/** Everything at once: before printing. */
export function drawAll(): void {
  for (const chart of [...dirty]) drawOne(chart);
}

function request(): void {
  if (frame !== 0) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    for (const chart of [...dirty]) if (inWindow.has(chart)) drawOne(chart);
    if (dirty.size === 0) return;
    // What is out of sight waits until a zoom has come to rest.
    clearTimeout(idle);
    idle = window.setTimeout(rest, 150);
  });
}

function rest(): void {
  idle = 0;
  const until = performance.now() + 12;
  for (const chart of [...dirty]) {
    drawOne(chart);
    if (performance.now() > until) break;
  }
  if (dirty.size > 0) idle = window.setTimeout(rest, 30);
}

window.addEventListener("beforeprint", drawAll);
