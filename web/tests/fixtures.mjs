// Makes documents by the contract of docs/report-data.md, and reports of them, as the exporter and `weir report` would.
// `node tests/fixtures.mjs FOLDER` writes a report of each.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const START = 1795239128315371242; // as an exporter writes it: an integer beyond 2^53
const PLACE = '<script type="application/gzip;base64" id="weir-data"></script>';
export const PAGE = new URL("../dist/index.html", import.meta.url);

/** The page with a document in it. */
export function report(document) {
  const page = readFileSync(PAGE, "utf8");
  if (page.split(PLACE).length !== 2) throw new Error("the page has no place for data");
  const data = gzipSync(JSON.stringify(document)).toString("base64");
  return page.replace(PLACE, () => PLACE.replace("></", `>${data}</`));
}

/** Random numbers that are the same each time (mulberry32). */
export function random(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const UNITS = [
  [/_ns$/, "ns"],
  [/bytes$|^length$|^size$/, "bytes"],
  [/_cores$/, "cores"],
];
const unitOf = (name) => UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? null;

/** A series from its column names and rows. */
export function series(names, rows, { bin_ns = null, left_out = 0, of = rows.length + left_out } = {}) {
  const columns = {};
  names.forEach((name, i) => {
    columns[name] = { unit: unitOf(name), values: rows.map((row) => row[i] ?? null) };
  });
  return { rows: of, bin_ns, left_out, columns };
}

export function run(id, kind, more = {}) {
  const seconds = more.seconds ?? 20;
  delete more.seconds;
  return {
    run_id: id,
    parent_run_id: null,
    kind,
    target: "far.example.net",
    started_unix_ns: START,
    ended_unix_ns: START + seconds * 1e9,
    last_unix_ns: START + seconds * 1e9,
    outcome: "finished",
    reason: null,
    local_host: { name: "studio-a", kernel: "6.18.44", cpu: "AMD EPYC", cores: 2, mtu: 9001, cloud: null },
    remote_host: { name: "studio-b", kernel: "6.18.44", cpu: "AMD EPYC", cores: 2, mtu: 9001, cloud: null },
    parameters: {},
    summary: null,
    weir_version: "0.1.0",
    merged_records: 0,
    lost_records: 0,
    note: "",
    tags: [],
    diagnosis: null,
    no_diagnosis: null,
    series: {},
    ...more,
  };
}

export function document(...runs) {
  return { format: "weir-report-data", version: 1, weir_version: "0.1.0", made_unix_ns: START + 3600e9, runs };
}

const RTT = ["at_ns", "sent", "lost", "rtt_min_ns", "rtt_p50_ns", "rtt_p90_ns", "rtt_p99_ns", "rtt_max_ns", "network_p50_ns"];

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
    parameters: { rtt: { duration_ns: seconds * 1e9, interval_ns: 1e8, length: { from: 100, to: 8100 }, window: { from: 10, to: 10 } } },
    summary: { sent, received: sent - lost, lost, loss: lost / sent, loss_interval: [lost / sent / 4, (lost / sent) * 3] },
    no_diagnosis: null,
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
      rtt_distribution: series(["share", "rtt_ns"], shares.map((share, i) => [share, Math.round(base * factor[i])])),
      rtt_by_length: series(
        ["length", "count", "lost", "rtt_p50_ns", "rtt_p90_ns", "rtt_p99_ns"],
        lengths.map((length) => [length, 200, 0, base + length * 6, Math.round(base * 1.4) + length * 9, base * 2 + length * 14]),
      ),
      rtt_by_position: series(
        ["position", "count", "lost", "rtt_p50_ns", "rtt_p90_ns", "rtt_p99_ns"],
        Array.from({ length: 10 }, (_, i) => [i, 600, 0, base + i * 2500, Math.round(base * 1.4) + i * 4000, base * 2 + i * 6000]),
      ),
      host_seconds: hostSeconds(rows.length, bin),
    },
  });
}

const HOST = ["side", "at_ns", "udp_rcvbuf_errors", "udp_in_errors", "udp_sndbuf_errors", "softnet_dropped", "softnet_squeezed", "interface_rx_dropped", "interface_tx_dropped", "cpu_busy_cores", "cpu_steal_cores", "cpu_weir_cores", "memory_bytes"];

function hostSeconds(n, bin = 1, dropped = 0) {
  const next = random(3);
  const rows = [];
  for (let i = 0; i < n; i++)
    for (const side of ["local", "remote"]) {
      rows.push([side, i * bin * 1e9, side === "remote" && i === 4 ? dropped : 0, 0, 0, 0, 0, 0, 0, 0.6 + 0.2 * next(), 0, 0.3 + 0.1 * next(), 41_000_000]);
    }
  return series(HOST, rows, { bin_ns: bin * 1e9 });
}

