// The address of a view of watched paths: all that is shown, so that a link can be shared.
import { MATRIX_METRICS, type MatrixMetric } from "./watched";

/** What an address asks for. */
export interface Route {
  view: "all" | "host" | "pair";
  host: string;
  from: string;
  to: string;
  /** Unix seconds; without one, the last measurement ends it. */
  until: number | null;
  /** Length of the span, seconds. */
  over: number;
  /** End of a span of the same length to compare with. */
  beside: number | null;
  metric: MatrixMetric;
}

export const iso = (seconds: number) => new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");

/** Unix seconds of a time in UTC; null for what is none. */
export function seconds(text: string | null): number | null {
  const found = text ? Date.parse(text) / 1000 : NaN;
  return Number.isFinite(found) ? Math.round(found) : null;
}

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.split("?", 2);
  const parts = path.split("/").map(decodeURIComponent);
  const given = new URLSearchParams(query);
  const view = parts[2] === "pair" && parts[4] ? "pair" : parts[2] === "host" && parts[3] ? "host" : "all";
  const over = Number(given.get("over"));
  const metric = MATRIX_METRICS.find(([name]) => name === given.get("metric"))?.[0] ?? "p50";
  return {
    view,
    host: view === "host" ? parts[3]! : "",
    from: view === "pair" ? parts[3]! : "",
    to: view === "pair" ? parts[4]! : "",
    until: seconds(given.get("until")),
    over: Number.isFinite(over) && over >= 1 ? Math.round(over) : view === "all" ? 600 : 86_400,
    beside: view === "pair" ? seconds(given.get("beside")) : null,
    metric,
  };
}

export function hashOf(route: Route): string {
  const names = { all: [], host: ["host", route.host], pair: ["pair", route.from, route.to] }[route.view];
  const path = ["#", "watch", ...names.map(encodeURIComponent)].join("/");
  const query = new URLSearchParams({ over: String(route.over) });
  if (route.until !== null) query.set("until", iso(route.until));
  if (route.beside !== null) query.set("beside", iso(route.beside));
  if (route.view === "all" && route.metric !== "p50") query.set("metric", route.metric);
  return `${path}?${query.toString().replaceAll("%3A", ":")}`;
}
