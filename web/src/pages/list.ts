// The list of all runs in the database, with filters, and what may be chosen from it.
import type { Api, RunRow } from "../api";
import { h } from "../dom";
import { duration, plural } from "../format";
import { kindName } from "../kinds/registry";
import { bothLines, toDate } from "../time";
import { outcomeBadge, pairOf } from "./run";
import { severityIcon } from "./verdict";

const PAGE = 100;
const REFRESH_MS = 3000;

function whenCell(row: RunRow): HTMLElement {
  const [local, utc] = bothLines(toDate(row.started_unix_ns, 0));
  const took = row.ended_unix_ns === null ? "" : duration(row.ended_unix_ns - row.started_unix_ns);
  return h("td", { class: "when" }, local, h("span", { class: "detail" }, [utc, took].filter(Boolean).join(", ")));
}

/** What a diagnosis found, counted, and the worst of it; a dash for a run without a diagnosis. */
function verdictCell(verdict: RunRow["verdict"]): HTMLElement[] {
  if (!verdict) return [h("span", { class: "detail" }, "–")];
  const { faults, notices, worst } = verdict;
  const counts = [faults > 0 ? plural(faults, "fault") : null, notices > 0 ? plural(notices, "notice") : null];
  const line = h(
    "span",
    { class: "verdict-line" },
    severityIcon(faults > 0 ? "fault" : notices > 0 ? "notice" : "information"),
    h("span", null, counts.filter(Boolean).join(", ") || "no findings"),
  );
  return worst ? [line, h("span", { class: "detail" }, worst)] : [line];
}

export function listPage(api: Api, signal: AbortSignal, fail: (error: unknown) => void): HTMLElement {
  const filter = { search: "", kind: "", tag: "" };
  const chosen = new Set<number>();
  let shown: RunRow[] = [];
  let more = false;
  let newest = 0;
  let asking = 0;

  const body = h("tbody");
  const message = h("p", { class: "empty", role: "status" }, "Loading…");
  const compare = h("button", { type: "button", class: "primary", disabled: true }, "Compare");
  compare.addEventListener("click", () => {
    location.hash = `#/compare/${[...chosen].join(",")}`;
  });
  const further = h("button", { type: "button", hidden: true }, "Older runs");
  further.addEventListener("click", () => void load(true));

  const search = h("input", { type: "search", name: "search", placeholder: "target, host or note" });
  const kind = h("select", { name: "kind" }, h("option", { value: "" }, "all"));
  let kinds = "";
  /** Offers the kinds that the database has; what is chosen stays. */
  const offer = (names: string[]) => {
    if (names.join() === kinds) return;
    kinds = names.join();
    const { value } = kind;
    const offered = value && !names.includes(value) ? [...names, value] : names;
    kind.replaceChildren(
      h("option", { value: "" }, "all"),
      ...offered.map((name) => h("option", { value: name }, kindName(name))),
    );
    kind.value = value;
  };
  const tag = h("input", { type: "text", name: "tag", placeholder: "any" });
  let typing = 0;
  const changed = () => {
    clearTimeout(typing);
    typing = window.setTimeout(() => {
      filter.search = search.value.trim();
      filter.kind = kind.value;
      filter.tag = tag.value.trim();
      void load(false);
    }, 200);
  };
  for (const input of [search, kind, tag]) input.addEventListener("input", changed);

  const choose = (row: RunRow) => {
    const box = h("input", { type: "checkbox", "aria-label": `Choose run ${row.run_id} to compare` });
    box.checked = chosen.has(row.run_id);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(row.run_id);
      else chosen.delete(row.run_id);
      compare.disabled = chosen.size < 2;
      compare.textContent = chosen.size > 1 ? `Compare ${chosen.size} runs` : "Compare";
    });
    return box;
  };

  const rowElement = (row: RunRow) =>
    h(
      "tr",
      { "data-run": row.run_id },
      h("td", { class: "choose" }, choose(row)),
      h("td", { class: "number" }, row.run_id),
      h(
        "th",
        { scope: "row" },
        h("a", { href: `#/runs/${row.run_id}` }, pairOf(row.kind, row.local_name, row.target)),
        row.remote_name && row.remote_name !== row.target ? h("span", { class: "detail" }, row.remote_name) : null,
      ),
      h("td", null, kindName(row.kind)),
      whenCell(row),
      h("td", { class: "verdict-cell" }, ...verdictCell(row.verdict)),
      h("td", null, outcomeBadge(row.outcome), row.reason ? h("span", { class: "detail" }, row.reason) : null),
      h("td", { class: "note-cell" }, row.note, " ", ...row.tags.map((one) => h("span", { class: "tag" }, one))),
    );

  const render = () => {
    body.replaceChildren(...shown.map(rowElement));
    message.hidden = shown.length > 0;
    message.textContent = Object.values(filter).some(Boolean)
      ? "No run matches."
      : "There are no runs in this database yet. Start one with `weir survey HOST`.";
    wrap.hidden = shown.length === 0;
    further.hidden = !more;
  };

  const load = async (older: boolean) => {
    const ticket = ++newest;
    asking++;
    try {
      const before = older ? String(shown[shown.length - 1]?.run_id ?? "") : "";
      const found = await api.runs({ ...filter, limit: String(PAGE), before });
      // An answer to an older question must not replace that to a newer one.
      if (ticket !== newest || signal.aborted) return;
      shown = older ? [...shown, ...found.runs] : found.runs;
      more = found.more;
      offer(found.kinds);
      render();
    } catch (error) {
      if (ticket === newest && !signal.aborted) fail(error);
    } finally {
      asking--;
    }
  };

  const wrap = h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Runs", hidden: true },
    h(
      "table",
      { class: "runs" },
      h("caption", { class: "visually-hidden" }, "Runs, newest first"),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "choose")),
          ...["run", "pair", "kind", "when", "findings", "ended", "note"].map((name, i) =>
            h("th", { scope: "col", class: i === 0 ? "number" : null }, name),
          ),
        ),
      ),
      body,
    ),
  );

  // While something runs, or a new run may come, the list keeps itself fresh; older pages and choices stay. A server
  // that is slow to answer, because somebody holds the database, is not asked again before it has: nothing would ever
  // be shown.
  const timer = setInterval(() => {
    if (
      asking === 0 &&
      shown.length <= PAGE &&
      chosen.size === 0 &&
      !document.hidden &&
      !wrap.contains(document.activeElement)
    )
      void load(false);
  }, REFRESH_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  void load(false);

  return h(
    "div",
    { class: "list" },
    h("h1", null, "Runs"),
    h(
      "form",
      { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      h("label", null, "Search", search),
      h("label", null, "Kind", kind),
      h("label", null, "Tag", tag),
      compare,
    ),
    message,
    wrap,
    further,
  );
}