/** Parts of a flow run that all of them share; `flows` losses by flow come from `lossOf`. */
export function flowSummary(direction, { flows, sent, lost, length = 8100, rate = 2.5e9, socket = 0, host = 0, per_flow = [] }) {
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
    attribution: { socket, host_receiver: host, host_sender: 0, network: lost - socket - host, estimated: false, overclaimed: false },
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

const EVENTS = ["direction", "flow", "at_ns", "received", "lost", "late", "duplicates", "reversals", "bursts", "longest_burst", "socket_drops"];
const STREAM = ["direction", "at_ns", "duration_ns", "received", "bytes", "lost", "late", "duplicates", "reordered", "owd_min_ns", "owd_p50_ns", "owd_p99_ns", "owd_max_ns"];
const SENDER = ["direction", "at_ns", "duration_ns", "sent", "bytes", "refused", "schedule_error_p50_ns", "schedule_error_p99_ns", "schedule_error_max_ns", "cpu_ns"];

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
  const totals = Array.from({ length: flows }, (_, flow) => ({ flow, received: 0, lost: 0, reversals: 0, bursts: 0, longest: 0, drops: 0 }));
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
      if (l + reversals + drops > 0) events.push(["forward", flow, t * 1e9, each - l, l, 0, 0, reversals, l > 0 ? 1 : 0, l, drops]);
    }
    lostAll += lost;
    const received = each * flows - lost;
    stream.push(["forward", t * 1e9, 1e9, received, received * 8100, lost, 0, 0, 12, 40_000, Math.round(70_000 + 4000 * next()), Math.round(170_000 + 30_000 * next()), t === 17 ? 1_900_000 : 400_000]);
    sender.push(["forward", t * 1e9, 1e9, each * flows, each * flows * 8100, 0, Math.round(22_000 + 5000 * next()), Math.round(70_000 + 9000 * next()), t === 8 ? 2_100_000 : 300_000, 2.4e8]);
  }
  const sent = each * flows * seconds;
  const per_flow = totals.map((one) => ({ port: 4759 + one.flow, silences: one.flow === 3 ? 1 : 0, silent_ns: one.flow === 3 ? 7e8 : 0, longest_silence_ns: one.flow === 3 ? 7e8 : 0 }));
  return run(id, "flows", {
    parent_run_id: parent,
    seconds,
    note: "after the switch was replaced",
    tags: ["lab", "evening"],
    parameters: { flows: { flows, length: 8100, duration_ns: seconds * 1e9, format: { bytes_per_frame: 5_213_542, frame_rate: { numerator: 60000, denominator: 1001 } }, unpaced: false } },
    summary: { forward: flowSummary("forward", { flows, sent, lost: lostAll, socket: 4, per_flow }), reverse: null, clock: null },
    diagnosis: parent ? null : outageDiagnosis(id, sent, lostAll),
    series: {
      stream_seconds: series(STREAM, stream, { bin_ns: 1e9 }),
      sender_seconds: series(SENDER, sender, { bin_ns: 1e9 }),
      flow_totals: series(
        ["direction", "flow", "port", "received", "bytes", "lost", "late", "duplicates", "reversals", "sequence_breaks", "bursts", "longest_burst", "socket_drops"],
        totals.map((one) => ["forward", one.flow, 4759 + one.flow, one.received, one.received * 8100, one.lost, 0, 0, one.reversals, one.bursts, one.bursts, one.longest, one.drops]),
      ),
      flow_bins: series(["direction", "flow", "at_ns", "received", "bytes", "lost", "reversals", "owd_min_ns", "owd_p50_ns"], bins, { bin_ns: 1e9 }),
      flow_events: series(EVENTS, events),
      flow_bursts: series(["direction", "flow", "at_ns", "first_sequence", "length_packets"], [["forward", 3, 12.4e9, 59_000, dark], ...[2, 9, 16, 23].map((t) => ["forward", 5, t * 1e9 + 3e8, t * each, 2])]),
      stream_burst_lengths: series(["direction", "length_packets", "bursts"], [["forward", 1, dark - 40], ["forward", 2, 19], ["forward", 3, 4], ["forward", 9, 1]]),
      silences: series(["direction", "flow", "at_ns", "duration_ns"], [["forward", 3, 12.4e9, 7e8]]),
      loss_windows: series(["direction", "at_ns", "duration_ns", "lost", "flows_losing"], [["forward", 12.4e9, 1e8, 380, 1]]),
      host_seconds: hostSeconds(seconds, 1, 4),
    },
  });
}

