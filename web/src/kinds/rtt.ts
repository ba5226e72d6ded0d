// A windowed RTT test.
import { dig, num, quantile } from "../data/facts";
import { Table } from "../data/table";
import { hostCpu, hostDrops } from "../drawings/hosts";
import { rttByLength, rttByPosition, rttDistribution, rttLostOverTime, rttOverTime } from "../drawings/rtt";
import { count, nanoseconds, percent } from "../format";
import type { Description } from "./describe";

export const rtt: Description = {
  kind: "rtt",
  name: "Windowed RTT",
  figures: ({ run }) => {
    const seconds = Table.of(run, "rtt_seconds");
    const sent = num(dig(run.summary, "sent")) ?? seconds.sum("sent");
    const lost = num(dig(run.summary, "lost")) ?? seconds.sum("lost");
    const high = dig(run.summary, "loss_interval");
    return [
      { name: "RTT, P50", value: nanoseconds(quantile(run, 0.5) ?? num(dig(run.summary, "rtt", "p50"))) },
      { name: "RTT, P90", value: nanoseconds(quantile(run, 0.9) ?? num(dig(run.summary, "rtt", "p90"))) },
      { name: "RTT, P99", value: nanoseconds(quantile(run, 0.99) ?? num(dig(run.summary, "rtt", "p99"))) },
      {
        name: "lost",
        value: sent > 0 ? percent(lost / sent) : "–",
        detail: `${count(lost)} of ${count(sent)}${Array.isArray(high) ? `\n95 %: ${percent(Number(high[0]))} to ${percent(Number(high[1]))}` : ""}`,
      },
    ];
  },
  sections: [
    { title: "Round-trip time", overTime: true, drawings: [rttOverTime, rttLostOverTime] },
    { title: "RTT by length and position", drawings: [rttDistribution, rttByLength, rttByPosition] },
    { title: "The hosts", overTime: true, drawings: [hostCpu, hostDrops] },
  ],
};
