// Zooming a time chart: by wheel, by dragging over a part, by two fingers, and by keyboard.
import type { TimeView } from "./view";

/** A finger: where it is, in pixels, and the time that it was put on. */
interface Finger {
  x: number;
  time: number;
}

/** The part of time that keeps two fingers on their times, in a plot from `left` to `right`; none if they meet. */
export function pinched(one: Finger, two: Finger, left: number, right: number): [number, number] | null {
  const perPixel = (two.time - one.time) / (two.x - one.x);
  if (!Number.isFinite(perPixel) || perPixel <= 0) return null;
  const from = one.time - (one.x - left) * perPixel;
  return [from, from + (right - left) * perPixel];
}

export interface ZoomArea {
  /** The pixels between which time runs. */
  left: number;
  right: number;
}

/**
 * The wheel zooms while the chart has the focus (after a click) or with Ctrl; else it scrolls the page, as anywhere.
 * Dragging selects a part; with Shift it moves what is shown. Two fingers hold what is under them. Two clicks show the
 * whole.
 */
export function attachZoom(plot: HTMLElement, view: TimeView, area: () => ZoomArea): void {
  const select = document.createElement("div");
  select.className = "selection";
  select.hidden = true;
  plot.append(select);

  const pixel = (event: MouseEvent) => event.clientX - plot.getBoundingClientRect().left;
  const at = (x: number) => {
    const { left, right } = area();
    return view.from + (Math.max(0, Math.min(right - left, x - left)) / Math.max(1, right - left)) * view.span;
  };

  plot.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== plot) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX / 600);
      else view.zoom(Math.exp(-event.deltaY / 300), at(pixel(event)));
    },
    { passive: false },
  );

  let start: number | null = null;
  let moved = 0;
  let moving = false;
  const fingers = new Map<number, Finger>();
  const pinch = () => {
    const [one, two] = [...fingers.values()] as [Finger, Finger];
    const { left, right } = area();
    const shown = pinched(one, two, left, right);
    if (shown) view.set(...shown);
  };

  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const x = pixel(event);
    if (event.pointerType === "touch") fingers.set(event.pointerId, { x, time: at(x) });
    if (fingers.size > 1) {
      start = null;
      select.hidden = true;
      return;
    }
    const { left, right } = area();
    if (x < left || x > right) return;
    start = moved = x;
    moving = event.shiftKey;
    plot.setPointerCapture(event.pointerId);
    plot.focus({ preventScroll: true });
  });
  plot.addEventListener("pointermove", (event) => {
    const x = pixel(event);
    const finger = fingers.get(event.pointerId);
    if (finger) finger.x = x;
    if (fingers.size === 2) return pinch();
    if (start === null) return;
    if (moving) {
      const { left, right } = area();
      view.pan((moved - x) / Math.max(1, right - left));
      moved = x;
      return;
    }
    moved = x;
    select.hidden = Math.abs(x - start) < 5;
    select.style.left = `${Math.min(x, start)}px`;
    select.style.width = `${Math.abs(x - start)}px`;
  });
  const end = (event: PointerEvent) => {
    fingers.delete(event.pointerId);
    if (start === null) return;
    const from = start;
    start = null;
    select.hidden = true;
    if (!moving && event.type === "pointerup" && Math.abs(moved - from) >= 5) {
      view.set(at(Math.min(from, moved)), at(Math.max(from, moved)));
    }
  };
  plot.addEventListener("pointerup", end);
  plot.addEventListener("pointercancel", end);
  plot.addEventListener("dblclick", () => view.reset());
}

/** True if the key was one that zooms. */
export function zoomKey(event: KeyboardEvent, view: TimeView, about?: number): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const middle = about !== undefined && about >= view.from && about <= view.to ? about : undefined;
  switch (event.key) {
    case "+":
    case "=":
      view.zoom(2, middle);
      return true;
    case "-":
    case "_":
      view.zoom(0.5, middle);
      return true;
    case "0":
      view.reset();
      return true;
    case "ArrowLeft":
      if (!event.shiftKey) return false;
      view.pan(-0.25);
      return true;
    case "ArrowRight":
      if (!event.shiftKey) return false;
      view.pan(0.25);
      return true;
    default:
      return false;
  }
}

export const ZOOM_HINT =
  "Left and right move the point, plus and minus zoom, Shift with left and right pans, 0 shows the whole run.";
