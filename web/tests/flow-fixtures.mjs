// Made-up flow tests: one with an outage, one over a day, one in which nothing came, one with markup in every text.
import { random, run, series } from "./make.mjs";

const HOST = [
  "side",
  "at_ns",
  "udp_rcvbuf_errors",
  "udp_in_errors",
  "udp_sndbuf_errors",
  "softnet_dropped",
  "softnet_squeezed",
  "interface_rx_dropped",
  "interface_tx_dropped",
  "cpu_busy_cores",
  "cpu_steal_cores",
  "cpu_weir_cores",
  "memory_bytes",
];

export function hostSeconds(n, bin = 1, dropped = 0) {
  const next = random(3);
  const rows = [];
  for (let i = 0; i < n; i++)
    for (const side of ["local", "remote"]) {
      rows.push([
        side,
        i * bin * 1e9,
        side === "remote" && i === 4 ? dropped : 0,
        0,
        0,
        0,
        0,
        0,
        0,
        0.6 + 0.2 * next(),
        0,
        0.3 + 0.1 * next(),
        41_000_000,
      ]);
    }
  return series(HOST, rows, { bin_ns: bin * 1e9 });
}

/** Parts of a flow run that all of them share; `flows` losses by flow come from `lossOf`. */
export function flowSummary(
  direction,
  { flows, sent, lost, length = 8100, rate = 2.5e9, socket = 0, host = 0, per_flow = [] },
) {
  const p = lost / sent;
  const half = 1.96 * Math.sqrt((p * (1 - p)) / sent) + 1.5 / sent;
  return {
    direction,
    asked: 2.5e9,
    rate,
    sent,
    received: sent - lost,
    lost,
    loss: p,
    loss_interval: [Math.max(0, p - half), p + half],
    attribution: {
      socket,
      host_receiver: host,
      host_sender: 0,
      network: lost - socket - host,
      estimated: false,
      overclaimed: false,
    },
    length,
    flows,
    late: 0,
    duplicates: 0,
    reordered: 0,
    owd: { count: sent - lost, min: 40_000, p50: 72_000, p90: 120_000, p99: 181_000, p999: 400_000, max: 1_900_000 },
    schedule_error: { count: 1000, min: 200, p50: 24_000, p90: 43_000, p99: 72_000, p999: 1_000_000, max: 2_100_000 },
    per_flow,
  };
}

const EVENTS = [
  "direction",
  "flow",
  "at_ns",
  "received",
  "lost",
  "late",
  "duplicates",
  "reversals",
  "bursts",
  "longest_burst",
  "socket_drops",
];
const STREAM = [
  "direction",
  "at_ns",
  "duration_ns",
  "received",
  "bytes",
  "lost",
  "late",
  "duplicates",
  "reordered",
  "owd_min_ns",
  "owd_p50_ns",
  "owd_p99_ns",
  "owd_max_ns",
];
const SENDER = [
  "direction",
  "at_ns",
  "duration_ns",
  "sent",
  "bytes",
  "refused",
  "schedule_error_p50_ns",
  "schedule_error_p99_ns",
  "schedule_error_max_ns",
  "cpu_ns",
];

