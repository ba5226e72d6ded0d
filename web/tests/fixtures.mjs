// Makes documents by the contract of docs/report-data.md, and reports of them, as the exporter and `weir report` would.
// `node tests/fixtures.mjs FOLDER` writes a report of each.
import { mkdirSync, writeFileSync } from "node:fs";
import {
  dayRun,
  emptyRun,
  flowSummary,
  hostileRun,
  hostSeconds,
  outageDiagnosis,
  outageRun,
} from "./flow-fixtures.mjs";
import { loadRun } from "./load-fixtures.mjs";
import { document, random, report, run, series } from "./make.mjs";
import { hostileMediaRun, mediaDayRun, mergedRun, recvRun, sendRun, silentRun } from "./media-fixtures.mjs";
import { evilPacingRun, gamingRun, pacingRun } from "./pacing-fixtures.mjs";

export * from "./flow-fixtures.mjs";
export * from "./load-fixtures.mjs";
export * from "./make.mjs";
export * from "./media-fixtures.mjs";
export * from "./pacing-fixtures.mjs";

const RTT = [
  "at_ns",
  "sent",
  "lost",
  "rtt_min_ns",
  "rtt_p50_ns",
  "rtt_p90_ns",
  "rtt_p99_ns",
  "rtt_max_ns",
  "network_p50_ns",
];

export function rttRun(id, { base = 140_000, seconds = 60, parent = null, bin = 1, lost = 3, seed = 7 } = {}) {
  const next = random(seed);
  const rows = [];
  for (let i = 0; i < seconds / bin; i++) {
    const p50 = Math.round(base * (1 + 0.05 * next()));
    const slow = i === Math.floor(seconds / bin / 3);
    rows.push([
      i * bin * 1e9,
      100 * bin,
      i === 5 ? lost : 0,
      Math.round(p50 * 0.7),
      p50,
      Math.round(p50 * 1.4),
      Math.round(p50 * 2.2),
      slow ? base * 15 : Math.round(p50 * (2.6 + next())),
      Math.round(p50 * 0.6),
    ]);
  }
  const shares = [0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 1];
  const factor = [0.7, 0.72, 0.75, 0.8, 0.85, 0.92, 1, 1.15, 1.4, 1.6, 2.2, 2.5, 3.4, 8, 15];
  const lengths = Array.from({ length: 30 }, (_, i) => 100 + i * 270);
  const sent = (seconds / bin) * 100 * bin;
  return run(id, "rtt", {
    parent_run_id: parent,
    seconds,
    parameters: {
      rtt: {
        duration_ns: seconds * 1e9,
        interval_ns: 1e8,
        length: { from: 100, to: 8100 },
        window: { from: 10, to: 10 },
      },
    },
    summary: {
      sent,
      received: sent - lost,
      lost,
      loss: lost / sent,
      loss_interval: [lost / sent / 4, (lost / sent) * 3],
    },
    no_diagnosis: null,
    clock_steps: [],
    diagnosis: parent
      ? null
      : {
          findings: [
            {
              name: "rtt-level",
              severity: "information",
              direction: null,
              sentence: "the RTT of nine packets in ten is 196 us or less, as between close instances of one cloud.",
              evidence: [{ what: "P90", value: Math.round(base * 1.4), unit: "ns" }],
              query: `SELECT count(*) FROM rtt_packets WHERE run_id = ${id}`,
              confidence: { test: "order statistics", p_value: null, level: 0.95 },
              action: "Nothing.",
            },
          ],
          recommendation: null,
        },
    series: {
      rtt_seconds: series(RTT, rows, { bin_ns: bin * 1e9 }),
      rtt_distribution: series(
        ["share", "rtt_ns"],
        shares.map((share, i) => [share, Math.round(base * factor[i])]),
      ),
      rtt_by_length: series(
        ["length", "count", "lost", "rtt_p50_ns", "rtt_p90_ns", "rtt_p99_ns"],
        lengths.map((length) => [
          length,
          200,
          0,
          base + length * 6,
          Math.round(base * 1.4) + length * 9,
          base * 2 + length * 14,
        ]),
      ),
      rtt_by_position: series(
        ["position", "count", "lost", "rtt_p50_ns", "rtt_p90_ns", "rtt_p99_ns"],
        Array.from({ length: 10 }, (_, i) => [
          i,
          600,
          0,
          base + i * 2500,
          Math.round(base * 1.4) + i * 4000,
          base * 2 + i * 6000,
        ]),
      ),
      host_seconds: hostSeconds(rows.length, bin),
    },
  });
}

