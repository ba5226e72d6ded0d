// The map: places on the earth, degrees as they are (plate carrée), and lines between them along great circles. Few lines
// are all drawn; of many, those of the place that the reader chooses.
import { symbol } from "d3-shape";
import { s } from "../dom";
import { textWidth } from "./axes";
import { classOf, drawClassLegend } from "./classes";
import { drawLegend, SHAPES } from "./draw";
import { greatCircle } from "./great-circle";
import { LAND } from "./land";
import type { MapPlace, MapSpec } from "./model";
import { PlottedChart } from "./plotted";

/** What of the earth is shown, degrees. */
const NORTH = 78;
const SOUTH = -58;
/** Lines that are drawn without a choice. */
const FEW = 60;
const REACH = 20;

export class MapChart extends PlottedChart<MapSpec> {
  /** Places from west to east. */
  private readonly order: number[];
  private scale = 1;
  private top = 0;
  private lines: SVGGElement | null = null;
  private chosen: number | null = null;

  constructor(spec: MapSpec) {
    super(spec, "Left and right move from place to place.");
    this.order = spec.places.map((_, i) => i).sort((a, b) => spec.places[a]!.longitude - spec.places[b]!.longitude);
  }

  draw(): void {
    const { spec, width } = this;
    const legend = s("g");
    const groups = Object.entries(spec.looks).map(([name, look]) => ({
      name,
      draw: (x: number, y: number) =>
        s("path", {
          d: symbol(SHAPES[look.shape], 64)() ?? "",
          transform: `translate(${x + 9} ${y})`,
          fill: look.colour,
        }),
    }));
    const first = drawLegend(legend, groups, 2, width);
    const second = s("g", { transform: `translate(0 ${first})` });
    this.top = first + drawClassLegend(second, spec.classes, width) + 4;
    legend.append(second);
    this.scale = width / 360;
    const high = (NORTH - SOUTH) * this.scale;
    const height = Math.ceil(this.top + high + 4);
    const clip = this.newClip();
    const [x, y] = this.at(0, 0);
    const land = s("path", {
      class: "land",
      d: LAND,
      transform: `translate(${x} ${y}) scale(${this.scale / 10})`,
      "vector-effect": "non-scaling-stroke",
    });
    this.lines = s("g", { "clip-path": `url(#${clip})` });
    this.drawLines();
    const room = { x: 0, y: this.top, width, height: high };
    this.put(
      width,
      height,
      this.clipPath(clip, room),
      s("rect", { class: "sea", ...room }),
      s("g", { "clip-path": `url(#${clip})` }, land),
      this.lines,
      this.dots(width),
      legend,
    );
  }

  protected again(): void {
    if (this.chosen !== null) this.show(this.chosen, false);
  }

  private dots(width: number): SVGGElement {
    const { places, looks } = this.spec;
    const group = s("g", { "data-layer": "places", "data-rows": places.length });
    const size = places.length > 60 ? 34 : 64;
    for (const place of places) {
      const [x, y] = this.at(place.latitude, place.longitude);
      const look = looks[place.group];
      group.append(
        s("path", {
          class: "mark",
          d: symbol(SHAPES[look?.shape ?? "circle"], size)() ?? "",
          transform: `translate(${round(x)} ${round(y)})`,
          fill: look?.colour ?? "var(--c-grey)",
          "data-x": place.name,
          "data-value": place.latitude,
        }),
      );
      if (places.length > 12) continue;
      const before = x + 8 + textWidth(place.name, 11) > width;
      group.append(
        s(
          "text",
          { class: "map-name", x: before ? x - 8 : x + 8, y, dy: "0.33em", "text-anchor": before ? "end" : "start" },
          place.name,
        ),
      );
    }
    return group;
  }

  /** All lines where there are few, else those of the chosen place. */
  private drawLines(): void {
    const { links, places, classes } = this.spec;
    const few = links.length <= FEW;
    const shown = links.filter((link) =>
      this.chosen === null ? few : link.from === this.chosen || link.to === this.chosen,
    );
    const paths: string[][] = classes.map(() => []);
    for (const link of shown)
      paths[classOf(classes, link.value)]?.push(this.great(places[link.from]!, places[link.to]!));
    this.lines?.replaceChildren(
      ...classes.map((one, i) =>
        s(
          "g",
          { "data-layer": one.text, "data-rows": paths[i]!.length },
          s("path", { class: "link", d: paths[i]!.join(""), stroke: one.colour }),
        ),
      ),
    );
  }

  private at(latitude: number, longitude: number): [number, number] {
    return [(longitude + 180) * this.scale, this.top + (NORTH - latitude) * this.scale];
  }

  /** The path of the great circle from one place to another, broken where it leaves the map at a side. */
  private great(from: MapPlace, to: MapPlace): string {
    let text = "";
    let before: number | null = null;
    for (const [latitude, longitude] of greatCircle(from, to)) {
      const [x, y] = this.at(latitude, longitude);
      const jump = before !== null && Math.abs(longitude - before) > 180;
      text += `${text === "" || jump ? "M" : "L"}${round(x)} ${round(y)}`;
      before = longitude;
    }
    return text;
  }

  protected point(left: number, top: number): void {
    let nearest: number | null = null;
    let least = REACH ** 2;
    this.spec.places.forEach((place, i) => {
      const [x, y] = this.at(place.latitude, place.longitude);
      const far = (x - left) ** 2 + (y - top) ** 2;
      if (far < least) [nearest, least] = [i, far];
    });
    if (nearest === null) this.clear();
    else if (nearest !== this.chosen) this.show(nearest, false);
  }

  protected key(event: KeyboardEvent): void {
    if (event.key === "Escape") return this.clear();
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const now = this.chosen === null ? (step > 0 ? -1 : this.order.length) : this.order.indexOf(this.chosen);
    this.show(this.order[Math.max(0, Math.min(this.order.length - 1, now + step))]!, true);
  }

  private show(place: number, speak: boolean): void {
    const { spec, mark } = this;
    this.chosen = place;
    const { name, group, latitude, longitude } = spec.places[place]!;
    const [x, y] = this.at(latitude, longitude);
    mark.replaceChildren(
      s("circle", { class: "cursor-point", cx: x, cy: y, r: 7, stroke: spec.looks[group]?.colour ?? "var(--text)" }),
    );
    this.drawLines();
    this.frame.showTip(x, y, name, spec.tell(place), speak);
  }

  protected override clear(): void {
    if (this.chosen !== null) {
      this.chosen = null;
      this.drawLines();
    }
    super.clear();
  }
}

const round = (value: number) => Math.round(value * 10) / 10;
