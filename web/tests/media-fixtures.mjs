// Made-up runs of `weir send` and `weir recv`: a flow that goes dark for a second, two senders of which one dies, a day.
import { EVIL, hostSeconds } from "./flow-fixtures.mjs";
import { random, run, series } from "./make.mjs";

const SEND = [
  "at_ns",
  "duration_ns",
  "receiver_rtt_ns",
  "frames",
  "frames_skipped",
  "sources",
  "bytes",
  "repairs",
  "retransmitted",
  "trials",
  "refused",
  "unsent",
  "rejected",
  "fec_sources",
  "fec_window",
  "cpu_ns",
];
const RECV = [
  "sender",
  "at_ns",
  "duration_ns",
  "rtt_ns",
  "received",
  "bytes",
  "repairs",
  "lost",
  "recovered",
  "retransmitted",
  "overtaken",
  "elsewhere",
  "unrepaired",
  "late",
  "duplicates",
  "rejected",
  "asked",
  "socket_drops",
  "cpu_ns",
];
const FRAMES = ["at_ns", "duration_ns", "frames", "damaged", "lost", "dropped", "verified", "unequal", "budget_ns"];
const QUANTILES = ["count", "min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"];
const FRAME = [...FRAMES, ...["delay", "used"].flatMap((name) => QUANTILES.map((one) => `${name}_${one}`))];
const CHANGE = ["sender", "flow", "at_ns", "state"];
const EVENT = ["at_ns", "sender", "event", "detail", "state"];

/** Packets of 8100 bytes a second at 2.49 Gbit/s; 60 frames of them. */
const PACKETS = 38_400;
const BUDGET = 20e6;
export const FLOWS = 16;
/** When the flow is dark, second of the run, and which. */
export const DARK = { second: 20, flow: 5 };

const quantiles = (count, p50, max) =>
  count === 0
    ? [0, null, null, null, null, null, null]
    : [count, Math.round(p50 * 0.7), p50, Math.round(p50 * 1.2), Math.round(p50 * 1.5), Math.round(p50 * 1.7), max];

/** The flow that goes dark: left after 30 ms, tried again after a second. */
function darkFlow(sender = 0) {
  const at = DARK.second * 1e9;
  return [
    [sender, DARK.flow, at + 30e6, "silent"],
    [sender, DARK.flow, at + 1.03e9, "trial"],
    [sender, DARK.flow, at + 1.08e9, "used"],
  ];
}

/** A second of a receiver: what was lost is repaired in the same second, but for what is left. */
function received(next, second, { sender = 0, lost, left = 0, elsewhere = 0, late = 0 }) {
  const overtaken = Math.min(1, lost - left - elsewhere);
  const rest = Math.max(0, lost - left - elsewhere - overtaken);
  const recovered = Math.floor(rest * 0.8);
  const retransmitted = rest - recovered;
  return [
    sender,
    second * 1e9,
    1e9,
    3e6 + Math.floor(next() * 2e5),
    PACKETS - lost + retransmitted + overtaken,
    (PACKETS - lost + retransmitted + overtaken + 3200) * 8100,
    3200,
    lost,
    recovered,
    retransmitted,
    overtaken,
    elsewhere,
    left,
    late,
    0,
    0,
    retransmitted * 2,
    0,
    // One thread serves all senders: its time stands in the row of the first that is there.
    sender === 0 || second >= 15 ? 550e6 + Math.floor(next() * 3e7) : 0,
  ];
}

function frames(next, second, { damaged = 0, lost = 0, dropped = 0, slow = false } = {}) {
  const whole = 60 - damaged - lost - dropped;
  const used = slow ? 9e6 : 3_800_000 + Math.floor(next() * 200_000);
  return [
    second * 1e9,
    1e9,
    whole,
    damaged,
    lost,
    dropped,
    whole,
    0,
    BUDGET,
    ...[60, -100_000, 400_000, 480_000, 600_000, 700_000, 900_000].map((by, i) =>
      i === 0 ? by : BUDGET + by + Math.floor(next() * 20_000),
    ),
    ...quantiles(whole, used, slow ? 19_400_000 : used * 2),
  ];
}

