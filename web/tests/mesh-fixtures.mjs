// Made-up meshes: tests between places on known lines, up to all pairs of 150 places.
import { random, run, series } from "./make.mjs";

const CLOUDS = ["aws", "azure", "gcp", "oracle"];
/** Milliseconds for each thousand kilometres, and decades of throughput. */
export const SLOPE = 15;
export const FALL = -0.12;

export const TESTS = [
  "at_ns",
  "source",
  "reason",
  "from",
  "to",
  "from_host",
  "to_host",
  "distance_m",
  "faster_than_light",
  "rtt_ns",
  "rtt_min_ns",
  "rtt_p95_ns",
  "rtt_max_ns",
  "tcp_bps",
  "tcp_streams",
  "tcp_streams_bps",
  "tcp_retransmits",
  "tcp_cwnd_bytes",
  "tcp_rtt_ns",
  "tcp_streams_retransmits",
  "tcp_streams_cwnd_bytes",
  "tcp_streams_rtt_ns",
  "congestion_control",
  "from_window_bytes",
  "to_window_bytes",
  "udp_bps",
  "udp_loss",
  "udp_jitter_ns",
  "udp_pdv_ns",
  "udp_reordered",
  "survey_run",
];

/** Great-circle distance in metres (haversine). */
export function distance(a, b) {
  const radians = Math.PI / 180;
  const half = (angle) => Math.sin((angle * radians) / 2) ** 2;
  const h =
    half(b.latitude - a.latitude) +
    Math.cos(a.latitude * radians) * Math.cos(b.latitude * radians) * half(b.longitude - a.longitude);
  return Math.round(2 * 6_371_008.8 * Math.asin(Math.sqrt(h)));
}

export function places(n, seed = 3) {
  const next = random(seed);
  return Array.from({ length: n }, (_, i) => {
    const cloud = CLOUDS[i % CLOUDS.length];
    return {
      name: `${cloud}:region-${i}`,
      cloud,
      latitude: Math.round((next() * 100 - 40) * 100) / 100,
      longitude: Math.round((next() * 340 - 170) * 100) / 100,
    };
  });
}

const laid = (group, quantity, points, slope, intercept) => [
  group,
  quantity,
  points,
  Math.sign(slope) * 0.9,
  Math.sign(slope) * 0.9 - 0.01,
  Math.sign(slope) * 0.9 + 0.01,
  slope,
  slope - 0.02,
  slope + 0.02,
  intercept,
  0.1,
];

const FITS =
  "group quantity points correlation correlation_low correlation_high slope slope_low slope_high intercept deviation".split(
    " ",
  );
const WINDOWS = "to tests median_bytes median_low_bytes median_high_bytes mean_bytes".split(" ");

/** All pairs of so many places, on lines with a little noise; the first beats light and the last has failed. */
export function meshRun(id, n, { seed = 5, more = {} } = {}) {
  const next = random(seed);
  const all = places(n);
  const rows = [];
  for (const from of all)
    for (const to of all) {
      if (from === to) continue;
      const metres = distance(from, to);
      const km = metres / 1e6;
      const rtt = Math.round((2 + SLOPE * km * (1 + 0.1 * (next() - 0.5))) * 1e6);
      const bps = Math.round(10 ** (9.3 + FALL * km + 0.2 * (next() - 0.5)));
      rows.push([
        rows.length * 1e9,
        "weir",
        "",
        from.name,
        to.name,
        `${from.name}-host`,
        `${to.name}-host`,
        metres,
        0,
        rtt,
        rtt - 1000,
        rtt + 5000,
        rtt + 90_000,
        bps,
        8,
        bps * 3,
        2,
        1_048_576,
        rtt + 2000,
        17,
        524_288,
        rtt + 3000,
        "bbr",
        4_194_304,
        6_291_456,
        20_000_000,
        0,
        9_409,
        40_000,
        0,
        null,
      ]);
    }
  rows[0][8] = 1;
  const last = rows[rows.length - 1];
  rows[rows.length - 1] = [
    last[0],
    "weir",
    '<b>no answer</b> from "there"',
    ...last.slice(3, 8),
    0,
    ...new Array(13).fill(null),
    "",
    ...new Array(8).fill(null),
  ];
  const groups = [...new Set(rows.map((row) => `${row[3].split(":")[0]}->${row[4].split(":")[0]}`))].sort();
  const fits = ["all", ...groups].flatMap((group) => [
    laid(group, "rtt", rows.length, SLOPE, 2),
    laid(group, "throughput", rows.length, FALL, 9.3),
  ]);
  return run(id, "mesh", {
    target: `${n} hosts, ${rows.length} tests`,
    seconds: rows.length,
    no_diagnosis: "a mesh has no diagnosis",
    series: {
      mesh_tests: series(TESTS, rows),
      mesh_places: series(
        ["place", "cloud", "latitude", "longitude"],
        all.map((place) => [place.name, place.cloud, place.latitude, place.longitude]),
      ),
      mesh_fits: series(FITS, fits),
      mesh_windows: series(WINDOWS, [
        ["aws", 20, 838_861, 800_000, 860_000, 850_000],
        [all[0].name, 7, 838_861, null, null, 850_000],
      ]),
    },
    ...more,
  });
}