function outageDiagnosis(id, sent, lost) {
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
        confidence: { test: "silence of one flow against the gaps of the others", p_value: 1.2e-12, level: 0.9999999 },
        action: "Keep several flows, and FEC or ARQ across them: the loss of one flow is then an eighth of the packets.",
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
      sentence: "8 flows with 8100 bytes of payload, and FEC of 5 packets for every 100: 2.1e-8 % of the packets stay lost.",
    },
  };
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
  const tcpSteps = ["forward", "reverse"].flatMap((direction) => [1, 2, 4, 8].map((streams, i) => ({ direction, streams, bytes: 2e9, goodput: [6.8e9, 8.1e9, 9.2e9, 9.6e9][i] * (direction === "forward" ? 1 : 0.93), retransmits: i * 3, rtt_ns: 120_000, cwnd_bytes: 340_000, congestion_control: "bbr", hit_byte_limit: false })));
  const top = run(first, "survey", {
    seconds: 77,
    parameters: { format: { bytes_per_frame: 5_213_542, frame_rate: { numerator: 60000, denominator: 1001 } }, max_flows: 16, step_ns: 3e9 },
    summary: { best: { flows: 8, length: 8100, loss: 0, rate: 2.498e9, held: true }, by_flows, by_length, tcp: tcpSteps, tcp_ceiling: 1e10, bytes: 3e10, hit_byte_limit: false },
  });
  top.diagnosis = {
    ...outageDiagnosis(first, 468_829, 11_500),
    findings: [
      {
        name: "payload-cliff",
        severity: "fault",
        direction: "forward",
        sentence: "long packets are lost although the path MTU is 9001 bytes: payloads of 8972 bytes lose 2.45 %, those of 8100 and fewer 0.0004 %.",
        evidence: [
          { what: "longest payload without that loss", value: 8100, unit: "bytes" },
          { what: "payload", value: [1200, 1400, 3900, 6000, 8100, 8972], unit: "bytes" },
          { what: "packets lost", value: [0, 1, 4, 6, 2, 11_500], unit: null },
        ],
        query: `SELECT run_id, sum(lost) AS "packets lost" FROM stream_seconds WHERE run_id > ${first} GROUP BY run_id`,
        confidence: { test: "Mann-Whitney test of the loss of single flows below and above (Bonferroni over the lengths)", p_value: 8.6e-10, level: 0.9999999991 },
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
      summary: { forward: { interface_mtu: 9001, path_mtu: 9001, probes: 3 }, reverse: { interface_mtu: 9001, path_mtu: 9001, probes: 3 } },
      series: { mtu_probes: series(["direction", "at_ns", "size", "acknowledged", "refused_locally"], [["forward", 1e8, 9001, 1, 0], ["forward", 3e8, 9216, 0, 1], ["reverse", 5e8, 9001, 1, 0]]) },
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
            ["direction", "at_ns", "duration_ns", "streams", "stream", "bytes", "retransmits", "rtt_ns", "cwnd_bytes", "congestion_control"],
            [0, 1].flatMap((t) => Array.from({ length: summary.streams }, (_, s) => ["forward", t * 1e9, 1e9, summary.streams, s, summary.goodput / 8 / summary.streams, 1, 120_000, 340_000, "bbr"])),
          ),
        },
      }),
    ),
    outageRun(first + 7, { parent: first, seconds: 14 }),
  ];
  return [top, ...parts];
}

