// Real load on an origin for the browser tests: players on a link that is too slow for all of them. They have a database of their
// own.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { value, WEIR, weir } from "./weir.mjs";

/** A film of 24 s and 364 kbit/s, as constant as an encoder can be. */
const FILM = [
  ..."-v error -y -f lavfi -i testsrc2=size=320x180:rate=24:duration=24 -f lavfi -i sine=duration=24".split(" "),
  ..."-c:v libx264 -preset ultrafast -g 48 -b:v 300k -minrate 300k -maxrate 300k -bufsize 300k".split(" "),
  ..."-x264-params nal-hrd=cbr:scenecut=0 -c:a aac -b:a 64k -movflags +faststart".split(" "),
];

/** Rate of the link; each of the six viewers takes 364 kbit/s. */
const LINK = ["--rate", "1500kbit/s", "--rtt", "10ms", "--seed", "15"];
const PLAYERS = "--play real-time --viewers 0..6 --over 6s --for 16s --session 8s --buffer 4s";

/** Makes them in this folder; gives the database, and the number of the run. */
export async function realLoad(folder) {
  const database = join(folder, "load.db");
  const titles = join(folder, "titles");
  mkdirSync(join(titles, "film"), { recursive: true });
  execFileSync("ffmpeg", [...FILM, join(titles, "film", "film.mp4")]);
  await weir([
    ...["lab", "run", ...LINK, "--max-lateness", "10s", "--no-agent", "--db", database, "-q"],
    ...["--far", `'${WEIR}' origin '${titles}' --segment 2s --listen 0.0.0.0:8080`],
    ...["--", "sh", "-c"],
    `sleep 1; '${WEIR}' load http://far:8080/film/manifest.mpd ${PLAYERS} --yes-really-load-this-host --db '${database}' -q`,
  ]);
  return { database, players: value(database, "SELECT max(run_id) FROM runs WHERE kind = 'load'") };
}
