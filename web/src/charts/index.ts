// The chart layer: from a description of a chart to its element.
import { BarsChart } from "./bars";
import { LanesChart } from "./lanes";
import type { ChartSpec } from "./model";
import { StatesChart } from "./states";
import { XYChart } from "./xy";

export function chart(spec: ChartSpec): HTMLElement {
  switch (spec.type) {
    case "xy":
      return new XYChart(spec).element;
    case "lanes":
      return new LanesChart(spec).element;
    case "states":
      return new StatesChart(spec).element;
    case "bars":
      return new BarsChart(spec).element;
  }
}
