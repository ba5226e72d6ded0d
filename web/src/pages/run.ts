// One run: what it was, the answer and the findings, key figures, the sections of its kind, its parts, and the facts.
import { chart } from "../charts";
import type { TimeView } from "../charts/view";
import type { Run } from "../data/document";
import { flatten } from "../data/facts";
import { h, table } from "../dom";
import { duration, inUnit, nanoseconds, words } from "../format";
import { type Context, contextOf, type Description, type Drawn } from "../kinds/describe";
import { descriptionOf, kindName } from "../kinds/registry";
import { both, localClock, toDate } from "../time";
import { choice } from "./choice";
import { headlines, verdict } from "./verdict";

const OUTCOMES: Record<string, string> = {
  finished: "finished",
  interrupted: "interrupted",
  failed: "failed",
  running: "running now",
};

export function hostName(host: unknown): string | null {
  const name = typeof host === "object" && host !== null ? (host as { name?: unknown }).name : null;
  return typeof name === "string" && name ? name : null;
}

export function outcomeBadge(outcome: string): HTMLElement {
  return h("span", { class: `outcome ${OUTCOMES[outcome] ? outcome : "other"}` }, OUTCOMES[outcome] ?? outcome);
}

function lengthOf(run: Run): number {
  return (run.ended_unix_ns ?? run.last_unix_ns) - run.started_unix_ns;
}

/** The two hosts of a run, in the way that was measured or that media went; the target of a sender is its input. */
export function pairOf(kind: string, local: string | null, target: string): string {
  const between =
    {
      send: "sends",
      recv: "receives from",
      load: "loads",
      pacing: "measures pacing in",
    }[kind] ?? "to";
  return `${local ?? "this host"} ${between} ${target}`;
}

export function pairText(run: Run): string {
  const remote = hostName(run.remote_host);
  const pair = pairOf(run.kind, hostName(run.local_host), run.target);
  return !remote || remote === run.target ? pair : `${pair} (${remote})`;
}

function header(run: Run): HTMLElement {
  return h(
    "header",
    { class: "run-head" },
    h("p", { class: "kind" }, `${kindName(run.kind)} · run ${run.run_id}`),
    h("h1", null, pairText(run)),
    h(
      "p",
      { class: "when" },
      outcomeBadge(run.outcome),
      ` ${both(toDate(run.started_unix_ns, 0))}, ${duration(lengthOf(run))}`,
    ),
    run.reason ? h("p", { class: "reason" }, run.reason) : null,
    run.tags.length > 0 ? h("p", { class: "tags" }, ...run.tags.map((tag) => h("span", { class: "tag" }, tag))) : null,
    run.note ? h("p", { class: "run-note" }, run.note) : null,
    run.merged_records + run.lost_records > 0
      ? h(
          "p",
          { class: "note" },
          `The results store could not keep up: ${run.merged_records} records were merged, ${run.lost_records} lost.`,
        )
      : null,
    ...clockSteps(run).map((text) => h("p", { class: "note warning", "data-warning": "clock-step" }, text)),
  );
}

/** What is said of a clock that was set back: once, though each direction shows it. */
function clockSteps(run: Run): string[] {
  const said = run.clock_steps.map(
    (step) =>
      `A clock was set back by ${nanoseconds(step.back_ns, 2)}, to ${both(toDate(step.unix_ns, 0))}, during this run: values from before and after overlap in the charts over time. Counts, quantiles and rates are correct.`,
  );
  return [...new Set(said)];
}

function figures(description: Description, context: Context): HTMLElement | null {
  const all = description.figures(context);
  if (all.length === 0) return null;
  return h(
    "dl",
    { class: "figures" },
    ...all.map((figure) =>
      h(
        "div",
        { "data-figure": figure.name },
        h("dt", null, figure.name),
        h(
          "dd",
          null,
          h("span", { class: "value" }, figure.value),
          figure.detail ? h("span", { class: "detail" }, figure.detail) : null,
        ),
      ),
    ),
  );
}

/** The buttons that zoom all charts over time of a run. */
function zoomBar(context: Context): HTMLElement {
  const { view, run } = context;
  const range = h("span", { class: "range", "aria-live": "polite" });
  const button = (text: string, does: string, action: (view: TimeView) => void) =>
    h("button", { type: "button", "aria-label": does, title: does, onclick: () => action(view) }, text);
  const whole = button("Whole run", "Show the whole run", (v) => v.reset());
  const bar = h(
    "div",
    { class: "zoom", "data-zoom": "" },
    button("−", "Zoom out", (v) => v.zoom(0.5)),
    button("+", "Zoom in", (v) => v.zoom(2)),
    button("◀", "Earlier", (v) => v.pan(-0.5)),
    button("▶", "Later", (v) => v.pan(0.5)),
    whole,
    range,
  );
  const show = () => {
    const fraction = view.span < 20e9 ? 2 : 0;
    range.textContent = `${localClock(toDate(run.started_unix_ns, view.from), fraction)} to ${localClock(toDate(run.started_unix_ns, view.to), fraction)}, ${duration(view.span)}`;
    whole.disabled = view.whole;
    bar.dataset.from = String(view.from);
    bar.dataset.to = String(view.to);
  };
  view.onChange(show);
  show();
  return bar;
}

/** What is made when it is unfolded for the first time. */
function folded(summary: string, content: HTMLElement, fill: () => void): HTMLElement {
  const details = h("details", { class: "panel", "data-folded": "" }, h("summary", null, summary));
  let made = false;
  details.addEventListener("toggle", () => {
    if (!details.open || made) return;
    made = true;
    fill();
    details.append(content);
  });
  return details;
}

