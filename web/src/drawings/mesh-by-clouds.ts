// The charts over distance of the tests from one cloud to another, folded where there are many.
import { chart } from "../charts";
import { meshOf } from "../data/mesh";
import { h } from "../dom";
import { count } from "../format";
import type { Drawing } from "../kinds/describe";
import { overDistance, type Quantity, RTT, THROUGHPUT } from "./mesh-distance";

/** With so many cloud pairs, or fewer, their charts need not be unfolded. */
const FEW_GROUPS = 4;

/** One chart for each two clouds; many of them wait until they are asked for. */
function byClouds(quantity: Quantity): Drawing {
  return (context) => {
    const { groups } = meshOf(context.run);
    if (groups.length < 2) return null;
    const specs = groups.map((group) => overDistance(context, quantity, group)).filter((spec) => !spec.empty);
    const details = h(
      "details",
      { class: "panel", open: groups.length <= FEW_GROUPS, "data-by-clouds": quantity.id },
      h("summary", null, `From one cloud to another: ${count(specs.length)} charts`),
    );
    const grid = h("div", { class: "grid" });
    let made = false;
    const make = () => {
      if (made || !details.open) return;
      made = true;
      for (const spec of specs) grid.append(chart(spec));
      details.append(grid);
    };
    details.addEventListener("toggle", make);
    make();
    return details;
  };
}

export const rttByClouds = byClouds(RTT);
export const throughputByClouds = byClouds(THROUGHPUT);
