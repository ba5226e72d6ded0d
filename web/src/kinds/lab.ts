// An emulated link and the command that ran across it.
import { dig, num } from "../data/facts";
import { Table } from "../data/table";
import { linkDrops, linkLateness, linkQueue, linkRate } from "../drawings/link";
import { count, nanoseconds } from "../format";
import type { Description } from "./describe";

export const lab: Description = {
  kind: "lab",
  name: "Lab",
  figures: ({ run }) => {
    const all = Table.of(run, "link_seconds");
    const fit = dig(run.summary, "fit");
    const why = dig(run.summary, "unfit_because");
    return [
      {
        name: "result valid",
        value: fit === true ? "yes" : fit === false ? "no" : "–",
        detail: typeof why === "string" ? why : undefined,
      },
      { name: "packets offered", value: count(all.sum("offered")) },
      { name: "delivered", value: count(all.sum("delivered")) },
      { name: "lateness, P99 forward", value: nanoseconds(num(dig(run.summary, "forward", "lateness", "p99"))) },
    ];
  },
  sections: [{ title: "The link", overTime: true, drawings: [linkRate, linkDrops, linkQueue, linkLateness] }],
};
