// A workflow of media functions on a testbed.
import { dig, num } from "../data/facts";
import { busyCores, limits, responseTimes, sinkTable, taskName, tasksOf, taskTable } from "../drawings/testbed";
import { digits, nanoseconds, rate } from "../format";
import type { Description, Figure, Headline } from "./describe";

export const testbed: Description = {
  kind: "testbed",
  name: "Testbed",
  figures: ({ run }): Figure[] => {
    const efficiency = num(dig(run.summary, "efficiency"));
    const found: Figure[] = [
      { name: "OUT to viewers", value: rate(num(dig(run.summary, "viewers_bps"))) },
      { name: "IN from storage", value: rate(num(dig(run.summary, "storage_bps"))) },
      { name: "OUT/IN", value: efficiency === null ? "–" : digits(efficiency) },
    ];
    for (const [name, value] of Object.entries((dig(run.summary, "varied") ?? {}) as object))
      found.push({ name, value: String(value) });
    const length = num(dig(run.summary, "duration_ns"));
    if (length !== null) found.push({ name: "measured", value: nanoseconds(length) });
    for (const task of tasksOf(run)) {
      const viewers = num(dig(task, "capacity", "viewers"));
      if (viewers !== null) found.push({ name: "capacity", value: digits(viewers, 6), detail: "viewers" });
    }
    return found;
  },
  headlines: ({ run }): Headline[] => {
    if (run.outcome === "running")
      return [{ severity: "information", sentence: "The workflow is running; results appear when it has ended." }];
    const failed = tasksOf(run).filter((task) => task.state === "in-error");
    const found: Headline[] = failed.map((task) => ({
      severity: "fault",
      sentence: `The task ${taskName(task)} ended in error.`,
    }));
    for (const task of limits(run))
      found.push({
        severity: "information",
        sentence: `${taskName(task)} was the limit: it used all of its own CPU time.`,
      });
    if (tasksOf(run).length > 0 && limits(run).length === 0)
      found.push({
        severity: "notice",
        sentence:
          "No task used all of its own CPU time: rates are those of the workload and of round trips, not a capacity.",
      });
    return found;
  },
  sections: [
    { title: "What went through", wide: true, drawings: [taskTable, sinkTable, responseTimes] },
    { title: "What it cost", wide: true, drawings: [busyCores] },
  ],
  showParts: true,
};