export function surveyRuns(first = 10) {
  const step = (flows, length, lost) => flowSummary("forward", { flows, length, sent: 468_829, lost, rate: 2.498e9 });
  const by_flows = [1, 2, 4, 8, 16].map((flows, i) => step(flows, 8100, [0, 2, 1, 0, 3][i]));
  const by_length = [
    [1200, 0],
    [1400, 1],
    [3900, 4],
    [6000, 6],
    [8100, 2],
    [8972, 11_500],
  ].map(([length, lost]) => step(8, length, lost));
  const tcpSteps = ["forward", "reverse"].flatMap((direction) =>
    [1, 2, 4, 8].map((streams, i) => ({
      direction,
      streams,
      bytes: 2e9,
      goodput: [6.8e9, 8.1e9, 9.2e9, 9.6e9][i] * (direction === "forward" ? 1 : 0.93),
      retransmits: i * 3,
      rtt_ns: 120_000,
      cwnd_bytes: 340_000,
      congestion_control: "bbr",
      hit_byte_limit: false,
    })),
  );
  const top = run(first, "survey", {
    seconds: 77,
    parameters: {
      format: { bytes_per_frame: 5_213_542, frame_rate: { numerator: 60000, denominator: 1001 } },
      max_flows: 16,
      step_ns: 3e9,
    },
    summary: {
      best: { flows: 8, length: 8100, loss: 0, rate: 2.498e9, held: true },
      by_flows,
      by_length,
      tcp: tcpSteps,
      tcp_ceiling: 1e10,
      bytes: 3e10,
      hit_byte_limit: false,
    },
  });
  top.diagnosis = {
    ...outageDiagnosis(first, 468_829, 11_500),
    answer: {
      verdict: "carries_with_repair",
      media_rate: 2.5e9,
      media_format: null,
      settings: null,
      worst: {
        name: "payload-cliff",
        severity: "fault",
        direction: "forward",
        brief: "payloads of 8972 bytes and more lose 2.45 %, shorter ones 0.0004 %",
      },
      basis: { sentence: "9 flow tests of 3.00 s at 2.500 Gbit/s; sender on schedule, no loss on hosts." },
      sentence: "Yes, with repair: this path carries 2.500 Gbit/s with 8 flows, payload 8100 bytes, FEC 3 per 640.",
      next: "confirm these settings, which were not tested together: 'weir flows far'.",
    },
    findings: [
      {
        name: "payload-cliff",
        severity: "fault",
        direction: "forward",
        sentence:
          "long packets are lost although the path MTU is 9001 bytes: payloads of 8972 bytes lose 2.45 %, those of 8100 and fewer 0.0004 %.",
        evidence: [
          { what: "longest payload without that loss", value: 8100, unit: "bytes" },
          { what: "payload", value: [1200, 1400, 3900, 6000, 8100, 8972], unit: "bytes" },
          { what: "packets lost", value: [0, 1, 4, 6, 2, 11_500], unit: null },
        ],
        query: `SELECT run_id, sum(lost) AS "packets lost" FROM stream_seconds WHERE run_id > ${first} GROUP BY run_id`,
        confidence: {
          test: "Mann-Whitney test of the loss of single flows below and above (Bonferroni over the lengths)",
          p_value: 8.6e-10,
          level: 0.9999999991,
        },
        action: "Use payloads of 8100 bytes.",
      },
      ...outageDiagnosis(first, 468_829, 0).findings.slice(1),
    ],
  };
  const parts = [
    run(first + 1, "mtu", {
      parent_run_id: first,
      seconds: 2,
      parameters: "mtu",
      summary: {
        forward: { interface_mtu: 9001, path_mtu: 9001, probes: 3 },
        reverse: { interface_mtu: 9001, path_mtu: 9001, probes: 3 },
      },
      series: {
        mtu_probes: series(
          ["direction", "at_ns", "size", "acknowledged", "refused_locally"],
          [
            ["forward", 1e8, 9001, 1, 0],
            ["forward", 3e8, 9216, 0, 1],
            ["reverse", 5e8, 9001, 1, 0],
          ],
        ),
      },
    }),
    rttRun(first + 2, { parent: first, seconds: 8, lost: 0 }),
    ...tcpSteps.slice(0, 4).map((summary, i) =>
      run(first + 3 + i, "tcp", {
        parent_run_id: first,
        seconds: 2,
        parameters: { tcp: { streams: summary.streams } },
        summary,
        series: {
          tcp_seconds: series(
            [
              "direction",
              "at_ns",
              "duration_ns",
              "streams",
              "stream",
              "bytes",
              "retransmits",
              "rtt_ns",
              "cwnd_bytes",
              "congestion_control",
            ],
            [0, 1].flatMap((t) =>
              Array.from({ length: summary.streams }, (_, s) => [
                "forward",
                t * 1e9,
                1e9,
                summary.streams,
                s,
                summary.goodput / 8 / summary.streams,
                1,
                120_000,
                340_000,
                "bbr",
              ]),
            ),
          ),
        },
      }),
    ),
    outageRun(first + 7, { parent: first, seconds: 14 }),
  ];
  return [top, ...parts];
}

