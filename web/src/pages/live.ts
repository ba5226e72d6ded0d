// A run of the local page: drawn from the server, followed while it goes on, with note, tags, report and deletion.
import type { Api, Progress } from "../api";
import { save } from "../charts/export";
import { forgetAll } from "../charts/schedule";
import type { ReportDocument, Run } from "../data/document";
import { h } from "../dom";
import { duration, percent, rate } from "../format";
import { runArticle } from "./run";

const REFRESH_MS = 4000;

export async function livePage(
  api: Api,
  id: number,
  place: HTMLElement,
  signal: AbortSignal,
  fail: (error: unknown) => void,
): Promise<void> {
  const status = h("div", { class: "live", hidden: true, "data-live": "" });
  let article: HTMLElement | null = null;
  let top: Run | undefined;

  const draw = (document: ReportDocument) => {
    top = document.runs.find((run) => run.run_id === id) ?? document.runs[0];
    if (!top) throw new Error(`The server sent no run ${id}.`);
    // What is open stays open, and the page stays where it is, when new data come.
    const open = article ? [...article.querySelectorAll("details")].map((one) => one.open) : [];
    const scroll = window.scrollY;
    forgetAll();
    const next = runArticle(top, document.runs, tools(top));
    if (article) article.replaceWith(next);
    else place.replaceChildren(status, next);
    article = next;
    next.querySelectorAll("details").forEach((one, i) => {
      if (open[i]) one.open = true;
    });
    window.scrollTo({ top: scroll, behavior: "instant" });
  };

  const load = async () => draw(await api.data(id, signal));

  const tools = (run: Run): HTMLElement => {
    const said = h("span", { class: "said", role: "status" });
    const note = h("textarea", { name: "note", rows: 2 });
    note.value = run.note;
    const tags = h("input", { type: "text", name: "tags", value: run.tags.join(", ") });
    const form = h(
      "form",
      {
        class: "edit",
        onsubmit: (event) => {
          event.preventDefault();
          const words = tags.value.split(/[,\s]+/).filter(Boolean);
          api
            .change(id, { note: note.value, tags: words })
            .then(load)
            .catch((error: Error) => {
              said.textContent = error.message;
            });
        },
      },
      h("label", null, "Note", note),
      h("label", null, "Tags, separated by commas", tags),
      h("button", { type: "submit", class: "primary" }, "Save"),
    );
    const dialog = h(
      "dialog",
      { "aria-label": "Delete this run" },
      h("p", null, `Delete run ${id}${run.kind === "survey" ? " and all its steps" : ""}? This cannot be undone.`),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
        h(
          "button",
          {
            type: "button",
            class: "danger",
            "data-confirm-delete": "",
            onclick: () => {
              dialog.close();
              api
                .remove(id)
                .then(() => {
                  location.hash = "#/";
                })
                .catch((error: Error) => {
                  said.textContent = error.message;
                });
            },
          },
          "Delete",
        ),
      ),
    );
    return h(
      "div",
      { class: "tools" },
      h(
        "button",
        {
          type: "button",
          "data-report": "",
          onclick: () => {
            api
              .report(id)
              .then((blob) => save(blob, `weir-run-${id}.html`))
              .catch((error: Error) => {
                said.textContent = error.message;
              });
          },
        },
        "Download report",
      ),
      h("details", { class: "edit-box" }, h("summary", null, "Note and tags"), form),
      h("button", { type: "button", "data-delete": "", onclick: () => dialog.showModal() }, "Delete run…"),
      dialog,
      said,
    );
  };

  const show = (progress: Progress) => {
    status.hidden = false;
    const all = progress.left_ns === null ? null : progress.elapsed_ns + progress.left_ns;
    const bar = h("progress", { max: 1, "aria-label": "Progress of the run" });
    if (all) bar.value = progress.elapsed_ns / all;
    status.replaceChildren(
      h("b", null, "Running"),
      bar,
      h(
        "span",
        null,
        [
          duration(progress.elapsed_ns),
          progress.left_ns === null ? null : `${duration(progress.left_ns)} left`,
          progress.rate_bits === null ? null : rate(progress.rate_bits),
          progress.loss === null ? null : `lost ${percent(progress.loss)}`,
        ]
          .filter(Boolean)
          .join(" · "),
      ),
    );
  };

  try {
    await load();
    let fresh = Date.now();
    let loading = false;
    while (top?.outcome === "running" && !signal.aborted) {
      let ended = false;
      try {
        ended = await api.follow(
          id,
          (progress) => {
            show(progress);
            // Nobody's work is lost to new data: while something is being typed or a dialog is open they wait.
            const busy = document.activeElement?.matches("input, textarea") || document.querySelector("dialog[open]");
            if (loading || busy || Date.now() - fresh < REFRESH_MS) return;
            loading = true;
            load()
              .catch(() => {})
              .finally(() => {
                fresh = Date.now();
                loading = false;
              });
          },
          signal,
        );
      } catch (error) {
        if (signal.aborted) return;
        status.replaceChildren(h("span", null, `${(error as Error).message} Retrying…`));
      }
      if (signal.aborted) return;
      if (!ended) await new Promise((resolve) => setTimeout(resolve, 2000));
      await load().catch((error) => {
        if (ended) throw error;
      });
      if (ended) break;
    }
    status.hidden = true;
  } catch (error) {
    if (!signal.aborted) fail(error);
  }
}
