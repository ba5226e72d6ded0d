// What every chart has around it: title, note, buttons, tooltip, spoken text for the keyboard, and the table of values.
import { h } from "../dom";
import { count, inUnit } from "../format";
import { csvText, pngBlob, save, svgText } from "./export";
import type { Common } from "./model";

export interface TipLine {
  name: string;
  text: string;
  colour?: string;
}

const TABLE_ROWS = 300;

export class Frame {
  readonly figure: HTMLElement;
  readonly plot: HTMLElement;
  svg: SVGSVGElement | null = null;
  private readonly tip: HTMLElement;
  private readonly live: HTMLElement;

  constructor(
    private readonly spec: Common,
    hint: string,
  ) {
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.live = h("div", { class: "visually-hidden", "aria-live": "polite", role: "status" });
    this.plot = h("div", {
      class: "plot",
      tabindex: 0,
      role: "group",
      "aria-roledescription": "chart",
      "aria-label": `${spec.title}. ${hint}`,
    });
    const caption = h(
      "figcaption",
      null,
      h("div", { class: "figure-head" }, h("h4", null, spec.title), spec.empty ? null : this.buttons()),
      spec.note ? h("p", { class: "note" }, spec.note) : null,
    );
    if (spec.empty) {
      this.figure = h(
        "figure",
        { "data-chart": spec.id, "data-empty": "true" },
        caption,
        h("p", { class: "empty" }, spec.empty),
      );
      return;
    }
    this.figure = h("figure", { "data-chart": spec.id }, caption, this.plot, this.tip, this.live, this.values());
  }

  private buttons(): HTMLElement {
    const button = (text: string, does: string, action: () => void | Promise<void>) =>
      h(
        "button",
        {
          type: "button",
          "data-save": text.toLowerCase(),
          "aria-label": `${does}: ${this.spec.title}`,
          title: does,
          onclick: () => void action(),
        },
        text,
      );
    return h(
      "div",
      { class: "buttons" },
      button("SVG", "Save as SVG", () => {
        if (this.svg)
          save(new Blob([svgText(this.svg, this.spec.title).text], { type: "image/svg+xml" }), `${this.spec.id}.svg`);
      }),
      button("PNG", "Save as PNG", async () => {
        if (this.svg) save(await pngBlob(this.svg, this.spec.title), `${this.spec.id}.png`);
      }),
      button("CSV", "Save the values as CSV", () => {
        save(new Blob([csvText(this.spec.content())], { type: "text/csv" }), `${this.spec.id}.csv`);
      }),
    );
  }

  /** The values behind the chart as a table, made when it is opened. */
  private values(): HTMLElement {
    const details = h("details", { class: "values" }, h("summary", null, "Table of values"));
    let made = false;
    details.addEventListener("toggle", () => {
      if (!details.open || made) return;
      made = true;
      const { columns, rows } = this.spec.content();
      const numeric = columns.map((_, i) => rows.every((row) => row[i] === null || typeof row[i] === "number"));
      const cell = (value: string | number | boolean | null, i: number) =>
        h(
          "td",
          { class: numeric[i] ? "number" : null },
          typeof value === "number" ? count(value) : inUnit(value, null),
        );
      details.append(
        rows.length > TABLE_ROWS
          ? h("p", { class: "note" }, `The first ${TABLE_ROWS} of ${count(rows.length)} rows; the CSV has all.`)
          : "",
        h(
          "div",
          { class: "scroll", tabindex: 0, role: "region", "aria-label": `Values: ${this.spec.title}` },
          h(
            "table",
            null,
            h(
              "thead",
              null,
              h(
                "tr",
                null,
                ...columns.map((name, i) => h("th", { scope: "col", class: numeric[i] ? "number" : null }, name)),
              ),
            ),
            h("tbody", null, ...rows.slice(0, TABLE_ROWS).map((row) => h("tr", null, ...row.map(cell)))),
          ),
        ),
      );
    });
    return details;
  }

  show(svg: SVGSVGElement): void {
    if (this.svg) this.svg.replaceWith(svg);
    else this.plot.append(svg);
    this.svg = svg;
  }

  /** x and y are pixels in the plot. `speak` also says it, for those who move the point by keyboard. */
  showTip(x: number, y: number, head: string, lines: TipLine[], speak: boolean): void {
    this.tip.replaceChildren(
      h("div", { class: "tip-head" }, head),
      ...lines.map((line) => {
        const key = h("span", { class: "tip-key" });
        if (line.colour) key.style.background = line.colour;
        return h("div", { class: "tip-line" }, key, h("span", null, line.name), h("b", null, line.text));
      }),
    );
    this.tip.hidden = false;
    const width = this.plot.clientWidth;
    const own = this.tip.offsetWidth;
    const left = x + 14 + own > width ? Math.max(0, x - own - 14) : x + 14;
    this.tip.style.left = `${this.plot.offsetLeft + left}px`;
    this.tip.style.top = `${this.plot.offsetTop + Math.max(0, y - 10)}px`;
    if (speak) this.live.textContent = [head, ...lines.map((line) => `${line.name} ${line.text}`)].join("; ");
  }

  hideTip(): void {
    this.tip.hidden = true;
  }
}