/** Flow 3 is dark for 0.7 s at 12.4 s; flow 5 loses a few packets; flow 1 has reversals; the socket of flow 6 drops some. */
export function outageRun(id, { parent = null, seconds = 30 } = {}) {
  const next = random(11);
  const flows = 8;
  const perSecond = Math.round(2.5e9 / 8 / 8100);
  const each = Math.round(perSecond / flows);
  const stream = [];
  const sender = [];
  const bins = [];
  const events = [];
  const dark = Math.round(each * 0.7);
  let lostAll = 0;
  const totals = Array.from({ length: flows }, (_, flow) => ({
    flow,
    received: 0,
    lost: 0,
    reversals: 0,
    bursts: 0,
    longest: 0,
    drops: 0,
  }));
  for (let t = 0; t < seconds; t++) {
    let lost = 0;
    for (let flow = 0; flow < flows; flow++) {
      let l = 0;
      let reversals = 0;
      let drops = 0;
      if (flow === 3 && t === 12) l = dark;
      if (flow === 5 && t % 7 === 2) l = 2;
      if (flow === 1 && t % 9 === 4) reversals = 3;
      if (flow === 6 && t === 20) drops = l = 4;
      const total = totals[flow];
      total.received += each - l;
      total.lost += l;
      total.reversals += reversals;
      total.drops += drops;
      if (l > 0) {
        total.bursts += 1;
        total.longest = Math.max(total.longest, l);
      }
      lost += l;
      bins.push(["forward", flow, t * 1e9, each - l, (each - l) * 8100, l, reversals, 41_000, 70_000]);
      if (l + reversals + drops > 0)
        events.push(["forward", flow, t * 1e9, each - l, l, 0, 0, reversals, l > 0 ? 1 : 0, l, drops]);
    }
    lostAll += lost;
    const received = each * flows - lost;
    stream.push([
      "forward",
      t * 1e9,
      1e9,
      received,
      received * 8100,
      lost,
      0,
      0,
      12,
      40_000,
      Math.round(70_000 + 4000 * next()),
      Math.round(170_000 + 30_000 * next()),
      t === 17 ? 1_900_000 : 400_000,
    ]);
    sender.push([
      "forward",
      t * 1e9,
      1e9,
      each * flows,
      each * flows * 8100,
      0,
      Math.round(22_000 + 5000 * next()),
      Math.round(70_000 + 9000 * next()),
      t === 8 ? 2_100_000 : 300_000,
      2.4e8,
    ]);
  }
  const sent = each * flows * seconds;
  const per_flow = totals.map((one) => ({
    port: 4759 + one.flow,
    silences: one.flow === 3 ? 1 : 0,
    silent_ns: one.flow === 3 ? 7e8 : 0,
    longest_silence_ns: one.flow === 3 ? 7e8 : 0,
  }));
  return run(id, "flows", {
    parent_run_id: parent,
    seconds,
    note: "after the switch was replaced",
    tags: ["lab", "evening"],
    parameters: {
      flows: {
        flows,
        length: 8100,
        duration_ns: seconds * 1e9,
        format: { bytes_per_frame: 5_213_542, frame_rate: { numerator: 60000, denominator: 1001 } },
        unpaced: false,
      },
    },
    summary: {
      forward: flowSummary("forward", { flows, sent, lost: lostAll, socket: 4, per_flow }),
      reverse: null,
      clock: null,
    },
    diagnosis: parent ? null : outageDiagnosis(id, sent, lostAll),
    series: {
      stream_seconds: series(STREAM, stream, { bin_ns: 1e9 }),
      sender_seconds: series(SENDER, sender, { bin_ns: 1e9 }),
      flow_totals: series(
        [
          "direction",
          "flow",
          "port",
          "received",
          "bytes",
          "lost",
          "late",
          "duplicates",
          "reversals",
          "sequence_breaks",
          "bursts",
          "longest_burst",
          "socket_drops",
        ],
        totals.map((one) => [
          "forward",
          one.flow,
          4759 + one.flow,
          one.received,
          one.received * 8100,
          one.lost,
          0,
          0,
          one.reversals,
          one.bursts,
          one.bursts,
          one.longest,
          one.drops,
        ]),
      ),
      flow_bins: series(
        ["direction", "flow", "at_ns", "received", "bytes", "lost", "reversals", "owd_min_ns", "owd_p50_ns"],
        bins,
        { bin_ns: 1e9 },
      ),
      flow_events: series(EVENTS, events),
      flow_bursts: series(
        ["direction", "flow", "at_ns", "first_sequence", "length_packets"],
        [
          ["forward", 3, 12.4e9, 59_000, dark],
          ...[2, 9, 16, 23].map((t) => ["forward", 5, t * 1e9 + 3e8, t * each, 2]),
        ],
      ),
      stream_burst_lengths: series(
        ["direction", "length_packets", "bursts"],
        [
          ["forward", 1, dark - 40],
          ["forward", 2, 19],
          ["forward", 3, 4],
          ["forward", 9, 1],
        ],
      ),
      silences: series(["direction", "flow", "at_ns", "duration_ns"], [["forward", 3, 12.4e9, 7e8]]),
      loss_windows: series(
        ["direction", "at_ns", "duration_ns", "lost", "flows_losing"],
        [["forward", 12.4e9, 1e8, 380, 1]],
      ),
      host_seconds: hostSeconds(seconds, 1, 4),
    },
  });
}

