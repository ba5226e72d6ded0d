// Real load on an origin for the browser tests: an experiment, and players on a link that is too slow for all of them. They
// have a database of their own.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { value, WEIR, weir } from "./weir.mjs";

/** The storage is so far away that who reads the index for each request, as C does, is told apart from who does not. */
const EXPERIMENT = `
name = "real"
description = "Two configurations of an origin, for a few seconds each."

[titles]
duration = "24s"
audio = "64kbit/s"

[storage]
delay = "300ms"

[[part]]
name = "configurations"
configurations = ["C", "E"]
segments = ["2s"]
video = ["300kbit/s"]
viewers = ["0..5"]
duration = "5s"

[[part]]
name = "model"
model = true
configurations = ["E"]
segments = ["2s", "4s"]
video = ["300kbit/s"]
viewers = ["4"]
duration = "3s"

[[part]]
name = "viewers"
configurations = ["E"]
segments = ["2s"]
video = ["300kbit/s"]
viewers = ["3"]
duration = "9s"
options = ["--play", "real-time"]

[published]
source = "Somebody, Table 1"
part = "configurations"

[[published.row]]
configuration = "C"
in = "4.288Gbit/s"
out = "1.256Gbit/s"
efficiency = 0.293

[[published.row]]
configuration = "E"
in = "1.327Gbit/s"
out = "1.297Gbit/s"
efficiency = 0.977
`;

/** Rate of the link; each of the six viewers takes 364 kbit/s. */
const LINK = ["--rate", "1500kbit/s", "--rtt", "10ms", "--seed", "15"];
const PLAYERS = "--play real-time --viewers 0..6 --over 6s --for 16s --session 8s --buffer 4s";

/** Makes them in this folder; gives the database, and the numbers of the runs by what they are. */
export async function realLoad(folder) {
  const database = join(folder, "load.db");
  const titles = join(folder, "titles");
  const file = join(folder, "experiment.toml");
  writeFileSync(file, EXPERIMENT);
  await weir(["load", "experiment", file, "--titles-folder", titles, "--db", database, "-q"], { limit: 180_000 });
  const url = "http://far:8080/300k-64k-24s/manifest.mpd";
  await weir([
    ...["lab", "run", ...LINK, "--max-lateness", "10s", "--no-agent", "--db", database, "-q"],
    ...["--far", `'${WEIR}' origin '${titles}' --segment 2s --listen 0.0.0.0:8080`],
    ...["--", "sh", "-c"],
    `sleep 1; '${WEIR}' load ${url} ${PLAYERS} --yes-really-load-this-host --db '${database}' -q`,
  ]);
  const newest = (kind) =>
    value(database, `SELECT max(run_id) FROM runs WHERE kind = '${kind}' AND parent_run_id IS NULL`);
  return { database, experiment: newest("experiment"), players: newest("load") };
}
