// Load on an origin: requests of viewers and their results.
import { dig, num } from "../data/facts";
import { Table } from "../data/table";
import { hostCpu, hostDrops } from "../drawings/hosts";
import {
  loadDistribution,
  loadFailures,
  loadGenerator,
  loadRate,
  loadRequests,
  loadStalls,
  loadTimes,
  loadViewers,
  total,
} from "../drawings/load";
import { viewerBitrate, viewerStalls, viewerStartup } from "../drawings/viewers";
import { bytes, count, digits, nanoseconds, percent, plural, rate } from "../format";
import type { Context, Description, Figure, Headline } from "./describe";

function figures({ run }: Context): Figure[] {
  const requests = total(run, "requests");
  const failed = total(run, "failed");
  const all = dig(run.summary, "all");
  const each = num(dig(all, "requests_per_second"));
  const most = num(dig(run.summary, "most_viewers")) ?? Table.of(run, "viewer_seconds").max("viewers");
  const found: Figure[] = [
    { name: "requests", value: count(requests), detail: each === null ? undefined : `${digits(each)} per second` },
    {
      name: "time, P99",
      value: nanoseconds(num(dig(all, "last_byte", "p99"))),
      detail: `P50 ${nanoseconds(num(dig(all, "last_byte", "p50")))}`,
    },
    { name: "received", value: rate(num(dig(all, "bits_per_second"))), detail: bytes(total(run, "body_bytes")) },
    { name: "failed", value: requests > 0 ? percent(failed / requests) : "–", detail: count(failed) },
    { name: "viewers, at most", value: count(most) },
  ];
  const efficiency = num(dig(run.summary, "origin", "efficiency"));
  if (efficiency !== null) found.push({ name: "OUT/IN of the origin", value: digits(efficiency) });
  const ratio = num(dig(run.summary, "quality", "rebuffer_ratio"));
  if (ratio !== null)
    found.push({
      name: "rebuffer ratio",
      value: percent(ratio),
      detail: plural(num(dig(run.summary, "quality", "stalls")) ?? 0, "stall"),
    });
  return found;
}

function headlines({ run }: Context): Headline[] {
  const requests = total(run, "requests");
  const failed = total(run, "failed");
  const found: Headline[] = [];
  if (requests === 0) found.push({ severity: "fault", sentence: "no requests were sent." });
  else if (failed > 0)
    found.push({
      severity: failed * 100 > requests ? "fault" : "notice",
      sentence: `${percent(failed / requests)} of the requests failed.`,
    });
  else found.push({ severity: "information", sentence: `all ${plural(requests, "request")} succeeded.` });
  if (dig(run.summary, "generator_limited") === true)
    found.push({
      severity: "notice",
      sentence: "the generator, not the origin, was the limit; times include its own delay.",
    });
  return found;
}

export const load: Description = {
  kind: "load",
  name: "Load on an origin",
  figures,
  headlines,
  sections: [
    { title: "Requests", overTime: true, drawings: [loadRequests, loadTimes, loadRate, loadFailures] },
    { title: "Distribution of times", drawings: [loadDistribution] },
    { title: "Viewers", overTime: true, drawings: [loadViewers, loadStalls, loadGenerator] },
    { title: "Quality of sessions", drawings: [viewerStartup, viewerStalls, viewerBitrate] },
    { title: "The host", overTime: true, drawings: [hostCpu, hostDrops] },
  ],
};
