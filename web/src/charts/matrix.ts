// The matrix: a cell for each two places, with the colour of its value. Cells of one colour are one path, so that tens of
// thousands of them are drawn at once.
import { s } from "../dom";
import { textWidth } from "./axes";
import { classOf, drawClassLegend } from "./classes";
import type { MatrixSpec } from "./model";
import { PlottedChart } from "./plotted";

/** From this many pixels on a row has room for its name. */
const NAMED = 11;
const LARGEST = 40;

export class MatrixChart extends PlottedChart<MatrixSpec> {
  private left = 0;
  private top = 0;
  private cell = 1;
  /** Row and column. */
  private chosen: [number, number] | null = null;

  constructor(spec: MatrixSpec) {
    super(spec, "The arrow keys move from cell to cell.");
  }

  draw(): void {
    const { spec, width } = this;
    const n = spec.places.length;
    const names = Math.max(...spec.places.map((place) => textWidth(place.name, 11))) + 8;
    const groups = Math.max(...spec.places.map((place) => textWidth(place.group, 12))) + 12;
    const named = (width - names - 2) / n >= NAMED;
    this.left = named ? names : groups;
    this.cell = Math.min(LARGEST, (width - this.left - 2) / n);
    const legend = s("g");
    this.top = drawClassLegend(legend, spec.classes, width) + 22 + (named ? names : 20);
    const height = Math.ceil(this.top + n * this.cell + 6);
    const labels = s("g");
    labels.append(
      s("text", { class: "axis-label", x: 2, y: this.top - 8 }, `${spec.labels.row} ↓`),
      s(
        "text",
        { class: "axis-label", x: this.left, y: this.top - (named ? names : 20) - 6 },
        `${spec.labels.column} →`,
      ),
    );
    if (named) this.drawNames(labels);
    else this.drawGroups(labels);
    this.put(width, height, labels, this.cells(), legend);
  }

  protected again(): void {
    if (this.chosen) this.show(...this.chosen, false);
  }

  private cells(): SVGGElement {
    const { values, classes, places } = this.spec;
    const n = places.length;
    const gap = Math.min(1, this.cell * 0.1);
    const wide = (this.cell - gap).toFixed(2);
    const paths: string[][] = classes.map(() => []);
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (value === null || value === undefined) continue;
      const [left, top] = this.at(Math.floor(i / n), i % n);
      paths[classOf(classes, value)]?.push(`M${left.toFixed(2)} ${top.toFixed(2)}h${wide}v${wide}h-${wide}z`);
    }
    const group = s("g");
    classes.forEach((one, i) => {
      const attributes = { "data-layer": one.text, "data-rows": paths[i]!.length };
      group.append(s("g", attributes, s("path", { class: "cells", d: paths[i]!.join(""), fill: one.colour })));
    });
    group.append(
      s("rect", { class: "matrix-edge", x: this.left, y: this.top, width: n * this.cell, height: n * this.cell }),
    );
    return group;
  }

  private drawNames(labels: SVGGElement): void {
    this.spec.places.forEach((place, i) => {
      const middle = (i + 0.5) * this.cell;
      const column = `translate(${this.left + middle} ${this.top - 5}) rotate(-90)`;
      labels.append(
        s(
          "text",
          { class: "matrix-name", x: this.left - 6, y: this.top + middle, dy: "0.33em", "text-anchor": "end" },
          place.name,
        ),
        s("text", { class: "matrix-name", transform: column, dy: "0.33em" }, place.name),
      );
    });
  }

  /** Too many places for names: their groups, with a line between them. */
  private drawGroups(labels: SVGGElement): void {
    const { places } = this.spec;
    const end = places.length * this.cell;
    for (let first = 0; first < places.length; ) {
      const name = places[first]!.group;
      let after = first;
      while (after < places.length && places[after]!.group === name) after++;
      const [from, to] = [first * this.cell, after * this.cell];
      labels.append(
        s(
          "text",
          { class: "tick", x: this.left - 6, y: this.top + (from + to) / 2, dy: "0.33em", "text-anchor": "end" },
          name,
        ),
        s("text", { class: "tick", x: this.left + (from + to) / 2, y: this.top - 6, "text-anchor": "middle" }, name),
        s("path", {
          class: "axis",
          d: `M${this.left - 8} ${this.top + to}h${end + 8}M${this.left + to} ${this.top - 4}v${end + 4}`,
        }),
      );
      first = after;
    }
  }

  /** Upper left corner of a cell. */
  private at(row: number, column: number): [number, number] {
    return [this.left + column * this.cell, this.top + row * this.cell];
  }

  protected point(x: number, y: number): void {
    const column = Math.floor((x - this.left) / this.cell);
    const row = Math.floor((y - this.top) / this.cell);
    const n = this.spec.places.length;
    if (row < 0 || column < 0 || row >= n || column >= n) this.clear();
    else this.show(row, column, false);
  }

  protected key(event: KeyboardEvent): void {
    if (event.key === "Escape") return this.clear();
    const n = this.spec.places.length;
    const step = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      Home: [0, -n],
      End: [0, n],
    }[event.key];
    if (!step) return;
    event.preventDefault();
    const within = (at: number) => Math.max(0, Math.min(n - 1, at));
    const [row, column] = this.chosen ?? [0, 0];
    if (this.chosen) this.show(within(row + step[0]!), within(column + step[1]!), true);
    else this.show(0, 0, true);
  }

  private show(row: number, column: number, speak: boolean): void {
    const { spec, mark } = this;
    this.chosen = [row, column];
    const [left, top] = this.at(row, column);
    mark.replaceChildren(
      s("rect", { class: "cell-chosen", x: left - 1, y: top - 1, width: this.cell + 1, height: this.cell + 1 }),
    );
    const value = spec.values[row * spec.places.length + column];
    const told = spec.tell(row, column);
    const colour = typeof value === "number" ? spec.classes[classOf(spec.classes, value)]?.colour : undefined;
    if (told[0]) told[0].colour = colour;
    this.frame.showTip(left, top + 20, `${spec.places[row]!.name} to ${spec.places[column]!.name}`, told, speak);
  }

  protected override clear(): void {
    this.chosen = null;
    super.clear();
  }
}
