// Made-up runs of `weir load`.
import { random, run, series } from "./make.mjs";

const LOAD = [
  "kind",
  "at_ns",
  "duration_ns",
  "requests",
  "failed",
  "body_bytes",
  "all_bytes",
  "connections",
  "first_byte_p50_ns",
  "first_byte_p90_ns",
  "first_byte_p99_ns",
  "first_byte_max_ns",
  "last_byte_min_ns",
  "last_byte_p50_ns",
  "last_byte_p90_ns",
  "last_byte_p99_ns",
  "last_byte_p999_ns",
  "last_byte_max_ns",
];
const VIEWERS = [
  "at_ns",
  "duration_ns",
  "viewers",
  "arrivals",
  "sessions",
  "gave_up",
  "played_ns",
  "stalls",
  "stalled_ns",
  "switches",
  "startup_count",
  "startup_p50_ns",
  "startup_p99_ns",
  "schedule_error_count",
  "schedule_error_p99_ns",
  "cpu_ns",
];
/** Requests of each kind for one of pictures, and how long they take in comparison. */
const KINDS = [
  ["audio", 1, 0.2],
  ["manifest", 0.01, 2],
  ["video", 1, 1],
];

const times = (p50) => ({
  count: 100,
  min: Math.round(p50 * 0.5),
  mean: p50 * 1.1,
  p50: Math.round(p50),
  p90: Math.round(p50 * 1.5),
  p99: Math.round(p50 * 3),
  p999: Math.round(p50 * 5),
  max: Math.round(p50 * 9),
});

/** Twelve sessions, from the least to the most of each: as the document has them, by shares. */
export const SESSIONS = {
  startup: [310e6, 320e6, 330e6, 350e6, 360e6, 380e6, 400e6, 410e6, 430e6, 500e6, 600e6, 1200e6],
  rebuffer: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.01, 0.02],
  bitrate: [1e6, 1.5e6, 2e6, 2e6, 2e6, 2e6, 3e6, 3e6, 3e6, 3e6, 3e6, 3e6],
};
const SHARES = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1];

export function distributions(sessions = SESSIONS) {
  const rows = Object.entries(sessions).flatMap(([measure, values]) =>
    SHARES.map((share) => [measure, share, values[Math.max(1, Math.ceil(share * values.length)) - 1]]),
  );
  return series(["measure", "share", "value"], rows, { of: 3 });
}

/** A ramp of a viewer a second. `slow` is how long an answer takes for each viewer, in ms. */
export function loadRun(id, { seconds = 30, slow = 2, failing = 0, real = false, seed = 3 } = {}) {
  const next = random(seed);
  const rows = [];
  const viewers = [];
  let [requests, failed, bytes] = [0, 0, 0];
  for (const [kind, share, factor] of KINDS)
    for (let t = 0; t < seconds; t++) {
      const p50 = Math.round(slow * 1e6 * factor * (5 + t) * (0.95 + 0.1 * next()));
      const n = Math.round((1000 / slow) * share);
      const bad = kind === "video" && t === 10 ? failing : 0;
      const size = n * (kind === "video" ? 970_000 : 33_000);
      const q = times(p50);
      rows.push([
        kind,
        t * 1e9,
        1e9,
        n,
        bad,
        size,
        size + n * 300,
        t === 0 ? 1 : 0,
        q.p50 / 2,
        q.p90 / 2,
        q.p99 / 2,
        q.max / 2,
        q.min,
        q.p50,
        q.p90,
        q.p99,
        q.p999,
        q.max,
      ]);
      requests += n;
      failed += bad;
      bytes += size;
    }
  for (let t = 0; t < seconds; t++) {
    const ends = real && t % 5 === 4 ? 2 : 0;
    const stalls = ends && t > 20 ? 1 : 0;
    viewers.push([
      t * 1e9,
      1e9,
      t + 1,
      1,
      ends,
      0,
      ends * 20e9,
      stalls,
      stalls * 3e8,
      0,
      ends,
      ends ? 4e8 : null,
      ends ? 6e8 : null,
      0,
      null,
      2e8,
    ]);
  }
  const summary = {
    duration_ns: seconds * 1e9,
    most_viewers: seconds,
    all: {
      kind: "all",
      requests,
      failed,
      failures: failed > 0 ? { http_5xx: failed } : {},
      requests_per_second: requests / seconds,
      body_bytes: bytes,
      bits_per_second: (bytes * 8) / seconds,
      last_byte: times(slow * 15e6),
      first_byte: times(slow * 7e6),
    },
    kinds: KINDS.map(([kind, , factor]) => ({ kind, last_byte: times(slow * 15e6 * factor) })),
    quality: real ? { sessions: 12, stalls: 2, rebuffer_ratio: 0.0025, played_ns: 240e9 } : null,
    generator_limited: false,
    origin: { in_bytes: bytes, out_bytes: bytes, efficiency: 0.98 },
  };
  return run(id, "load", {
    seconds,
    target: "http://127.0.0.1:8080/film/manifest.mpd",
    remote_host: null,
    summary,
    series: {
      load_seconds: series(LOAD, rows),
      viewer_seconds: series(VIEWERS, viewers),
      ...(real ? { viewer_distribution: distributions() } : {}),
    },
  });
}