/** The summary that goes with these seconds. */
function recvSummary(rows, given, from) {
  const sum = (all, names, name) => all.reduce((n, row) => n + row[names.indexOf(name)], 0);
  const senders = from.map((name, index) => {
    const own = rows.filter((row) => row[0] === index);
    const counts = ["bytes", "received", "repairs", "lost", "recovered", "retransmitted", "overtaken", "elsewhere"];
    const more = ["unrepaired", "late", "duplicates", "rejected", "socket_drops"];
    return {
      from: name,
      sessions: 1,
      ...Object.fromEntries([...counts, ...more].map((one) => [one, sum(own, RECV, one)])),
      rtt_ns: 3e6,
    };
  });
  const frames = Object.fromEntries(
    ["damaged", "lost", "dropped", "verified", "unequal"].map((one) => [`frames_${one}`, sum(given, FRAME, one)]),
  );
  return { budget_ns: BUDGET, frames: sum(given, FRAME, "frames"), ...frames, senders };
}

/** One flow of sixteen is dark for a second; thin loss on all; nothing stays lost. */
export function recvRun(id = 90, { seconds = 60, more = {} } = {}) {
  const next = random(11);
  const rows = [];
  const given = [];
  for (let t = 0; t < seconds; t++) {
    const dark = t === DARK.second;
    rows.push(received(next, t, { lost: dark ? 90 : 10 + Math.floor(next() * 10) }));
    given.push(frames(next, t, { slow: dark }));
  }
  return run(id, "recv", {
    seconds,
    parameters: { from: ["studio-b:5004"], flows: FLOWS, latency_ns: BUDGET },
    summary: recvSummary(rows, given, ["studio-b:5004"]),
    series: {
      recv_seconds: series(RECV, rows),
      frame_seconds: series(FRAME, given),
      flow_changes: series(CHANGE, darkFlow()),
      media_events: series(EVENT, [
        [120e6, 0, "connected", "session 4f2a, 16 flows", "happened"],
        [130e6, 0, "format", "1920 x 1080, 59.94 frames/s, 4:2:2, 10 bit", "happened"],
        [(seconds - 1) * 1e9, 0, "ended", "the input ended", "happened"],
      ]),
      host_seconds: hostSeconds(seconds, 1),
    },
    ...more,
  });
}

/** Two senders of one stream: the first dies, frames come damaged meanwhile, and everything that can be slow is. */
export function mergedRun(id = 91) {
  const next = random(12);
  const rows = [];
  const given = [];
  for (let t = 0; t < 40; t++) {
    if (t < 15) rows.push(received(next, t, { sender: 0, lost: 30, elsewhere: 10 }));
    rows.push(
      received(next, t, { sender: 1, lost: t === 15 ? 400 : 20, left: t === 15 ? 37 : 0, late: t === 16 ? 9 : 0 }),
    );
    given.push(frames(next, t, t === 15 ? { damaged: 4, lost: 2 } : t === 30 ? { dropped: 6 } : {}));
  }
  return run(id, "recv", {
    seconds: 40,
    outcome: "interrupted",
    reason: "interrupted by the user",
    parameters: { from: ["studio-b:5004", "studio-c:5004"], latency_ns: BUDGET },
    series: {
      recv_seconds: series(RECV, rows),
      frame_seconds: series(FRAME, given),
      flow_changes: series(CHANGE, [
        ...darkFlow(0),
        ...Array.from({ length: 4 }, (_, flow) => [0, flow, 15e9, "silent"]),
        [1, 2, 15.2e9, "losing"],
        [1, 2, 17.2e9, "trial"],
        [1, 2, 17.3e9, "losing"],
        [1, 2, 19.3e9, "used"],
      ]),
      media_events: series(EVENT, [
        [1e8, 0, "connected", "16 flows", "happened"],
        [2e8, 1, "connected", "16 flows", "happened"],
        [15.1e9, 0, "disconnected", "studio-b:5004 is gone: nothing came for 100 ms", "happened"],
        [15.1e9, null, "switched", "from studio-b:5004 to studio-c:5004, at frame 905", "happened"],
        [30e9, null, "slow_reader", "6 frames were thrown away: the output was not read", "happened"],
        [31e9, 0, "residual_loss", "residual loss from studio-b:5004: 12 packets were not repaired", "raised"],
        [37e9, 0, "residual_loss", "no residual loss from studio-b:5004 for 5 s", "cleared"],
      ]),
    },
  });
}

