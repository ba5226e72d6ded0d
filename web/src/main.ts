// Starts the page: a report if the file carries data, else the local page over all runs.
import "./theme.css";
import "./style.css";
import "./runs.css";
import "./charts.css";
import "./places.css";
import "./small.css";
import { Api } from "./api";
import { forgetAll } from "./charts/schedule";
import { decode } from "./data/decode";
import { check, type ReportDocument, type Run } from "./data/document";
import { h } from "./dom";
import { kindName } from "./kinds/registry";
import { compareArticle } from "./pages/compare";
import { listPage } from "./pages/list";
import { livePage } from "./pages/live";
import { meshArticle, meshTogether } from "./pages/mesh";
import { pairText, runArticle } from "./pages/run";
import { watchPage } from "./pages/watch";
import { themeSwitch } from "./theme";
import { both, toDate } from "./time";

const page = document.getElementById("page")!;
const main = h("main", { id: "main", tabindex: -1 });
const navigation = h("nav", { "aria-label": "Runs" });
const foot = h("footer");

function frame(): void {
  page.replaceChildren(
    h(
      "a",
      {
        class: "skip",
        href: "#main",
        onclick: (event) => {
          event.preventDefault();
          main.focus();
        },
      },
      "To the content",
    ),
    h("div", { class: "top" }, h("a", { class: "brand", href: "#/" }, "Weir"), navigation, themeSwitch()),
    main,
    foot,
  );
}

function fail(error: unknown): void {
  forgetAll();
  const message = error instanceof Error ? error.message : String(error);
  main.replaceChildren(
    h(
      "div",
      { class: "failure", role: "alert", "data-failure": "" },
      h("h1", null, "This cannot be shown"),
      h("p", null, message),
    ),
  );
}

function topRuns(document: ReportDocument): Run[] {
  const ids = new Set(document.runs.map((run) => run.run_id));
  return document.runs.filter((run) => run.parent_run_id === null || !ids.has(run.parent_run_id));
}

/** A report: one run, or several with their comparison first. */
function report(data: ReportDocument): void {
  const tops = topRuns(data);
  foot.replaceChildren(
    h(
      "p",
      null,
      `Made by Weir ${data.weir_version}, ${both(toDate(data.made_unix_ns, 0))}. This file contains all its data and loads nothing from other hosts.`,
    ),
  );
  if (tops.length === 0) throw new Error("This report contains no run.");
  document.title =
    tops.length === 1 ? `${kindName(tops[0]!.kind)}: ${pairText(tops[0]!)}` : `Weir: ${tops.length} runs`;
  const together = meshTogether(data);
  const overview = () => (together ? meshArticle(together, data.mesh?.runs ?? []) : compareArticle(tops, data.runs));
  const draw = () => {
    forgetAll();
    const id = Number(/^#\/runs\/(\d+)$/.exec(location.hash)?.[1]);
    const one = tops.length === 1 ? tops[0] : tops.find((run) => run.run_id === id);
    main.replaceChildren(one ? runArticle(one, data.runs) : overview());
    if (tops.length > 1) {
      const link = (hash: string, text: string, here: boolean) =>
        h("a", { href: hash, "aria-current": here ? "page" : null }, text);
      navigation.replaceChildren(
        link("#/", together ? "All tests" : "Comparison", !one),
        ...tops.map((run) => link(`#/runs/${run.run_id}`, `Run ${run.run_id}`, run === one)),
      );
      window.scrollTo(0, 0);
    }
  };
  window.addEventListener("hashchange", draw);
  draw();
}

function askToken(again: boolean): Promise<string> {
  return new Promise((resolve) => {
    const input = h("input", { type: "password", name: "token", autocomplete: "off", required: true });
    const dialog = h(
      "dialog",
      { "aria-label": "Token", "data-token": "" },
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            dialog.close();
            dialog.remove();
            resolve(input.value.trim());
          },
        },
        h(
          "p",
          null,
          again
            ? "The server rejected this token. Enter another:"
            : "This server requires a token, the one given to weir ui.",
        ),
        h("label", null, "Token", input),
        h("button", { type: "submit", class: "primary" }, "Continue"),
      ),
    );
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** The local page: routes after the # of the address. */
function local(): void {
  const api = new Api(askToken);
  let leave = new AbortController();
  foot.replaceChildren(h("p", null, "Weir, on this host."));
  const draw = async () => {
    leave.abort();
    leave = new AbortController();
    const { signal } = leave;
    forgetAll();
    document.querySelectorAll("dialog").forEach((one) => {
      if (!one.matches("[data-token]")) one.remove();
    });
    window.scrollTo(0, 0);
    const failed = (error: unknown) => {
      if (!signal.aborted) fail(error);
    };
    const run = /^#\/runs\/(\d+)$/.exec(location.hash);
    const compare = /^#\/compare\/(\d+(?:,\d+)*)$/.exec(location.hash);
    const watched = location.hash.startsWith("#/watch");
    const link = (hash: string, text: string, here: boolean) =>
      h("a", { href: hash, "aria-current": here ? "page" : null }, text);
    navigation.replaceChildren(
      link("#/", "All runs", !run && !compare && !watched),
      link("#/watch", "Watched paths", watched),
    );
    if (watched) {
      document.title = "Weir: watched paths";
      main.replaceChildren(h("p", { class: "empty", role: "status" }, "Loading…"));
      await watchPage(api, location.hash, main, signal, failed);
    } else if (run) {
      document.title = `Weir: run ${run[1]}`;
      main.replaceChildren(h("p", { class: "empty", role: "status" }, "Loading…"));
      await livePage(api, Number(run[1]), main, signal, failed);
    } else if (compare) {
      document.title = "Weir: comparison";
      main.replaceChildren(h("p", { class: "empty", role: "status" }, "Loading…"));
      try {
        const ids = [...new Set(compare[1]!.split(",").map(Number))];
        const documents = await Promise.all(ids.map((id) => api.data(id, signal)));
        const all = documents.flatMap((one) => one.runs);
        const tops = ids
          .map((id) => all.find((one) => one.run_id === id))
          .filter((one): one is Run => one !== undefined);
        if (!signal.aborted) main.replaceChildren(compareArticle(tops, all));
      } catch (error) {
        failed(error);
      }
    } else {
      document.title = "Weir: runs";
      main.replaceChildren(listPage(api, signal, failed));
    }
  };
  window.addEventListener("hashchange", () => void draw());
  void draw();
}

async function start(): Promise<void> {
  frame();
  const element = document.getElementById("weir-data");
  const text = element?.textContent?.trim() ?? "";
  if (text === "") {
    if (location.protocol === "http:" || location.protocol === "https:") return local();
    throw new Error("This file contains no data: it is the empty page. `weir report RUN` writes one with data.");
  }
  main.replaceChildren(h("p", { class: "empty", role: "status" }, "Reading the data…"));
  let value: unknown;
  try {
    value = await decode(text);
  } catch (error) {
    throw new Error(`Cannot read the data in this file: ${(error as Error).message}. The file may be truncated.`);
  }
  // The text is no longer needed, and may be large.
  element?.replaceChildren();
  report(check(value));
  performance.mark("weir-shown");
}

start().catch(fail);
