// Which senders a run of carried media has, and what is counted of each. It knows no chart.
import type { Run } from "../data/document";
import { dig, num } from "../data/facts";
import { Table } from "../data/table";

/** More than these have no charts of their own: the tables of values have all. */
export const MOST_SENDERS = 8;
const LONGEST_NAME = 40;

export interface Sender {
  index: number;
  name: string;
  table: Table;
}

/** Source packets: those that came and were new, those that did not come at first (`lost`), and what became of these. */
const COUNTS = ["received", "lost", "recovered", "retransmitted", "overtaken", "elsewhere", "unrepaired"] as const;
export type Account = Record<(typeof COUNTS)[number], number>;

function fromSummary(run: Run, index: number): unknown {
  const all = dig(run.summary, "senders");
  return Array.isArray(all) ? all[index] : undefined;
}

/** By its name at the receiver, where the run has it. */
export function senderName(run: Run, index: number): string {
  const from = dig(run.parameters, "from");
  const named = dig(fromSummary(run, index), "from") ?? (Array.isArray(from) ? from[index] : null);
  if (typeof named !== "string" || named === "") return `sender ${index}`;
  return named.length > LONGEST_NAME ? `${named.slice(0, LONGEST_NAME)}…` : named;
}

/** How many flows a sender has, as far as the run says. */
export function flowsOf(run: Run, index: number): number | null {
  return num(dig(fromSummary(run, index), "flows")) ?? num(dig(run.parameters, "flows"));
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

/** What the seconds come to. */
export function accountOf(table: Table): Account {
  return Object.fromEntries(COUNTS.map((name) => [name, table.sum(name)])) as Account;
}

/** Missed and not merely late: packets that others of their flow overtook came by themselves. */
export function lostOf(account: Account): number {
  return Math.max(0, account.lost - account.overtaken);
}

/** Source packets that were expected: those that came late or again are among those received, and were missed before. */
export function expected(account: Account): number {
  return Math.max(0, account.received + account.lost - account.overtaken - account.retransmitted);
}
