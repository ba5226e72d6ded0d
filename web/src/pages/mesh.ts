// Tests between places of several runs, seen together as if one run had made them.
import type { ReportDocument, Run } from "../data/document";
import { h } from "../dom";
import { plural } from "../format";
import { runBody } from "./run";

/** A run of all tests; null where the document has none that are together. */
export function meshTogether(data: ReportDocument): Run | null {
  const { mesh } = data;
  const first = data.runs.find((run) => mesh?.runs.includes(run.run_id));
  if (!mesh || !first) return null;
  return {
    ...first,
    // No run has this number: nothing of another run is taken for its own.
    run_id: 0,
    parent_run_id: null,
    kind: "mesh",
    target: plural(mesh.runs.length, "run"),
    started_unix_ns: mesh.started_unix_ns,
    parameters: {},
    summary: null,
    diagnosis: null,
    no_diagnosis: null,
    clock_steps: [],
    series: mesh.series,
  };
}

export function meshArticle(together: Run, runs: number[]): HTMLElement {
  return h(
    "article",
    { class: "run", "data-run": 0 },
    h(
      "header",
      { class: "run-head" },
      h("p", { class: "kind" }, "Mesh"),
      h("h1", null, `All tests of ${plural(runs.length, "run")}`),
      h("p", { class: "when" }, `Runs ${runs.join(", ")}`),
    ),
    runBody(together),
  );
}
