// Charts that are chosen among: those of one option are shown, each made when it is first chosen.
import { chart } from "../charts";
import { h } from "../dom";
import type { Choice } from "../kinds/describe";

export function choice({ id, label, options }: Choice): HTMLElement {
  const made = new Map<number, HTMLElement>();
  const charts = h("div", { class: "column" });
  const show = (chosen: number) => {
    const option = options[chosen];
    if (!option) return;
    if (!made.has(chosen)) {
      const own = h("div", { class: "column" }, ...option.charts().map(chart));
      made.set(chosen, own);
      charts.append(own);
    }
    for (const [place, own] of made) own.hidden = place !== chosen;
  };
  show(0);
  if (options.length < 2) return charts;
  const select = h("select", { name: id }, ...options.map((option, i) => h("option", { value: i }, option.name)));
  select.addEventListener("input", () => show(Number(select.value)));
  return h("div", { class: "column", "data-choice": id }, h("label", { class: "choice" }, label, select), charts);
}
