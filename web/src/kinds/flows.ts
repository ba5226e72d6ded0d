// A multi-flow test.
import { askedRate, dig, loss, num } from "../data/facts";
import { Table } from "../data/table";
import { median } from "../drawings/columns";
import {
  attribution,
  burstLengths,
  flowTable,
  mediaRate,
  oneWayDelay,
  scheduleError,
  streamLoss,
} from "../drawings/flows";
import { hostCpu, hostDrops } from "../drawings/hosts";
import { flowDirections, flowLanes } from "../drawings/lanes";
import { lossTogether } from "../drawings/loss-windows";
import { bytes, count, nanoseconds, percent, rate } from "../format";
import type { Description, Figure } from "./describe";

export const flows: Description = {
  kind: "flows",
  name: "Multi-flow test",
  figures: (context) => {
    const { run } = context;
    const names = flowDirections(context);
    const figures: Figure[] = [];
    for (const name of names) {
      const way = names.length > 1 ? `, ${name}` : "";
      const found = loss(run, name);
      const seconds = Table.of(run, "stream_seconds").where("direction", name);
      const durations = seconds.numbers("duration_ns");
      const got =
        num(dig(run.summary, name, "rate")) ??
        median(
          seconds
            .numbers("bytes")
            .map((value, i) => (value === null || !durations[i] ? null : (value * 8e9) / durations[i])),
        );
      const asked = askedRate(run, name);
      figures.push(
        {
          name: `lost${way}`,
          value: found?.loss === null || !found ? "–" : percent(found.loss),
          detail: found
            ? `${count(found.lost)} of ${count(found.lost + found.received)}${found.interval ? `\n95 %: ${percent(found.interval[0])} to ${percent(found.interval[1])}` : ""}`
            : undefined,
        },
        { name: `rate${way}`, value: rate(got), detail: asked ? `requested ${rate(asked)}` : undefined },
      );
      const flowCount =
        num(dig(run.summary, name, "flows")) ??
        num(dig(run.parameters, "flows", "flows")) ??
        (Table.of(run, "flow_totals").where("direction", name).length || null);
      const length = num(dig(run.summary, name, "length")) ?? num(dig(run.parameters, "flows", "length"));
      figures.push({
        name: `flows${way}`,
        value: count(flowCount),
        detail: length !== null ? `${bytes(length)} of payload` : undefined,
      });
      const delay = num(dig(run.summary, name, "owd", "p99"));
      if (delay !== null && found && found.received > 0)
        figures.push({ name: `one-way delay, P99${way}`, value: nanoseconds(delay), detail: "an estimate" });
    }
    return figures;
  },
  sections: [
    { title: "Flows over time", overTime: true, drawings: [flowLanes("forward"), flowLanes("reverse")] },
    { title: "The stream", overTime: true, drawings: [mediaRate, streamLoss, oneWayDelay] },
    { title: "Loss and its location", drawings: [burstLengths, lossTogether, attribution, flowTable] },
    { title: "The hosts", overTime: true, drawings: [scheduleError, hostCpu, hostDrops] },
  ],
};
