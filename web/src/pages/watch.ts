// Watched paths from the server: all of them at a time, those of one host, and one path over a span or two. All that is shown is
// in the address, so that a link can be shared.
import type { Api } from "../api";
import { chart } from "../charts";
import { forgetAll } from "../charts/schedule";
import { hashOf, type Route, routeOf, seconds } from "../data/watch-route";
import {
  type Fault,
  MATRIX_METRICS,
  type MatrixMetric,
  type PairHistory,
  pairName,
  runOfWatched,
  type Watched,
} from "../data/watched";
import { h, table } from "../dom";
import {
  chartsOfPair,
  comparisonRows,
  contextOfPair,
  distributions,
  hoursOfDay,
  trendText,
  watchMatrix,
} from "../drawings/watched";
import { count, digits, duration, nanoseconds, percent } from "../format";
import { contextOf } from "../kinds/describe";
import { both, toDate } from "../time";
import { runBody } from "./run";

const REFRESH_MS = 10_000;
/** Lengths of spans to choose from, seconds. */
const LENGTHS: [string, number][] = [
  ["10 min", 600],
  ["2 h", 7200],
  ["1 d", 86_400],
  ["7 d", 7 * 86_400],
  ["30 d", 30 * 86_400],
  ["1 y", 365 * 86_400],
];

const toPair = (route: Route, pair: { from: string; to: string }, over = Math.max(route.over, 7200)): string =>
  hashOf({ ...route, view: "pair", from: pair.from, to: pair.to, over, beside: null });
const toHost = (route: Route, host: string): string =>
  hashOf({ ...route, view: "host", host, over: Math.max(route.over, 7200), beside: null });

/** What is asked of the server for a span that ends then, or with the last measurement. */
function queryOf(route: Route, until: number | null): Record<string, string> {
  const query: Record<string, string> = { over: String(route.over) };
  if (route.view === "pair") Object.assign(query, { from: route.from, to: route.to });
  if (route.view === "host") query.host = route.host;
  if (until !== null) query.until = String(until);
  return query;
}

/** A field of local time, which asks for a moment in the address. */
function momentField(label: string, name: string, value: number | null, go: (at: number | null) => void): HTMLElement {
  const input = h("input", { type: "datetime-local", name, step: 1 });
  if (value !== null) input.value = new Date(value * 1000).toISOString().slice(0, 19);
  input.addEventListener("change", () => go(input.value ? seconds(`${input.value}Z`) : null));
  return h("label", null, `${label} (UTC)`, input);
}

function controls(route: Route, document: Watched): HTMLElement {
  const go = (change: Partial<Route>) => {
    location.hash = hashOf({ ...route, ...change });
  };
  const until = Math.round(document.until_unix_ns / 1e9);
  const lengths = [...LENGTHS];
  if (!lengths.some(([, one]) => one === route.over)) lengths.push([duration(route.over * 1e9), route.over]);
  const length = h(
    "select",
    { name: "over" },
    ...lengths.map(([text, value]) => h("option", { value, selected: value === route.over }, text)),
  );
  length.addEventListener("input", () => go({ over: Number(length.value) }));
  const step = (by: number, text: string, does: string) =>
    h("button", { type: "button", "aria-label": does, title: does, onclick: () => go({ until: until + by }) }, text);
  const metric = h(
    "select",
    { name: "metric" },
    ...MATRIX_METRICS.map(([value, text]) => h("option", { value, selected: value === route.metric }, text)),
  );
  metric.addEventListener("input", () => go({ metric: metric.value as MatrixMetric }));
  return h(
    "div",
    { class: "filters", "data-watch-controls": "" },
    h("label", null, "Span", length),
    momentField("Until", "until", route.until, (at) => go({ until: at })),
    step(-route.over, "◀", "Earlier"),
    step(route.over, "▶", "Later"),
    route.until === null ? null : h("a", { href: hashOf({ ...route, until: null }) }, "Now"),
    route.view === "all" ? h("label", null, "Colour", metric) : null,
    route.view === "pair"
      ? momentField("Beside the span until", "beside", route.beside, (at) => go({ beside: at }))
      : null,
  );
}

