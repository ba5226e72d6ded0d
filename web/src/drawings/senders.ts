// Which senders a run of carried media has, and what is counted of each. It knows no chart.
import type { Run } from "../data/document";
import { dig } from "../data/facts";
import { Table } from "../data/table";

/** More than these have no charts of their own: the tables of values have all. */
export const MOST_SENDERS = 8;
const LONGEST_NAME = 40;

export interface Sender {
  index: number;
  name: string;
  table: Table;
}

/** As the receiver was told of it, where its parameters say so. */
export function senderName(run: Run, index: number): string {
  const from = dig(run.parameters, "from");
  const name = Array.isArray(from) ? from[index] : null;
  if (typeof name !== "string" || name === "") return `sender ${index}`;
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

/** Seconds of the receiver with each of its senders. */
export function senders(run: Run): Sender[] {
  const all = Table.of(run, "recv_seconds");
  return (all.distinct("sender") as number[])
    .sort((a, b) => a - b)
    .slice(0, MOST_SENDERS)
    .map((index) => ({
      index,
      name: senderName(run, index),
      table: all.where("sender", index).sortedBy("at_ns"),
    }));
}

/** Source packets that were expected: those that came late or again are among those received, and were missed before. */
export function expected(table: Table): number {
  return Math.max(0, table.sum("received") + table.sum("lost") - table.sum("overtaken") - table.sum("retransmitted"));
}