export function sendRun(id = 92, { seconds = 60, stop = false } = {}) {
  const next = random(13);
  const rows = [];
  for (let t = 0; t < seconds; t++) {
    const dark = t === DARK.second;
    const again = dark ? 14 : 2 + Math.floor(next() * 3);
    rows.push([
      t * 1e9,
      1e9,
      t === 0 ? null : 3e6 + Math.floor(next() * 1e5),
      dark ? 58 : 60,
      dark ? 2 : 0,
      PACKETS,
      (PACKETS + 3200 + again) * 8100,
      3200,
      again,
      t === DARK.second + 1 ? 8 : 0,
      dark ? 3 : 0,
      dark ? 5 : 0,
      0,
      12,
      96,
      620e6 + Math.floor(next() * 2e7),
    ]);
  }
  const events = [[150e6, null, "connected", "studio-b, session 4f2a", "happened"]];
  if (stop) events.push([(seconds - 1) * 1e9, null, "stopped", "31 % of the packets were lost for 2 s", "happened"]);
  return run(id, "send", {
    seconds,
    parameters: { flows: FLOWS, fec: { sources: 12, window: 96 } },
    summary: { frames: 60 * seconds - 2, frames_skipped: 2, unsent: 5 },
    series: {
      send_seconds: series(SEND, rows),
      flow_changes: series(CHANGE, darkFlow()),
      media_events: series(EVENT, events),
    },
  });
}

/** Markup wherever a far host or an input can put some. */
export function hostileMediaRun(id = 93) {
  const base = recvRun(id, { seconds: 20 });
  base.parameters.from = [EVIL];
  base.summary.senders[0].from = EVIL;
  base.summary.sentence = EVIL;
  const { event, detail } = base.series.media_events.columns;
  detail.values.fill(EVIL);
  event.values[1] = EVIL;
  base.series.flow_changes.columns.state.values[1] = EVIL;
  return base;
}

/** Nobody answered. */
export function silentRun(id = 94) {
  return run(id, "recv", {
    seconds: 3,
    outcome: "failed",
    reason: "studio-b:5004 does not answer",
    parameters: { from: ["studio-b:5004"], flows: FLOWS },
    series: {
      recv_seconds: series(
        RECV,
        [0, 1, 2].map((t) => [0, t * 1e9, 1e9, 0, ...new Array(14).fill(0), 2e6]),
      ),
      frame_seconds: series(
        FRAME,
        [0, 1, 2].map((t) => [t * 1e9, 1e9, 0, 0, 0, 0, 0, 0, BUDGET, ...quantiles(0), ...quantiles(0)]),
      ),
    },
  });
}

/** A day, in bins of 5 s as reports have it; one of them is bad, and flows come and go all day. */
export function mediaDayRun(id = 95) {
  const next = random(14);
  const bins = 17_280;
  const bad = 12_240;
  const rows = [];
  const given = [];
  for (let i = 0; i < bins; i++) {
    const second = received(next, i * 5, { lost: i === bad ? 3000 : 70, left: i === bad ? 11 : 0 });
    rows.push(second.map((value, column) => (column > 1 && column !== 3 ? value * 5 : value)));
    given.push(frames(next, i * 5, i === bad ? { damaged: 1 } : {}));
  }
  const changes = [];
  for (let i = 0; i < 20_000; i++) {
    const at = Math.floor((i / 20_000) * 86_400e9);
    const flow = Math.floor(next() * FLOWS);
    changes.push([0, flow, at, next() < 0.5 ? "losing" : "silent"], [0, flow, at + 1e9, "used"]);
  }
  return run(id, "recv", {
    seconds: 86_400,
    parameters: { from: ["studio-b:5004"], flows: FLOWS },
    series: {
      recv_seconds: series(RECV, rows, { bin_ns: 5e9, of: 86_400 }),
      frame_seconds: series(FRAME, given, { bin_ns: 5e9, of: 86_400 }),
      flow_changes: series(CHANGE, changes),
      media_events: series(
        EVENT,
        Array.from({ length: 2000 }, (_, i) => [
          i * 43e9,
          null,
          "slow_reader",
          `${i} frames were thrown away`,
          "happened",
        ]),
      ),
    },
  });
}