export function outageDiagnosis(id, sent, lost) {
  return {
    findings: [
      {
        name: "outage",
        severity: "fault",
        direction: "forward",
        sentence: "flow 3 delivered nothing for 700 ms while the other 7 did: its route failed and was repaired.",
        evidence: [
          { what: "flow", value: 3, unit: null },
          { what: "length", value: 700_000_000, unit: "ns" },
          { what: "port", value: [4759, 4760, 4761, 4762], unit: null },
          { what: "packets lost", value: [0, 0, 0, lost], unit: null },
        ],
        query: `SELECT flow, unix_ns, duration_ns FROM silences\nWHERE run_id = ${id} AND duration_ns > 100000000 AND direction = 'forward'`,
        confidence: {
          test: "silence of one flow against the gaps of the others",
          p_value: 1.2e-12,
          level: 0.9999999,
          cause: { level: 0.905, because: "right in 18 of 19 random networks in which it was found" },
        },
        action:
          "Keep several flows, and FEC or ARQ across them: the loss of one flow is then an eighth of the packets.",
      },
      {
        name: "reversals",
        severity: "notice",
        direction: "forward",
        sentence: "packets of flow 1 overtook each other 9 times.",
        evidence: [{ what: "reversals", value: 9, unit: null }],
        query: `SELECT flow, sum(reversals) AS reversals FROM flow_seconds WHERE run_id = ${id} GROUP BY flow`,
        confidence: { test: "counted", p_value: null, level: 1 },
        action: "Mind it only if it grows.",
      },
      {
        name: "routes",
        severity: "information",
        direction: "forward",
        sentence: "all 8 flows see the same delay within 3 us: one route, or several that cannot be told apart.",
        evidence: [{ what: "route of each flow", value: ["A", "A", "A", "A", "A", "A", "A", "A"], unit: null }],
        query: `SELECT flow FROM flow_seconds WHERE run_id = ${id}`,
        confidence: { test: "gap between delay levels", p_value: null, level: 0.97 },
        action: "Nothing.",
      },
    ],
    recommendation: {
      flows: 8,
      payload: 8100,
      measured_together: true,
      recovery: { by: "fec", overhead: 0.05, repair_packets: 5, span_packets: 100, latency_ns: 2_592_000 },
      target_loss: 1e-9,
      expected_loss: lost / sent,
      expected_residual_loss: 2.1e-10,
      expected_residual_interval: [1.1e-10, 4.4e-10],
      simulated_residual_loss: [0, 0, 3e-8],
      simulated_packets: 1e8,
      check: null,
      sentence:
        "8 flows with 8100 bytes of payload, and FEC of 5 packets for every 100: 2.1e-8 % of the packets stay lost.",
    },
  };
}

/** Nothing came: interrupted after a second, no summary, no rows but the sender's. */
export function emptyRun(id = 30, kind = "flows") {
  return run(id, kind, {
    seconds: 1,
    outcome: "interrupted",
    reason: "interrupted by the user",
    no_diagnosis: "no packet was received, so that nothing can be said of the path",
    clock_steps: [],
    parameters: { flows: { flows: 8, length: 8100 } },
    series:
      kind === "flows"
        ? { sender_seconds: series(SENDER, [["forward", 0, 1e9, 38_000, 3e8, 0, 24_000, 70_000, 90_000, 2e8]]) }
        : {},
  });
}

export const EVIL = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'"&\u202e`;

/** Markup in every text that can come from outside. */
export function hostileRun(id = 40) {
  const base = outageRun(id);
  base.target = EVIL;
  base.local_host = { name: EVIL, [EVIL]: EVIL };
  base.remote_host = { name: EVIL };
  base.note = `</script>${EVIL}\nsecond line`;
  base.tags = [EVIL];
  base.reason = EVIL;
  base.parameters = { [EVIL]: { deep: EVIL }, flows: base.parameters.flows };
  for (const finding of base.diagnosis.findings) {
    finding.sentence = EVIL;
    finding.action = EVIL;
    finding.query = EVIL;
    finding.confidence.test = EVIL;
    finding.evidence.push({ what: EVIL, value: EVIL, unit: EVIL });
  }
  base.diagnosis.recommendation.sentence = EVIL;
  base.series[EVIL] = series(
    [EVIL, "at_ns"],
    [
      [1, 0],
      [2, 1e9],
    ],
  );
  return base;
}

