// The chart layer: from a description of a chart to its element.
import { BarsChart } from "./bars";
import { LanesChart } from "./lanes";
import { MapChart } from "./map";
import { MatrixChart } from "./matrix";
import type { ChartSpec } from "./model";
import { ScatterChart } from "./scatter";
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
    case "scatter":
      return new ScatterChart(spec).element;
    case "matrix":
      return new MatrixChart(spec).element;
    case "map":
      return new MapChart(spec).element;
  }
}
