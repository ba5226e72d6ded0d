// Media received and output as frames.
import { Table } from "../data/table";
import { median } from "../drawings/columns";
import { eventList, flowLanesOfSender } from "../drawings/flow-states";
import {
  budgetUse,
  frameDelay,
  framesOf,
  framesOverTime,
  framesSentence,
  overall,
  wholeShare,
} from "../drawings/frames";
import { hostCpu, hostDrops } from "../drawings/hosts";
import { bitsPerSecond, lossOfAll, recvCpu, recvLate, recvLoss, recvRate, repairSentence } from "../drawings/received";
import { accountOf, senders } from "../drawings/senders";
import { count, nanoseconds, percent, plural, rate } from "../format";
import type { Context, Description, Figure, Headline } from "./describe";
import { saidOf, stopped } from "./send";

function figures({ run }: Context): Figure[] {
  const found: Figure[] = [];
  const frames = framesOf(run);
  if (frames.all > 0)
    found.push({
      name: "complete frames",
      value: wholeShare(frames),
      detail: `${count(frames.whole)} of ${count(frames.all)}`,
    });
  const loss = lossOfAll(run);
  if (loss)
    found.push(
      { name: "raw loss", value: percent(loss.lost / loss.expected), detail: plural(loss.lost, "packet") },
      { name: "residual loss", value: percent(loss.left / loss.expected), detail: plural(loss.left, "packet") },
    );
  const all = senders(run);
  const rates = all.map((one) => median(bitsPerSecond(one.table))).filter((one) => one !== null);
  if (rates.length > 0)
    found.push({
      name: "rate",
      value: rate(rates.reduce((sum, one) => sum + one, 0)),
      detail: all.length > 1 ? `from ${all.length} senders` : undefined,
    });
  const seconds = Table.of(run, "frame_seconds");
  const delay = overall(run, "delay", "p50");
  if (delay !== null)
    found.push({
      name: "capture to output, P50",
      value: nanoseconds(delay),
      detail: `P99.9 ${nanoseconds(overall(run, "delay", "p999"))}\nbudget ${nanoseconds(median(seconds.numbers("budget_ns")))}`,
    });
  return found;
}

function headlines(context: Context): Headline[] {
  const { run } = context;
  const frames = framesOf(run);
  const said = saidOf(context);
  const all = senders(run);
  if (frames.all + all.reduce((sum, one) => sum + one.table.sum("received"), 0) === 0)
    return [...said, { severity: "fault", sentence: "no media was received." }];
  const bad = frames.all > frames.whole || frames.unequal > 0 || frames.all === 0;
  const found: Headline[] = [{ severity: bad ? "fault" : "information", sentence: `${framesSentence(frames)}.` }];
  for (const one of all)
    found.push({
      severity: accountOf(one.table).unrepaired > 0 ? "notice" : "information",
      sentence: `${all.length > 1 ? `${one.name}: ` : ""}${repairSentence(accountOf(one.table))}.`,
    });
  return [...said, ...stopped(context), ...found];
}

export const recv: Description = {
  kind: "recv",
  name: "Media received",
  figures,
  headlines,
  sections: [
    { title: "Frames", overTime: true, drawings: [framesOverTime, frameDelay, budgetUse] },
    { title: "The stream", overTime: true, drawings: [recvRate, recvLoss, recvLate] },
    { title: "Flows and events", overTime: true, drawings: [flowLanesOfSender, eventList] },
    { title: "The hosts", overTime: true, drawings: [recvCpu, hostCpu, hostDrops] },
  ],
};
