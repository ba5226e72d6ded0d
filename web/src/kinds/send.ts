// Media that was sent.
import { dig, num } from "../data/facts";
import { Table } from "../data/table";
import { median } from "../drawings/columns";
import { eventList, flowLanesOfSender } from "../drawings/flow-states";
import { hostCpu, hostDrops } from "../drawings/hosts";
import { bitsPerSecond } from "../drawings/received";
import { codeRate, sendCode, sendCpu, sendPackets, sendRate, sendRtt, sendTrouble } from "../drawings/sent";
import { when } from "../drawings/wording";
import { count, nanoseconds, percent, plural, rate } from "../format";
import type { Context, Description, Figure, Headline } from "./describe";

/** The sentence of the run's summary, where it has one. */
export function saidOf({ run }: Context): Headline[] {
  const said = dig(run.summary, "sentence");
  return typeof said === "string" && said !== "" ? [{ severity: "information", sentence: said }] : [];
}

/** The circuit breaker ended it. */
export function stopped(context: Context): Headline[] {
  const events = Table.of(context.run, "media_events").where("event", "stopped").sortedBy("at_ns");
  const at = events.numbers("at_ns")[0];
  if (at === null || at === undefined) return [];
  const detail = String(events.values("detail")[0] ?? "");
  const sentence = `the circuit breaker stopped the sender at ${when(context, at)}${detail ? `: ${detail}` : "."}`;
  return [{ severity: "fault", sentence }];
}

function figures({ run }: Context): Figure[] {
  const table = Table.of(run, "send_seconds");
  if (table.length === 0) return [];
  const sources = table.sum("sources");
  const more = table.sum("repairs") + table.sum("retransmitted") + table.sum("trials");
  const skipped = table.sum("frames_skipped");
  const code = median(codeRate(table));
  return [
    {
      name: "frames sent",
      value: count(table.sum("frames")),
      detail: skipped > 0 ? `${count(skipped)} of the input were not` : undefined,
    },
    { name: "rate", value: rate(median(bitsPerSecond(table))) },
    {
      name: "repair and retransmitted packets",
      value: sources > 0 ? percent(more / sources) : "–",
      detail: `${count(more)} for ${count(sources)}`,
    },
    { name: "FEC", value: code === null ? "off" : percent(code), detail: windowText(table) },
    { name: "RTT to the receiver", value: nanoseconds(median(table.numbers("receiver_rtt_ns"))) },
  ];
}

function windowText(table: Table): string | undefined {
  const window = median(table.numbers("fec_window"));
  return window === null ? undefined : `window of ${plural(window, "packet")}`;
}

function headlines(context: Context): Headline[] {
  const table = Table.of(context.run, "send_seconds");
  const of = (name: string) => num(dig(context.run.summary, name)) ?? table.sum(name);
  const [frames, skipped, unsent] = [of("frames"), of("frames_skipped"), of("unsent")];
  const found: Headline[] = [
    frames === 0
      ? { severity: "fault", sentence: "no frame was sent." }
      : skipped > 0
        ? {
            severity: "notice",
            sentence: `${count(frames)} of ${plural(frames + skipped, "frame")} of the input were sent; the others were skipped, without a receiver or on a slow network.`,
          }
        : { severity: "information", sentence: `all ${plural(frames, "frame")} of the input were sent.` },
  ];
  if (unsent > 0)
    found.push({
      severity: "notice",
      sentence: `the kernel refused ${plural(unsent, "packet")} (socket buffer full): they were not sent.`,
    });
  return [...saidOf(context), ...stopped(context), ...found];
}

export const send: Description = {
  kind: "send",
  name: "Media sent",
  figures,
  headlines,
  sections: [
    { title: "The stream", overTime: true, drawings: [sendRate, sendPackets, sendCode, sendTrouble, sendRtt] },
    { title: "Flows and events", overTime: true, drawings: [flowLanesOfSender, eventList] },
    { title: "The hosts", overTime: true, drawings: [sendCpu, hostCpu, hostDrops] },
  ],
};
