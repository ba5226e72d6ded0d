// What all charts have alike over which a pointer and the arrow keys move: the frame, the area of the plot, what is marked in
// it, and how a drawing is put in place.
import { s } from "../dom";
import type { Box } from "./axes";
import { Frame } from "./frame";
import type { Common } from "./model";
import { type Drawable, invalidate, manage } from "./schedule";
import type { TimeView } from "./view";
import { attachZoom } from "./zoom";

export abstract class PlottedChart<Spec extends Common> implements Drawable {
  readonly element: HTMLElement;
  protected readonly frame: Frame;
  protected box: Box = { left: 0, right: 0, top: 0, bottom: 0 };
  /** What is drawn over the chart at the point; not in files. */
  protected mark: SVGGElement = s("g", { "data-screen-only": "" });

  /** With a `view` it zooms. */
  constructor(
    protected readonly spec: Spec,
    hint: string,
    view?: TimeView | null,
  ) {
    this.frame = new Frame(spec, hint);
    this.element = this.frame.figure;
    if (spec.empty) return;
    const { plot } = this.frame;
    if (view) {
      attachZoom(plot, view, () => this.box);
      view.onChange(() => invalidate(this));
      plot.classList.add("zoomable");
    }
    plot.addEventListener("pointermove", (event) => {
      const bounds = plot.getBoundingClientRect();
      this.point(event.clientX - bounds.left, event.clientY - bounds.top);
    });
    plot.addEventListener("pointerleave", () => this.clear());
    plot.addEventListener("blur", () => this.clear());
    plot.addEventListener("keydown", (event) => this.key(event));
    manage(this);
  }

  abstract draw(): void;
  /** The pointer is there, pixels in the plot. */
  protected abstract point(x: number, y: number): void;
  protected abstract key(event: KeyboardEvent): void;
  /** Shows once more what was chosen, after a new drawing. */
  protected abstract again(): void;

  protected get width(): number {
    return Math.max(240, this.frame.plot.clientWidth);
  }

  /** A name that nothing else on the page has. */
  protected newClip(): string {
    return `clip-${this.spec.id}-${Math.random().toString(36).slice(2)}`;
  }

  protected clipPath(id: string, room: Record<"x" | "y" | "width" | "height", number>): SVGElement {
    return s("defs", null, s("clipPath", { id }, s("rect", room)));
  }

  /** Puts a new drawing in place of the old one, with a new mark over it. */
  protected put(width: number, height: number, ...parts: SVGElement[]): void {
    this.mark = s("g", { "data-screen-only": "" });
    const size = { viewBox: `0 0 ${width} ${height}`, width, height };
    this.frame.show(s("svg", { ...size, "aria-hidden": "true", class: "chart" }, ...parts, this.mark));
    this.frame.figure.dataset.drawn = "true";
    if (document.activeElement === this.frame.plot) this.again();
  }

  protected clear(): void {
    this.mark.replaceChildren();
    this.frame.hideTip();
  }
}
