// Horizontal bars for a few named amounts, each with its value written beside it.
import { s } from "../dom";
import { textWidth } from "./axes";
import { Frame } from "./frame";
import type { BarsSpec } from "./model";
import { type Drawable, manage } from "./schedule";

export class BarsChart implements Drawable {
  readonly element: HTMLElement;
  private readonly frame: Frame;
  private chosen = -1;

  constructor(private readonly spec: BarsSpec) {
    this.frame = new Frame(spec, "Up and down move from bar to bar.");
    this.element = this.frame.figure;
    if (spec.empty) return;
    const { plot } = this.frame;
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      this.show(Math.max(0, Math.min(spec.bars.length - 1, this.chosen + step)));
    });
    plot.addEventListener("blur", () => {
      this.chosen = -1;
      this.frame.hideTip();
    });
    manage(this);
  }

  private rowAt(i: number): number {
    const { bars } = this.spec;
    let y = 4;
    for (let j = 0; j <= i; j++) {
      if (bars[j]?.group && bars[j]?.group !== bars[j - 1]?.group) y += 24;
      if (j < i) y += 30;
    }
    return y;
  }

  private show(i: number): void {
    this.chosen = i;
    const bar = this.spec.bars[i];
    if (bar)
      this.frame.showTip(
        60,
        this.rowAt(i) + 26,
        bar.group ?? "",
        [{ name: bar.name, text: bar.text, colour: bar.colour }],
        true,
      );
  }

  draw(): void {
    const { bars, unit } = this.spec;
    const width = Math.max(240, this.frame.plot.clientWidth);
    const left = Math.max(...bars.map((bar) => textWidth(bar.name))) + 12;
    const room = width - left - Math.max(...bars.map((bar) => textWidth(bar.text))) - 20;
    const most = Math.max(1e-300, ...bars.map((bar) => bar.value));
    const height = this.rowAt(bars.length - 1) + 56;
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true", class: "chart" });
    bars.forEach((bar, i) => {
      const y = this.rowAt(i);
      if (bar.group && bar.group !== bars[i - 1]?.group)
        svg.append(s("text", { class: "axis-label", x: 0, y: y - 8 }, bar.group));
      const wide = (bar.value / most) * room;
      svg.append(
        s("text", { class: "tick", x: left - 8, y: y + 11, dy: "0.32em", "text-anchor": "end" }, bar.name),
        s("rect", {
          x: left,
          y,
          width: bar.value > 0 ? Math.max(2, wide) : 0,
          height: 22,
          fill: bar.colour,
          "data-x": bar.name,
          "data-value": bar.value,
        }),
        s(
          "text",
          { class: "legend", x: left + (bar.value > 0 ? Math.max(2, wide) : 0) + 7, y: y + 11, dy: "0.34em" },
          bar.text,
        ),
      );
    });
    svg.append(
      s("line", { class: "axis", x1: left, x2: left, y1: 0, y2: height - 26 }),
      s("text", { class: "axis-label", x: left, y: height - 6 }, unit),
    );
    this.frame.show(svg);
    this.frame.figure.dataset.drawn = "true";
  }
}
