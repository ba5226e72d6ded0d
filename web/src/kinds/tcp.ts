// A TCP throughput test, a step of a survey.
import { dig, num } from "../data/facts";
import { hostCpu, hostDrops } from "../drawings/hosts";
import { tcpOverTime, tcpRtt } from "../drawings/tcp";
import { bytes, count, nanoseconds, rate } from "../format";
import type { Description } from "./describe";

export const tcp: Description = {
  kind: "tcp",
  name: "TCP throughput",
  figures: ({ run }) => [
    {
      name: "goodput",
      value: rate(num(dig(run.summary, "goodput"))),
      detail: String(dig(run.summary, "direction") ?? "") || undefined,
    },
    {
      name: "connections",
      value: count(num(dig(run.summary, "streams")) ?? num(dig(run.parameters, "tcp", "streams"))),
      detail: String(dig(run.summary, "congestion_control") ?? "") || undefined,
    },
    { name: "retransmitted segments", value: count(num(dig(run.summary, "retransmits"))) },
    {
      name: "smoothed RTT",
      value: nanoseconds(num(dig(run.summary, "rtt_ns"))),
      detail: `window of ${bytes(num(dig(run.summary, "cwnd_bytes")))}`,
    },
  ],
  sections: [
    { title: "Throughput", overTime: true, drawings: [tcpOverTime, tcpRtt] },
    { title: "The hosts", overTime: true, drawings: [hostCpu, hostDrops] },
  ],
};