function head(route: Route, document: Watched, title: string): HTMLElement {
  const [since, until] = [document.since_unix_ns, document.until_unix_ns].map((at) => both(toDate(at, 0)));
  return h(
    "header",
    { class: "run-head" },
    h("p", { class: "kind" }, "Watched paths"),
    h("h1", null, title),
    h("p", { class: "when" }, `${since} to ${until}${route.until === null ? ", live" : ""}`),
  );
}

function section(title: string, ...content: (HTMLElement | null)[]): HTMLElement | null {
  const there = content.filter((one) => one !== null);
  if (there.length === 0) return null;
  return h(
    "section",
    { class: "charts" },
    h("div", { class: "section-head" }, h("h2", null, title)),
    h("div", { class: "column" }, ...there),
  );
}

function pairTable(route: Route, pairs: PairHistory[]): HTMLElement | null {
  if (pairs.length === 0) return null;
  const headings = ["path", "loss", "P50", "P90", "P99", "changes", "trend of P90"];
  const rows = pairs.map((pair) => [
    h("a", { href: toPair(route, pair) }, `${pair.from} to ${pair.to}`),
    percent(pair.lost / Math.max(1, pair.sent)),
    nanoseconds(pair.p50_ns),
    nanoseconds(pair.p90_ns),
    nanoseconds(pair.p99_ns),
    count(pair.changes.length),
    trendText(pair, "p90"),
  ]);
  return h(
    "div",
    { class: "panel", "data-table": "watch-pairs" },
    table("Paths in this span", headings, rows, { numeric: [1, 2, 3, 4, 5] }),
  );
}

const EVENTS: Record<string, string> = {
  change: "changed",
  unreachable: "became unreachable",
  flow_dark: "had dark flows",
  loss: "lost packets",
};

function faultTable(faults: Fault[]): HTMLElement | null {
  if (faults.length === 0) return null;
  const rows = faults
    .slice(0, 50)
    .map((one) => [
      one.name,
      EVENTS[one.event] ?? one.event,
      count(one.events),
      `${digits(one.low, 2)} to ${digits(one.high, 2)}`,
    ]);
  return h(
    "div",
    { class: "panel", "data-table": "watch-faults" },
    table("Whose fault: events by what their paths have in common", ["what", "event", "times", "a day (95 %)"], rows, {
      numeric: [2],
    }),
  );
}

function placementTable(pair: PairHistory): HTMLElement | null {
  if (pair.placements.length === 0) return null;
  const rows = pair.placements.map((one) => [
    both(toDate(one.since_unix_ns, 0)),
    one.metrics.map((metric) => metric.toUpperCase()).join(", "),
    one.is_replaced ? "changed" : "may have changed",
    one.ends.map((end) => `${end.host} (${end.zone}): ${end.instance_before} → ${end.instance_after}`).join("; "),
  ]);
  return h(
    "div",
    { class: "panel", "data-table": "watch-placements" },
    table("Steps in the same zones and over as many hops", ["when", "step of", "placement", "instances"], rows),
  );
}

function rateTable(pair: PairHistory): HTMLElement | null {
  if (pair.rates.length === 0) return null;
  const rows = pair.rates.map((one) => [
    EVENTS[one.event] ?? one.event,
    count(one.events),
    duration(one.watched_s * 1e9),
    `${digits(one.low, 2)} to ${digits(one.high, 2)}`,
  ]);
  return h(
    "div",
    { class: "panel", "data-table": "watch-rates" },
    table("Rare events", ["event", "times", "watched for", "a day (95 %)"], rows, { numeric: [1] }),
  );
}

function allBody(route: Route, document: Watched): (HTMLElement | null)[] {
  const hosts = [...new Set(document.paths.flatMap((path) => [path.from, path.to]))].sort();
  return [
    section("Pairs at this time", chart(watchMatrix(document.paths, document.history.pairs, route.metric))),
    section("Paths", pairTable(route, document.history.pairs)),
    h(
      "p",
      { "data-watch-hosts": "" },
      "Hosts: ",
      ...hosts.flatMap((host, i) => [i > 0 ? ", " : "", h("a", { href: toHost(route, host) }, host)]),
    ),
    section("Whose fault", faultTable(document.history.faults)),
  ];
}

