// A survey: its parts seen together, then each part.
import { dig, num, quantile } from "../data/facts";
import { rttByLength, rttByPosition, rttDistribution } from "../drawings/rtt";
import { bestText, lossByFlows, lossByLength } from "../drawings/survey";
import { throughputByStreams } from "../drawings/tcp";
import { bytes, nanoseconds, plural, rate } from "../format";
import type { Context, Description, Drawing, Figure } from "./describe";

/** A drawing of the RTT step, shown among the survey's own. */
function ofRtt(drawing: Drawing): Drawing {
  return (context) => {
    const part = context.parts.find((one) => one.kind === "rtt");
    return part ? drawing({ ...context, run: part, parts: [] }) : null;
  };
}

function figures({ run, parts }: Context): Figure[] {
  const part = (kind: string) => parts.find((one) => one.kind === kind);
  const found: Figure[] = [];
  const rtt = part("rtt");
  if (rtt) {
    const p90 = quantile(rtt, 0.9) ?? num(dig(rtt.summary, "rtt", "p90"));
    found.push({ name: "RTT, P90", value: nanoseconds(p90), detail: `P99 ${nanoseconds(quantile(rtt, 0.99))}` });
  }
  const best = bestText(run);
  if (best) found.push({ name: "lowest loss at the rate", ...best });
  const mtu = part("mtu");
  if (mtu) {
    found.push({
      name: "path MTU",
      value: bytes(num(dig(mtu.summary, "forward", "path_mtu"))),
      detail: `${bytes(num(dig(mtu.summary, "reverse", "path_mtu")))} reverse direction`,
    });
  }
  const tcp = parts
    .filter((one) => one.kind === "tcp")
    .map((one) => ({ rate: num(dig(one.summary, "goodput")), streams: num(dig(one.summary, "streams")) }));
  const top = tcp.reduce<{ rate: number; streams: number } | null>(
    (most, one) =>
      one.rate !== null && one.rate > (most?.rate ?? 0) ? { rate: one.rate, streams: one.streams ?? 1 } : most,
    null,
  );
  if (top) found.push({ name: "TCP, at most", value: rate(top.rate), detail: plural(top.streams, "connection") });
  return found;
}

export const survey: Description = {
  kind: "survey",
  name: "Survey",
  figures,
  sections: [
    { title: "Loss", drawings: [lossByFlows, lossByLength] },
    { title: "Round-trip time", drawings: [ofRtt(rttDistribution), ofRtt(rttByLength), ofRtt(rttByPosition)] },
    { title: "TCP", drawings: [throughputByStreams] },
  ],
  showParts: true,
};
