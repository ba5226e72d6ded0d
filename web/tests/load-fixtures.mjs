// Made-up runs of `weir load` and of an experiment: two configurations under a ramp, and a model.
import { EVIL } from "./flow-fixtures.mjs";
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
export function loadRun(
  id,
  { seconds = 30, slow = 2, failing = 0, parent = null, cell = null, real = false, seed = 3 } = {},
) {
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
    parent_run_id: parent,
    target: "http://127.0.0.1:8080/film/manifest.mpd",
    remote_host: null,
    parameters: cell ? { experiment: "ramp", cell } : {},
    summary,
    series: {
      load_seconds: series(LOAD, rows),
      viewer_seconds: series(VIEWERS, viewers),
      ...(real ? { viewer_distribution: distributions() } : {}),
    },
  });
}

const spread = (mean) => ({ mean, low: mean * 0.98, high: mean * 1.02 });

function group(part, configuration, segment, video, slow, viewers) {
  const out = 1e9 / slow;
  return {
    key: `${part}:${configuration}:${segment}s:${video / 1e6}Mbit/s:${viewers}:warm`,
    part,
    configuration,
    segment_ns: segment * 1e9,
    video_bps: video,
    audio_bps: 132_000,
    viewers,
    cache: "warm",
    repeats: 2,
    in_bps: spread(configuration === "A" ? out * 3 : out * 1.02),
    out_bps: spread(out),
    efficiency: spread(configuration === "A" ? 0.333 : 0.98),
    requests_per_second: spread(2010 / slow),
    mean_ns: spread(slow * 15e6),
    p99_ns: spread(slow * 50e6),
    origin_cpu_each_ns: spread(4e5),
    origin_cores: spread(0.9),
    storage_requests_each: spread(1),
    failed: 0,
    generator_limited: 0,
  };
}

/** An experiment with its parts: A and E under a ramp, and E by duration of segments and bit rate. */
export function experimentRuns(id = 40, { evil = false } = {}) {
  const ramp = ["A", "E"].map((name, i) =>
    group("ramp", evil && i === 0 ? EVIL : name, 2, 3_894_000, 4 - 2 * i, "0..30"),
  );
  const model = [2, 4, 8].flatMap((segment) =>
    [1_000_000, 2_000_000].map((video) => group("model", "E", segment, video, 16e6 / (segment * video), "50")),
  );
  const groups = [...ramp, ...model];
  const parts = ramp.flatMap((one, i) =>
    [1, 2].map((repeat) =>
      loadRun(id + 1 + 2 * i + repeat, {
        parent: id,
        slow: 4 - 2 * i,
        seed: 10 * i + repeat,
        cell: { ...one, key: `${one.key}#${repeat}`, repeat },
      }),
    ),
  );
  const points = model.map((one, i) => {
    const product = one.out_bps.mean * (1 + 0.01 * ((i % 3) - 1));
    return {
      key: one.key,
      run: id + 20 + i,
      media_per_second: 100,
      segment_s: one.segment_ns / 1e9,
      media_bps: 566_000,
      product_bps: product,
      out_bps: one.out_bps.mean,
      residual_bps: one.out_bps.mean - 1.001 * product,
    };
  });
  const done = groups.map((one, i) => ({
    key: `${one.key}#1`,
    run: id + 20 + i,
    outcome: { rebuffer_ratio: i < 2 ? null : 0.001 * i, stalls: i < 2 ? null : i },
  }));
  const whole = run(id, "experiment", {
    seconds: 200,
    target: "ramp",
    remote_host: null,
    tags: ["ramp"],
    parameters: { experiment: "ramp", cells: 16 },
    summary: {
      experiment: "ramp",
      description: "Two configurations under a ramp.",
      cells: 16,
      done,
      groups,
      published: {
        source: "Somebody, Table 1",
        part: "ramp",
        rows: ramp.map((one) => ({
          configuration: one.configuration,
          published_in_bps: 3e9,
          published_out_bps: 1e9,
          published_efficiency: 0.294,
          published_relative: 1,
          in_bps: one.in_bps.mean,
          out_bps: one.out_bps.mean,
          efficiency: one.efficiency.mean,
          relative: one.out_bps.mean / ramp[0].out_bps.mean,
        })),
      },
      model: {
        factor: 1.001,
        factor_low: 0.998,
        factor_high: 1.004,
        r_squared: 0.9993,
        deviation_bps: 2e6,
        largest_residual: 0.011,
        free_intercept_bps: 1e5,
        free_slope: 1,
        points,
      },
    },
  });
  return [whole, ...parts];
}
