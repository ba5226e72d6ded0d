// Tests between places: over distance, by pair, and on the map.
import { meshOf } from "../data/mesh";
import { rttByClouds, rttOverDistance, throughputByClouds, throughputOverDistance } from "../drawings/mesh-distance";
import { placesMap, rttMatrix, throughputMatrix } from "../drawings/mesh-places";
import { failuresTable, fitsTable, impossibleTable, tcpTable, udpTable, windowsTable } from "../drawings/mesh-tables";
import { throughputOverRtt } from "../drawings/mesh-throughput";
import { binary, count, digits, plural } from "../format";
import type { Context, Description, Figure, Headline } from "./describe";

/** With so many charts of two clouds, or fewer, they need not be unfolded. */
const FEW = 4;

function figures({ run }: Context): Figure[] {
  const { tests, places, pairs, fits, windows, failures } = meshOf(run);
  if (tests.length + failures.length === 0) return [];
  const found: Figure[] = [
    {
      name: "tests",
      value: count(tests.length),
      detail: `${plural(pairs.size, "pair")} of ${plural(places.length, "place")}`,
    },
  ];
  for (const fit of fits.filter((one) => one.group === "all")) {
    const r = `r = ${digits(fit.correlation)}`;
    if (fit.quantity === "rtt") found.push({ name: "RTT per 1,000 km", value: `${digits(fit.slope)} ms`, detail: r });
    else found.push({ name: "throughput per 1,000 km", value: `${digits((10 ** fit.slope - 1) * 100)} %`, detail: r });
  }
  const [first, ...others] = windows.filter((window) => window.isCloud);
  if (first)
    found.push({
      name: "window implied",
      value: binary(first.medianBytes),
      detail: [`towards ${first.to}`, ...others.map((one) => `${binary(one.medianBytes)} towards ${one.to}`)].join(
        ", ",
      ),
    });
  return found;
}

function headlines({ run }: Context): Headline[] {
  const { tests, failures } = meshOf(run);
  const found: Headline[] = [];
  const fast = tests.tooFast.filter(Boolean).length;
  if (failures.length > 0)
    found.push({
      severity: tests.length === 0 ? "fault" : "notice",
      sentence: `${plural(failures.length, "test")} of ${count(tests.length + failures.length)} failed; the reasons are below.`,
    });
  if (fast > 0)
    found.push({
      severity: "notice",
      sentence: `${plural(fast, "test")} had an RTT below that of light in fibre: the coordinates of a place are wrong.`,
    });
  if (found.length === 0 && tests.length > 0)
    found.push({ severity: "information", sentence: `All ${plural(tests.length, "test")} completed.` });
  return found;
}

export const mesh: Description = {
  kind: "mesh",
  name: "Mesh",
  figures,
  headlines,
  sections: [
    { title: "Round-trip time against distance", wide: true, drawings: [rttOverDistance] },
    { title: "Round-trip time from one cloud to another", folded: FEW, drawings: [rttByClouds] },
    { title: "Throughput against distance", wide: true, drawings: [throughputOverDistance] },
    { title: "Throughput from one cloud to another", folded: FEW, drawings: [throughputByClouds] },
    { title: "Throughput and round-trip time", wide: true, drawings: [throughputOverRtt] },
    { title: "Pairs", wide: true, drawings: [rttMatrix, throughputMatrix] },
    { title: "Places", wide: true, drawings: [placesMap] },
    {
      title: "Numbers",
      wide: true,
      drawings: [fitsTable, windowsTable, tcpTable, udpTable, impossibleTable, failuresTable],
    },
  ],
  showParts: true,
};