/** A day of 16 flows: one second of it is bad, on flow 9, at 17:00:00 of the run. */
export function dayRun(id = 60) {
  const next = random(5);
  const SECONDS = 86_400;
  const BAD = 61_200;
  const flows = 16;
  const perSecond = 38_580;
  const each = Math.round(perSecond / flows);
  const stream = [];
  const sender = [];
  for (let t = 0; t < SECONDS; t++) {
    const lost = t === BAD ? 2100 : next() < 0.02 ? 1 : 0;
    stream.push([
      "forward",
      t * 1e9,
      1e9,
      perSecond - lost,
      (perSecond - lost) * 8100,
      lost,
      0,
      0,
      Math.floor(next() * 20),
      40_000,
      70_000 + Math.floor(next() * 6000),
      170_000 + Math.floor(next() * 40_000),
      300_000 + Math.floor(next() * 500_000),
    ]);
    sender.push([
      "forward",
      t * 1e9,
      1e9,
      perSecond,
      perSecond * 8100,
      0,
      22_000 + Math.floor(next() * 5000),
      70_000 + Math.floor(next() * 9000),
      200_000 + Math.floor(next() * 900_000),
      240_000_000,
    ]);
  }
  const bin = 86.4;
  const bins = [];
  for (let i = 0; i < 1000; i++)
    for (let flow = 0; flow < flows; flow++) {
      const n = Math.round(each * bin);
      bins.push(["forward", flow, i * bin * 1e9, n, n * 8100, 0, 0, 41_000, 70_000 + Math.floor(next() * 3000)]);
    }
  const events = [];
  for (let i = 0; i < 200_000; i++)
    events.push([
      "forward",
      Math.floor(next() * flows),
      Math.floor((i / 200_000) * SECONDS) * 1e9,
      each - 1,
      next() < 0.5 ? 1 : 0,
      0,
      0,
      1,
      1,
      1,
      0,
    ]);
  events.push(["forward", 9, BAD * 1e9, 0, 2100, 0, 0, 0, 1, 2100, 0]);
  events.sort((a, b) => a[2] - b[2]);
  const bursts = [["forward", 9, BAD * 1e9 + 1e8, 147_000_000, 2100]];
  for (let i = 1; i < 50_000; i++)
    bursts.push([
      "forward",
      Math.floor(next() * flows),
      Math.floor(next() * SECONDS) * 1e9,
      Math.floor(next() * 1e8),
      2 + Math.floor(next() * 4),
    ]);
  const sent = perSecond * SECONDS;
  return run(id, "flows", {
    seconds: SECONDS,
    parameters: {
      flows: {
        flows,
        length: 8100,
        format: { bytes_per_frame: 5_213_542, frame_rate: { numerator: 60000, denominator: 1001 } },
      },
    },
    summary: { forward: flowSummary("forward", { flows, sent, lost: 104_000 }), reverse: null },
    diagnosis: outageDiagnosis(id, sent, 104_000),
    series: {
      stream_seconds: series(STREAM, stream, { bin_ns: 1e9 }),
      sender_seconds: series(SENDER, sender, { bin_ns: 1e9 }),
      flow_totals: series(
        [
          "direction",
          "flow",
          "port",
          "received",
          "bytes",
          "lost",
          "late",
          "duplicates",
          "reversals",
          "sequence_breaks",
          "bursts",
          "longest_burst",
          "socket_drops",
        ],
        Array.from({ length: flows }, (_, flow) => [
          "forward",
          flow,
          4759 + flow,
          each * SECONDS,
          each * SECONDS * 8100,
          6000,
          0,
          0,
          12_000,
          3000,
          3000,
          flow === 9 ? 2100 : 5,
          0,
        ]),
      ),
      flow_bins: series(
        ["direction", "flow", "at_ns", "received", "bytes", "lost", "reversals", "owd_min_ns", "owd_p50_ns"],
        bins,
        { bin_ns: bin * 1e9 },
      ),
      flow_events: series(EVENTS, events),
      flow_bursts: series(["direction", "flow", "at_ns", "first_sequence", "length_packets"], bursts),
      stream_burst_lengths: series(
        ["direction", "length_packets", "bursts"],
        [
          ["forward", 1, 90_000],
          ["forward", 2, 4000],
          ["forward", 3, 800],
          ["forward", 7, 30],
          ["forward", 2100, 1],
        ],
      ),
      silences: series(["direction", "flow", "at_ns", "duration_ns"], [["forward", 9, BAD * 1e9 + 5e7, 9.2e8]]),
      host_seconds: hostSeconds(1440, 60),
    },
  });
}
