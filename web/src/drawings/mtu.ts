// The search for the path MTU: which lengths passed.
import type { XYSpec } from "../charts/model";
import { dig, num } from "../data/facts";
import { Table } from "../data/table";
import { bytes, count } from "../format";
import type { Drawing } from "../kinds/describe";
import { overTime, xs } from "./columns";
import { C } from "./palette";

export const mtuProbes: Drawing = (context): XYSpec => {
  const table = Table.of(context.run, "mtu_probes").sortedBy("at_ns");
  const x = xs(table, "at_ns");
  const size = table.numbers("size");
  const passed = table.numbers("acknowledged");
  const local = table.numbers("refused_locally");
  const pick = (test: (i: number) => boolean) => {
    const rows = x.map((_, i) => i).filter(test);
    return { x: rows.map((i) => x[i]!), y: rows.map((i) => size[i] ?? null) };
  };
  const mtu = num(dig(context.run.summary, "forward", "path_mtu"));
  return {
    ...overTime(context, table),
    id: "mtu-probes",
    title: mtu !== null ? `Packets of up to ${bytes(mtu)} pass unfragmented` : "Probes of the path MTU",
    empty: table.length === 0 ? "No probe was sent." : null,
    y: { kind: "linear", label: "IP packet length (bytes)", format: count },
    layers: [
      { kind: "points", name: "passed", colour: C.blue, shape: "circle", ...pick((i) => !!passed[i]) },
      {
        kind: "points",
        name: "no response",
        colour: C.red,
        shape: "triangle",
        ...pick((i) => !passed[i] && !local[i]),
      },
      {
        kind: "points",
        name: "refused by this host",
        colour: C.orange,
        shape: "square",
        ...pick((i) => !passed[i] && !!local[i]),
      },
    ],
    height: 240,
  };
};
