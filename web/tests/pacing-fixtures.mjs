// Made-up runs of `weir lab pacing`, in the form of real ones of `keynote-voip` and `sammy-lab`; and figures of a real one of
// `keynote-gaming`, in `data/`.
import { readFileSync } from "node:fs";
import { EVIL } from "./flow-fixtures.mjs";
import { random, run, START } from "./make.mjs";

const MS = 1e6;
const STEP = 1e8;
/** Every half millisecond up to 100 ms, as neighbours count; enough for the delays here. */
const EDGES = Array.from({ length: 201 }, (_, i) => i * 0.5 * MS);

const middleOf = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};
const spread = (values) => ({
  values,
  median: middleOf(values),
  min: Math.min(...values),
  max: Math.max(...values),
});

function distribution(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
  const counts = EDGES.slice(1).map((edge, i) => times.filter((time) => time >= EDGES[i] && time < edge).length);
  return {
    of: "owd",
    quantiles: {
      count: times.length,
      min: sorted[0],
      mean: times.reduce((a, b) => a + b, 0) / times.length,
      p50: at(0.5),
      p90: at(0.9),
      p95: at(0.95),
      p99: at(0.99),
      p999: at(0.999),
      max: sorted.at(-1),
    },
    bins: {
      edges_ns: EDGES,
      counts,
      below: 0,
      above: times.filter((time) => time >= EDGES.at(-1)).length,
    },
  };
}

/** A trial of 4 s: a chunk comes for a second of every two, at the line's 10 Mbit/s or as fast as the variant says. */
function trial(next, name, congestion, variant, repeat, place) {
  const started = START + place * 30e9;
  const bits = variant === null ? 0 : variant === "unpaced" ? 9.6e6 : 8.8e6;
  const waits = variant === "unpaced" ? 38 * MS : 0;
  const connection = [];
  let acked = 1_000_000;
  // The first lies before what counts, as those of the warm-up do.
  for (let i = -1; variant !== null && i < 40; i++) {
    if (i >= 0 && i % 20 < 10) acked += Math.round((bits * STEP) / 8e9);
    connection.push({
      unix_ns: started + i * STEP,
      remote_port: 41_000 + place,
      rtt_ns: Math.round(21 * MS + (waits * (i % 20)) / 20),
      cwnd_bytes: 60_000,
      pacing_rate: variant === "paced" ? 9_000_000 : null,
      sent_bytes: acked + 20_000,
      retransmitted_bytes: 0,
      acked_bytes: acked,
    });
  }
  const owd = Array.from({ length: 200 }, (_, i) =>
    Math.round(10.3 * MS + next() * 0.4 * MS + (i % 100 < 40 ? waits * next() : 0)),
  );
  const call = distribution(owd);
  return {
    case: name,
    congestion,
    variant,
    repeat,
    started_unix_ns: started,
    duration_ns: 4e9,
    lateness_p99_ns: [81_000, 92_000],
    figures: {
      "voip.owd.p50": call.quantiles.p50,
      "voip.owd.p95": call.quantiles.p95,
      "voip.voice.mos": 4.4 - waits / 1e9,
      ...(variant === null ? {} : { "media.throughput": bits * (0.98 + 0.02 * next()), "media.stalls": 0 }),
    },
    connection,
    queue: [1, 2, 3, 4].map((second) => ({
      unix_ns: started + second * 1e9,
      mean_bytes: variant === null ? 0 : (bits * waits * (second % 2 ? 1 : 0.05)) / 16e9 + 120.5,
      dropped: 0,
    })),
    distributions: { voip: call },
  };
}

const WANTED = [
  ["voip.owd.p95", "lower", -51],
  ["voip.voice.mos", null, null],
  ["media.throughput", "lower", -53],
  ["media.stalls", null, null],
];

function comparison(trials, name, congestion, others, paper) {
  const of = (variant, figure) =>
    trials
      .filter((one) => one.case === name && one.congestion === congestion && one.variant === variant)
      .map((one) => one.figures[figure])
      .filter((value) => value !== undefined);
  return {
    case: name,
    congestion,
    figures: WANTED.map(([figure, expected, percent]) => {
      const base = spread(of("unpaced", figure));
      const alone = of(null, figure);
      return {
        figure,
        alone: alone.length > 0 ? spread(alone) : null,
        variants: ["unpaced", ...others].map((variant) => ({ variant, ...spread(of(variant, figure)) })),
        changes: others.map((variant) => {
          const there = spread(of(variant, figure));
          const interval = [there.min - base.max, there.max - base.min];
          return {
            variant,
            difference: there.median - base.median,
            relative: base.median === 0 ? null : (there.median - base.median) / base.median,
            interval,
            as_expected: expected === null ? null : interval[1] < 0,
          };
        }),
        expected,
        paper_percent: paper ? percent : null,
      };
    }),
  };
}