/** The clock is set back by 5 s in the middle. */
export function clockStepRun(id = 50) {
  const base = rttRun(id, { seconds: 20 });
  const at = base.series.rtt_seconds.columns.at_ns.values;
  for (let i = 10; i < at.length; i++) at[i] -= 15e9;
  return base;
}

const LINK = [
  "direction",
  "at_ns",
  "duration_ns",
  "offered",
  "offered_bytes",
  "delivered",
  "delivered_bytes",
  "dropped_loss",
  "dropped_queue",
  "own_losses",
  "most_queued_bytes",
  "lateness_p50_ns",
  "lateness_p99_ns",
  "lateness_max_ns",
  "cpu_ns",
];

export function labRun(id = 70) {
  const rows = [];
  for (let t = 0; t < 12; t++)
    for (const direction of ["forward", "reverse"])
      rows.push([
        direction,
        t * 1e9,
        1e9,
        1000,
        1.4e6,
        990,
        1.386e6,
        10,
        0,
        0,
        2800 + t,
        40_000,
        180_000,
        900_000,
        5e6,
      ]);
  return run(id, "lab", {
    seconds: 12,
    target: "link",
    remote_host: null,
    no_diagnosis: "a run of kind lab has nothing to diagnose",
    clock_steps: [],
    summary: { fit: true, unfit_because: null, forward: { lateness: { p99: 180_000 } } },
    series: { link_seconds: series(LINK, rows, { bin_ns: 1e9 }) },
  });
}

/** A kind that this page has never heard of. */
export function strangeRun(id = 80) {
  const rows = Array.from({ length: 50 }, (_, i) => [i % 2 ? "b" : "a", i * 1e9, 10 + i, 3e6 + i * 1e4, i * 1000]);
  return run(id, "teleport", {
    seconds: 50,
    no_diagnosis: "runs of kind teleport have no diagnosis yet",
    clock_steps: [],
    parameters: { speed: "warp 9", nested: { depth: [1, 2, 3] } },
    summary: { arrived: 41 },
    series: {
      teleport_seconds: series(["side", "at_ns", "arrivals", "delay_ns", "bytes"], rows),
      places: series(
        ["place", "count"],
        [
          ["here", 3],
          ["there", 5],
        ],
      ),
    },
  });
}

export const FIXTURES = {
  survey: () => document(...surveyRuns()),
  rtt: () => document(rttRun(20)),
  flows: () => document(outageRun(21)),
  empty: () => document(emptyRun()),
  "empty-rtt": () => document(emptyRun(31, "rtt")),
  hostile: () => document(hostileRun()),
  "clock-step": () => document(clockStepRun()),
  lab: () => document(labRun()),
  strange: () => document(strangeRun()),
  recv: () => document(recvRun()),
  merged: () => document(mergedRun()),
  send: () => document(sendRun()),
  "send-stopped": () => document(sendRun(96, { seconds: 30, stop: true })),
  "hostile-media": () => document(hostileMediaRun()),
  "silent-media": () => document(silentRun()),
  "media-day": () => document(mediaDayRun()),
  load: () => document(loadRun(60, { failing: 40, real: true })),
  pacing: () => document(pacingRun(90, { paper: true })),
  gaming: () => document(gamingRun()),
  evilPacing: () => document(evilPacingRun()),
  compare: () =>
    document(
      rttRun(1),
      rttRun(2, { base: 210_000, seed: 9 }),
      outageRun(3),
      outageRun(4, { seconds: 20 }),
      ...surveyRuns(100),
    ),
  newer: () => ({ ...document(), version: 2, weir_version: "9.9.9" }),
  day: () => document(dayRun()),
};

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const folder = process.argv[2];
  if (!folder) throw new Error("which folder?");
  mkdirSync(folder, { recursive: true });
  for (const [name, make] of Object.entries(FIXTURES)) writeFileSync(`${folder}/${name}.html`, report(make()));
}