function elementOf(drawn: Drawn): HTMLElement {
  if (drawn instanceof HTMLElement) return drawn;
  return drawn.type === "choice" ? choice(drawn) : chart(drawn);
}

function sections(description: Description, context: Context, level: 2 | 3): HTMLElement[] {
  const out: HTMLElement[] = [];
  for (const section of description.sections) {
    const drawn = section.drawings.flatMap((drawing) => drawing(context)).filter((one) => one !== null);
    if (drawn.length === 0) continue;
    const bar =
      section.overTime && drawn.some((one) => !(one instanceof HTMLElement) && one.type !== "choice" && !one.empty)
        ? zoomBar(context)
        : null;
    const element = h(
      "section",
      { class: "charts" },
      h("div", { class: "section-head" }, h(level === 2 ? "h2" : "h3", null, section.title), bar),
    );
    const grid = h("div", { class: section.overTime || section.wide ? "column" : "grid" });
    const fill = () => {
      for (const one of drawn) grid.append(elementOf(one));
    };
    if (section.folded !== undefined && drawn.length > section.folded) {
      element.append(folded(`${drawn.length} charts`, grid, fill));
    } else {
      fill();
      element.append(grid);
    }
    out.push(element);
  }
  return out;
}

/** One line that tells a part among the others. */
function partTitle(part: Run): string {
  const description = descriptionOf(contextOf(part, []));
  const figure = description.figures(contextOf(part, []));
  return `${kindName(part.kind)}: ${
    figure
      .map((one) => `${one.name} ${one.value}`)
      .slice(0, 3)
      .join(", ") || part.outcome
  }`;
}

function partsElement(context: Context, all: Run[]): HTMLElement | null {
  if (context.parts.length === 0) return null;
  return h(
    "section",
    { class: "parts" },
    h("h2", null, "Steps"),
    ...context.parts.map((part) => {
      const details = h(
        "details",
        { class: "part", "data-part": part.run_id },
        h("summary", null, h("span", { class: "part-number" }, `run ${part.run_id}`), ` ${partTitle(part)}`),
      );
      let made = false;
      details.addEventListener("toggle", () => {
        if (!details.open || made) return;
        made = true;
        details.append(body(part, all, 3));
      });
      return details;
    }),
  );
}

function facts(run: Run): HTMLElement {
  const rows = (value: unknown) =>
    flatten(value).map((row) => [
      row.name || "value",
      inUnit(row.value, /_ns$/.test(row.name) && !/unix/.test(row.name) ? "ns" : null),
    ]);
  const hosts = [run.local_host, run.remote_host].map(
    (host) => new Map(flatten(host ?? {}).map((row) => [row.name, row.value])),
  );
  const names = [...new Set(hosts.flatMap((host) => [...host.keys()]))].filter((name) =>
    hosts.some((host) => host.get(name) !== null && host.get(name) !== undefined && name !== ""),
  );
  return h(
    "section",
    { class: "facts" },
    h("h2", { class: "visually-hidden" }, "Facts"),
    h(
      "details",
      null,
      h("summary", null, "Hosts"),
      names.length > 0
        ? table(
            "Facts of both hosts",
            ["", "this host", "agent's host"],
            names.map((name) => [words(name), inUnit(hosts[0]!.get(name), null), inUnit(hosts[1]!.get(name), null)]),
            { hideCaption: true },
          )
        : h("p", { class: "empty" }, "No facts about the hosts."),
    ),
    h(
      "details",
      { "data-facts": "parameters" },
      h("summary", null, "Parameters"),
      table("Parameters", ["name", "value"], rows(run.parameters ?? {}), { hideCaption: true }),
    ),
    h(
      "details",
      { "data-facts": "summary" },
      h("summary", null, "Summary"),
      run.summary
        ? table("Summary", ["name", "value"], rows(run.summary), { hideCaption: true })
        : h("p", { class: "empty" }, "The summary is written when the run ends."),
    ),
  );
}

/** What was zoomed into, by run: new data of a running test do not take it away. */
const views = new Map<number, TimeView>();

function body(run: Run, all: Run[], level: 2 | 3, withFacts = level === 2): DocumentFragment {
  const context = contextOf(run, all);
  const before = views.get(run.run_id);
  if (before && !before.whole) context.view.set(before.from, before.to);
  views.set(run.run_id, context.view);
  const description = descriptionOf(context);
  const fragment = document.createDocumentFragment();
  if (level === 2) {
    if (description.headlines && !run.diagnosis) {
      const found = headlines(description.headlines(context));
      if (found) fragment.append(found);
    } else {
      fragment.append(...verdict(run));
    }
  }
  const tiles = figures(description, context);
  if (tiles) fragment.append(tiles);
  const drawn = sections(description, context, level);
  fragment.append(...drawn);
  if (drawn.length === 0 && context.parts.length === 0) {
    fragment.append(
      h(
        "p",
        { class: "empty", "data-empty-run": "" },
        "This run has no records: it ended before anything was measured.",
      ),
    );
  }
  const parts = level === 2 ? partsElement(context, all) : null;
  if (parts) fragment.append(parts);
  if (withFacts) fragment.append(facts(run));
  return fragment;
}

/** A whole run as an article. `tools` stands under the head: what the local page can do with a run. */
export function runArticle(run: Run, all: Run[], tools: HTMLElement | null = null): HTMLElement {
  return h("article", { class: "run", "data-run": run.run_id }, header(run), tools, body(run, all, 2));
}

/** The body of a run that stands for several others. */
export function runBody(run: Run): DocumentFragment {
  return body(run, [], 2, false);
}