function hostBody(route: Route, document: Watched, id: number): (HTMLElement | null)[] {
  const context = contextOf(runOfWatched(document, route.host, id), []);
  const charts = document.history.pairs.map((pair) => {
    const [rtt, ...others] = chartsOfPair(contextOfPair(context, pairName(pair)));
    const happened = others.filter((one) => one.type === "states");
    const shown = [rtt, ...happened].filter((one) => one !== undefined);
    return h(
      "div",
      { class: "column" },
      h("h3", null, h("a", { href: toPair(route, pair, route.over) }, `${pair.from} to ${pair.to}`)),
      ...shown.map((one) => chart({ ...one, id: `${one.id}-${pairName(pair)}`, height: 200 })),
    );
  });
  return [section("Paths", pairTable(route, document.history.pairs)), section("Each path over time", ...charts)];
}

function comparison(document: Watched, beside: Watched): (HTMLElement | null)[] {
  const [one, other] = [document.history.pairs[0], beside.history.pairs[0]];
  if (!one || !other) return [h("p", { class: "empty" }, "One of both spans has no measurements.")];
  const run = (each: Watched) => contextOfPair(contextOf(runOfWatched(each, "", 0), []), pairName(one)).run;
  const named = (each: Watched) => `until ${both(toDate(each.until_unix_ns, 0))}`;
  const headings = ["figure", named(beside), named(document), "change"];
  return [
    h(
      "div",
      { class: "panel", "data-table": "watch-comparison" },
      table("Two spans of this path", headings, comparisonRows(one, other), { numeric: [1, 2, 3] }),
    ),
    chart(
      distributions([
        { name: named(document), run: run(document) },
        { name: named(beside), run: run(beside) },
      ]),
    ),
  ];
}

function pairBody(document: Watched, beside: Watched | null, id: number): Node[] {
  const pair = document.history.pairs[0];
  if (!pair) return [h("p", { class: "empty" }, "Nothing was measured on this path in this span.")];
  const run = runOfWatched(document, pair.to, id);
  const hours = hoursOfDay(pair.time_of_day);
  const single = contextOfPair(contextOf(run, []), pairName(pair)).run;
  const parts = [
    beside ? section("Comparison", ...comparison(document, beside)) : null,
    section("Placement", placementTable(pair)),
    section("By the time of day", hours ? chart(hours) : null),
    beside ? null : section("Distribution", chart(distributions([{ name: "this span", run: single }]))),
    section("How often", rateTable(pair), faultTable(document.history.faults)),
  ];
  return [runBody(run), ...parts.filter((one) => one !== null)];
}

let views = 0;

export async function watchPage(
  api: Api,
  hash: string,
  place: HTMLElement,
  signal: AbortSignal,
  fail: (error: unknown) => void,
): Promise<void> {
  const route = routeOf(hash);
  // What is zoomed into stays while new data come, and not for another address. No run has a number below 0.
  const id = -++views;
  const titles = {
    all: "All paths",
    host: `Paths of ${route.host}`,
    pair: `${route.from} to ${route.to}`,
  };
  const title = titles[route.view];
  window.document.title = `Weir: ${title}`;
  const draw = async () => {
    const document = await api.watched(queryOf(route, route.until), signal);
    const beside = route.beside === null ? null : await api.watched(queryOf(route, route.beside), signal);
    if (signal.aborted) return;
    const scroll = window.scrollY;
    forgetAll();
    const bodies: Record<Route["view"], () => (Node | null)[]> = {
      all: () => allBody(route, document),
      host: () => hostBody(route, document, id),
      pair: () => pairBody(document, beside, id),
    };
    const body =
      document.paths.length === 0
        ? [h("p", { class: "empty" }, "No watcher has written to this results store.")]
        : bodies[route.view]();
    const others = h("p", null, h("a", { href: "#/watch" }, `All paths: ${count(document.paths.length)}`));
    place.replaceChildren(
      h(
        "article",
        { class: "run", "data-watch": route.view },
        head(route, document, title),
        controls(route, document),
        ...body,
        route.view === "all" ? null : others,
      ),
    );
    window.scrollTo({ top: scroll, behavior: "instant" });
    performance.mark("weir-shown");
  };
  try {
    await draw();
    while (route.until === null && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
      const busy = window.document.activeElement?.matches("input, select") || window.document.hidden;
      if (signal.aborted || busy) continue;
      // A server that is away for a while is asked again.
      await draw().catch(() => {});
    }
  } catch (error) {
    if (!signal.aborted) fail(error);
  }
}
