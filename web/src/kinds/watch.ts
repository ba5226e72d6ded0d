// A watcher: the paths that it measured, from its start to its end.
import { dig, objects } from "../data/facts";
import { Table } from "../data/table";
import { h } from "../dom";
import { chartsOfPair, contextOfPair, happenedList, pairsOf } from "../drawings/watched";
import { count, percent, plural } from "../format";
import type { Description, Figure, Headline } from "./describe";

export const watch: Description = {
  kind: "watch",
  name: "Watched paths",
  figures: ({ run }): Figure[] => {
    const history = Table.of(run, "watch_history");
    const sent = history.sum("sent");
    return [
      { name: "pairs", value: count(objects(run.parameters, "plan", "pairs").length || pairsOf(run).length) },
      { name: "packets", value: count(sent) },
      { name: "loss rate", value: sent > 0 ? percent(history.sum("lost") / sent) : "–" },
      { name: "changes", value: count(Table.of(run, "watch_changes").length) },
    ];
  },
  headlines: ({ run }): Headline[] => {
    const changes = Table.of(run, "watch_changes").sortedBy("at_ns");
    const latest = changes.values("sentence").at(-1);
    const sentence =
      changes.length === 0
        ? "No figure of a path changed."
        : `${plural(changes.length, "change")} found; the last: ${String(latest)}.`;
    return [{ severity: changes.length === 0 ? "information" : "notice", sentence }];
  },
  sections: [
    {
      title: "Paths over time",
      overTime: true,
      drawings: [
        (context) => {
          const pairs = pairsOf(context.run);
          const charts = (pair: string) => chartsOfPair(contextOfPair(context, pair));
          if (pairs.length < 2) return pairs.flatMap(charts);
          const options = pairs.map((pair) => ({ name: pair, charts: () => charts(pair) }));
          return { type: "choice", id: "watch-pair", label: "Path", options };
        },
      ],
    },
    { title: "What happened", wide: true, drawings: [happenedList, ({ run }) => toHistory(run.parameters)] },
  ],
};

/** This run is a part of the past of its paths. */
function toHistory(parameters: unknown): HTMLElement | null {
  const here = dig(parameters, "here");
  // A report in a file has no server to ask.
  if (typeof here !== "string" || !location.protocol.startsWith("http")) return null;
  return h(
    "p",
    null,
    h("a", { href: `#/watch/host/${encodeURIComponent(here)}` }, `The whole past of ${here}'s paths`),
  );
}
