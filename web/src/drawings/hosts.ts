// What the hosts did meanwhile: CPU, and packets that they dropped themselves.
import type { Layer, XYSpec } from "../charts/model";
import { Table } from "../data/table";
import { count, digits, plural } from "../format";
import type { Drawing } from "../kinds/describe";
import { gapOf, lineOf, overTime, peak, xs } from "./columns";
import { C } from "./palette";
import { completeness, when } from "./wording";

const NAMES: Record<string, string> = { local: "this host", remote: "the agent's host" };

function sides(table: Table): string[] {
  return (table.distinct("side") as string[]).sort();
}

const cores = (value: number) => `${digits(value, 3)} ${value === 1 ? "core" : "cores"}`;

export const hostCpu: Drawing = (context): XYSpec | null => {
  const all = Table.of(context.run, "host_seconds");
  if (all.length === 0) return null;
  const names = sides(all);
  const tables = names.map((side) => all.where("side", side).sortedBy("at_ns"));
  const layers = names.flatMap((side, i): Layer[] => {
    const table = tables[i]!;
    const x = xs(table, "at_ns");
    const gap = gapOf(table);
    const name = NAMES[side] ?? side;
    const paint = i === 0 ? C.blue : C.orange;
    const steal = table.numbers("cpu_steal_cores");
    const lines: Layer[] = [
      { kind: "line", name: `${name}, all`, colour: paint, x, y: table.numbers("cpu_busy_cores"), gap },
      { kind: "line", name: `${name}, Weir`, colour: paint, x, y: table.numbers("cpu_weir_cores"), gap, dash: "5 3" },
    ];
    if (steal.some((value) => (value ?? 0) > 0.01))
      lines.push({
        kind: "line",
        name: `${name}, stolen by the hypervisor`,
        colour: C.red,
        x,
        y: steal,
        gap,
        dash: "1 3",
      });
    return lines;
  });
  const tops = names
    .map((side, i) => ({ side, top: peak(tables[i]!.numbers("cpu_busy_cores")), x: xs(tables[i]!, "at_ns") }))
    .filter((one) => one.top);
  const busiest = tops.sort((a, b) => b.top!.value - a.top!.value)[0];
  return {
    ...overTime(context, ...tables),
    id: "host-cpu",
    title: busiest
      ? `At most ${cores(busiest.top!.value)} were busy, on ${NAMES[busiest.side] ?? busiest.side} at ${when(context, busiest.x[busiest.top!.index]!)}`
      : "CPU of the hosts",
    note: completeness(all),
    empty: busiest ? null : "The hosts did not report their CPU use.",
    y: { kind: "linear", label: "CPU (cores)", format: (v) => digits(v, 3), exact: cores },
    layers,
    height: 220,
  };
};

const DROPS: [string, string][] = [
  ["udp_rcvbuf_errors", "full receive buffer"],
  ["udp_in_errors", "other UDP receive errors"],
  ["udp_sndbuf_errors", "full send buffer"],
  ["softnet_dropped", "receive backlog"],
  ["interface_rx_dropped", "interface, receiving"],
  ["interface_tx_dropped", "interface, sending"],
  ["driver_rx_dropped", "driver, receiving"],
  ["driver_tx_dropped", "driver, sending"],
  ["qdisc_dropped", "queueing discipline"],
  ["bw_in_allowance_exceeded", "allowance of inbound bandwidth"],
  ["bw_out_allowance_exceeded", "allowance of outbound bandwidth"],
  ["pps_allowance_exceeded", "allowance of packets per second"],
  ["conntrack_allowance_exceeded", "allowance of connection tracking"],
];

/** Only where a host dropped anything: most do not. */
export const hostDrops: Drawing = (context): XYSpec | null => {
  const all = Table.of(context.run, "host_seconds");
  const layers: Layer[] = [];
  let sum = 0;
  for (const side of sides(all)) {
    const table = all.where("side", side).sortedBy("at_ns");
    for (const [column, name] of DROPS) {
      const dropped = table.sum(column);
      if (dropped === 0) continue;
      sum += dropped;
      const i = layers.length;
      layers.push(
        lineOf(
          table,
          `${NAMES[side] ?? side}: ${name}`,
          column,
          [C.red, C.orange, C.purple, C.blue, C.green, C.sky][i % 6]!,
        ),
      );
    }
  }
  if (sum === 0) return null;
  return {
    ...overTime(context, all),
    id: "host-drops",
    title: `The hosts dropped ${plural(sum, "packet")}`,
    note: "Counters of the whole host, other programs included.",
    y: { kind: "linear", label: "packets dropped", format: count },
    layers,
    height: 210,
  };
};