/** Three repeats of each variant. `others` are the variants beside the first, which is unpaced. */
export function pacingRun(id = 90, { names = ["call"], others = ["paced"], paper = false, unfit = 1 } = {}) {
  const next = random(id);
  const cases = names.flatMap((name) => ["cubic", "reno"].map((congestion) => [name, congestion]));
  const trials = [];
  for (const [name, congestion] of cases)
    for (const repeat of [1, 2, 3])
      for (const variant of [null, "unpaced", ...others])
        trials.push(trial(next, name, congestion, variant, repeat, trials.length));
  return run(id, "pacing", {
    seconds: trials.length * 30,
    target: "keynote-voip",
    remote_host: null,
    parameters: {
      link: { name: "keynote-voip", reverse: { routes: [{ delay_ns: 10e6, rate: { fixed: 10_000_000 } }] } },
      rungs: [4_000_000],
      segment_ns: 4e9,
      abr: "throughput",
      buffer_ns: 24e9,
      congestion: ["cubic", "reno"],
      repeats: 3,
      warm_up_ns: 18e9,
      for_ns: 4e9,
      variants: ["unpaced", ...others].map((name) => ({ name, server: "weir", limit_rate: null, pace: null })),
      cases: names,
      max_lateness_ns: 1e6,
    },
    summary: {
      scenario: "keynote-voip",
      unfit_trials: unfit,
      comparisons: cases.map(([name, congestion]) => comparison(trials, name, congestion, others, paper)),
      trials,
    },
  });
}

const GAMING = JSON.parse(readFileSync(new URL("data/keynote-gaming.json", import.meta.url), "utf8"));
/** Its bins: half milliseconds up to 100 ms, 10 ms up to 2 s, 100 ms up to 10 s. */
const GAME_EDGES = [
  ...Array.from({ length: 200 }, (_, i) => i * 0.5 * MS),
  ...Array.from({ length: 190 }, (_, i) => (100 + 10 * i) * MS),
  ...Array.from({ length: 81 }, (_, i) => (2000 + 100 * i) * MS),
];

/** A cloud game beside streaming, as a real run measured it: frames of five repeats, without the series of the connection. */
export function gamingRun(id = 92) {
  const trials = GAMING.trials.map(({ variant, repeat, figures, quantiles, counts }, place) => ({
    case: "game",
    congestion: "cubic",
    variant,
    repeat,
    started_unix_ns: START + place * 45e9,
    duration_ns: 24e9,
    lateness_p99_ns: [81_000, 92_000],
    figures,
    connection: null,
    queue: [],
    distributions: {
      game: {
        of: "frame_completion",
        quantiles,
        bins: {
          edges_ns: GAME_EDGES,
          counts: GAME_EDGES.slice(1).map((_, i) => counts[i] ?? 0),
          below: 0,
          above: 0,
        },
      },
    },
  }));
  return run(id, "pacing", {
    seconds: trials.length * 45,
    target: "keynote-gaming",
    remote_host: null,
    parameters: {
      link: { name: "keynote-gaming", reverse: { routes: [{ delay_ns: 10e6, rate: { fixed: 40_000_000 } }] } },
      rungs: [5_000_000],
      segment_ns: 4e9,
      abr: "throughput",
      buffer_ns: 24e9,
      congestion: ["cubic"],
      repeats: 5,
      warm_up_ns: 14e9,
      for_ns: 24e9,
      variants: ["unpaced", "paced"].map((name) => ({ name, server: "weir", limit_rate: null, pace: null })),
      cases: ["game"],
      max_lateness_ns: 1e6,
    },
    summary: { scenario: "keynote-gaming", unfit_trials: 0, comparisons: [GAMING.comparison], trials },
  });
}

/** Names out of a scenario of somebody's own, a connection made anew within a trial, and values of the wrong kind. */
export function evilPacingRun(id = 91) {
  const one = pacingRun(id, { names: [EVIL], others: [EVIL], paper: true, unfit: 0 });
  const { trials, comparisons } = one.summary;
  for (const reading of trials[1].connection.slice(20)) reading.remote_port++;
  trials[2].connection = null;
  trials[2].queue = "none";
  trials[5].distributions = { voip: { of: "owd", quantiles: null, bins: { edges_ns: [], counts: [] } } };
  comparisons[0].figures[0].changes[0].interval = null;
  comparisons[0].figures[0].changes[0].as_expected = null;
  comparisons[1].figures[0].changes[0].as_expected = false;
  return one;
}