/** Nothing came: interrupted after a second, no summary, no rows but the sender's. */
export function emptyRun(id = 30, kind = "flows") {
  return run(id, kind, {
    seconds: 1,
    outcome: "interrupted",
    reason: "interrupted by the user",
    no_diagnosis: "no packet was received, so that nothing can be said of the path",
    parameters: { flows: { flows: 8, length: 8100 } },
    series: kind === "flows" ? { sender_seconds: series(SENDER, [["forward", 0, 1e9, 38_000, 3e8, 0, 24_000, 70_000, 90_000, 2e8]]) } : {},
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
  base.series[EVIL] = series([EVIL, "at_ns"], [[1, 0], [2, 1e9]]);
  return base;
}

/** The clock is set back by 5 s in the middle. */
export function clockStepRun(id = 50) {
  const base = rttRun(id, { seconds: 20 });
  const at = base.series.rtt_seconds.columns.at_ns.values;
  for (let i = 10; i < at.length; i++) at[i] -= 15e9;
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
    stream.push(["forward", t * 1e9, 1e9, perSecond - lost, (perSecond - lost) * 8100, lost, 0, 0, Math.floor(next() * 20), 40_000, 70_000 + Math.floor(next() * 6000), 170_000 + Math.floor(next() * 40_000), 300_000 + Math.floor(next() * 500_000)]);
    sender.push(["forward", t * 1e9, 1e9, perSecond, perSecond * 8100, 0, 22_000 + Math.floor(next() * 5000), 70_000 + Math.floor(next() * 9000), 200_000 + Math.floor(next() * 900_000), 240_000_000]);
  }
  const bin = 86.4;
  const bins = [];
  for (let i = 0; i < 1000; i++)
    for (let flow = 0; flow < flows; flow++) {
      const n = Math.round(each * bin);
      bins.push(["forward", flow, i * bin * 1e9, n, n * 8100, 0, 0, 41_000, 70_000 + Math.floor(next() * 3000)]);
    }
  const events = [];
  for (let i = 0; i < 200_000; i++) events.push(["forward", Math.floor(next() * flows), Math.floor((i / 200_000) * SECONDS) * 1e9, each - 1, next() < 0.5 ? 1 : 0, 0, 0, 1, 1, 1, 0]);
  events.push(["forward", 9, BAD * 1e9, 0, 2100, 0, 0, 0, 1, 2100, 0]);
  events.sort((a, b) => a[2] - b[2]);
  const bursts = [["forward", 9, BAD * 1e9 + 1e8, 147_000_000, 2100]];
  for (let i = 1; i < 50_000; i++) bursts.push(["forward", Math.floor(next() * flows), Math.floor(next() * SECONDS) * 1e9, Math.floor(next() * 1e8), 2 + Math.floor(next() * 4)]);
  const sent = perSecond * SECONDS;
  return run(id, "flows", {
    seconds: SECONDS,
    parameters: { flows: { flows, length: 8100, format: { bytes_per_frame: 5_213_542, frame_rate: { numerator: 60000, denominator: 1001 } } } },
    summary: { forward: flowSummary("forward", { flows, sent, lost: 104_000 }), reverse: null },
    diagnosis: outageDiagnosis(id, sent, 104_000),
    series: {
      stream_seconds: series(STREAM, stream, { bin_ns: 1e9 }),
      sender_seconds: series(SENDER, sender, { bin_ns: 1e9 }),
      flow_totals: series(
        ["direction", "flow", "port", "received", "bytes", "lost", "late", "duplicates", "reversals", "sequence_breaks", "bursts", "longest_burst", "socket_drops"],
        Array.from({ length: flows }, (_, flow) => ["forward", flow, 4759 + flow, each * SECONDS, each * SECONDS * 8100, 6000, 0, 0, 12_000, 3000, 3000, flow === 9 ? 2100 : 5, 0]),
      ),
      flow_bins: series(["direction", "flow", "at_ns", "received", "bytes", "lost", "reversals", "owd_min_ns", "owd_p50_ns"], bins, { bin_ns: bin * 1e9 }),
      flow_events: series(EVENTS, events),
      flow_bursts: series(["direction", "flow", "at_ns", "first_sequence", "length_packets"], bursts),
      stream_burst_lengths: series(["direction", "length_packets", "bursts"], [["forward", 1, 90_000], ["forward", 2, 4000], ["forward", 3, 800], ["forward", 7, 30], ["forward", 2100, 1]]),
      silences: series(["direction", "flow", "at_ns", "duration_ns"], [["forward", 9, BAD * 1e9 + 5e7, 9.2e8]]),
      host_seconds: hostSeconds(1440, 60),
    },
  });
}

const LINK = ["direction", "at_ns", "duration_ns", "offered", "offered_bytes", "delivered", "delivered_bytes", "dropped_loss", "dropped_queue", "own_losses", "most_queued_bytes", "lateness_p50_ns", "lateness_p99_ns", "lateness_max_ns", "cpu_ns"];

export function labRun(id = 70) {
  const rows = [];
  for (let t = 0; t < 12; t++) for (const direction of ["forward", "reverse"]) rows.push([direction, t * 1e9, 1e9, 1000, 1.4e6, 990, 1.386e6, 10, 0, 0, 2800 + t, 40_000, 180_000, 900_000, 5e6]);
  return run(id, "lab", {
    seconds: 12,
    target: "link",
    remote_host: null,
    no_diagnosis: "a run of kind lab has nothing to diagnose",
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
    parameters: { speed: "warp 9", nested: { depth: [1, 2, 3] } },
    summary: { arrived: 41 },
    series: { teleport_seconds: series(["side", "at_ns", "arrivals", "delay_ns", "bytes"], rows), places: series(["place", "count"], [["here", 3], ["there", 5]]) },
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
  compare: () => document(rttRun(1), rttRun(2, { base: 210_000, seed: 9 }), outageRun(3), outageRun(4, { seconds: 20 }), ...surveyRuns(100)),
  newer: () => ({ ...document(), version: 2, weir_version: "9.9.9" }),
  day: () => document(dayRun()),
};

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const folder = process.argv[2];
  if (!folder) throw new Error("which folder?");
  mkdirSync(folder, { recursive: true });
  for (const [name, make] of Object.entries(FIXTURES)) writeFileSync(`${folder}/${name}.html`, report(make()));
}
