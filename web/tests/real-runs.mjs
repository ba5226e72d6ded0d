// Makes a database of real measurements for the browser tests: `node tests/real-runs.mjs`. All traffic stays on loopback
// and in namespaces of `weir lab run`, which need no root where users may make user namespaces.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { realLoad } from "./real-load.mjs";
import { background, change, copyOf, needBinary, sql, value, WEIR, weir } from "./weir.mjs";

export const ARTEFACTS = fileURLToPath(new URL("artefacts/", import.meta.url));
const folder = join(ARTEFACTS, "runs");
const database = join(folder, "runs.db");
const manifest = join(folder, "runs.json");

/** Markup as somebody might put into a note, a tag or a host name; a page that took it for its own would set `hacked`. */
export const MARKUP = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
export const TAG = "<b>tag</b>";

/** The databases, and the numbers of the runs in them by what they are. */
export function realRuns() {
  try {
    return JSON.parse(readFileSync(manifest, "utf8"));
  } catch {
    throw new Error(`there is no ${manifest}: run \`npm run real-runs\` first`);
  }
}

/** How long each test lasts also tells it from the others of its kind, and the seed a link from the others. */
const SECONDS = { lossy: 5, delayed: 4, clean: 3, near: 6, silent: 2, "silent-rtt": 1, interrupted: 50, killed: 60 };
const SEEDS = { "survey-link": 11, link: 12, "silent-link": 13, "media-link": 14, "delayed-link": 15 };
/** Runs of which there is one of its kind. */
const KINDS = ["survey", "send", "recv"];

const quote = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** Commands one after the other on the near host of a link; `far` runs on the other one meanwhile. */
function lab(seed, link, commands, { far = null, limit } = {}) {
  const script = commands
    .map((words) => (typeof words === "string" ? words : [WEIR, ...words, "--db", database, "-q"].map(quote).join(" ")))
    .join("\n");
  // A busy machine makes a link late: what is drawn is right all the same.
  const believe = ["--max-lateness", "10s", "--seed", String(seed), "--db", database, "-q"];
  const words = ["lab", "run", ...link, ...believe, ...(far ? ["--far", far] : []), "--", "sh", "-c"];
  return weir([...words, `${script}\nexit 0`], { limit });
}

const survey = () =>
  lab(
    SEEDS["survey-link"],
    ["--rate", "100Mbit/s", "--rtt", "4ms", "--routes", "2", "--set", "route.1.loss=2%", "--loss", "0.3%"],
    [["survey", "far", "--rate", "20Mbit/s", "--step", "400ms", "--max-flows", "4"]],
  );

const LOSSY = ["--rate", "200Mbit/s", "--rtt", "4ms", "--routes", "2", "--loss", "0.5%", "--set", "route.1.loss=3%"];

/** A route dark once in four seconds, for most of a minute: a busy machine begins to send whenever it can. */
const dark = (route, from, to) => {
  const spans = Array.from({ length: 14 }, (_, i) => `{from="${4 * i + from}s",to="${4 * i + to}s"}`);
  return ["--set", `route.${route}.dark=[${spans.join(",")}]`];
};

/** Both routes lose and are dark at times: wherever the flows of this run go, there is something to see. */
const lossy = () =>
  lab(SEEDS.link, LOSSY.concat(dark(0, 3.0, 3.4), dark(1, 3.8, 4.5)), [
    ["flows", "far", "--both", "--rate", "30Mbit/s", "--flows", "6", "--for", `${SECONDS.lossy}s`],
  ]);

/** So many packets that some are lost whichever route they take. */
const delayed = () =>
  lab(SEEDS["delayed-link"], LOSSY, [
    ["rtt", "far", ...WINDOWS, "--interval", "10ms", "--for", `${SECONDS.delayed}s`, "--timeout", "500ms"],
  ]);

const WINDOWS = ["--window", "1..10", "--length", "100..1400"];

/** The far host drops every packet of media, and lets the session and the search for the path MTU through. */
const silent = () =>
  lab(
    SEEDS["silent-link"],
    ["--rtt", "3ms"],
    [
      "sleep 0.5",
      ["flows", "far", "--length", "1200", "--bytes-per-frame", "34560", "--flows", "2", "--for", `${SECONDS.silent}s`],
      ["rtt", "far", "--length", "1200", "--interval", "50ms", "--for", `${SECONDS["silent-rtt"]}s`, "--timeout", "1s"],
    ],
    {
      far: [
        "nft add table inet weir",
        "nft add chain inet weir in '{ type filter hook input priority 0; }'",
        // Merged packets are longer than any single one.
        "nft add rule inet weir in udp length 700-1400 drop",
        "nft add rule inet weir in udp length 1600-65535 drop",
        "sleep 100",
      ].join(" && "),
    },
  );

/** Video from the far host to the near one: loss on both routes, and one of them is dark at times for most of a second. */
const media = () =>
  lab(
    SEEDS["media-link"],
    ["--rtt", "4ms", "--loss", "0.5%", "--routes", "2", ...dark(1, 3.0, 3.8), "--no-agent"],
    [["recv", "--from", "far", "--latency", "40ms", "--verify", "--wait", "10s"]],
    {
      far: [
        ...[WEIR, "send", "--test-pattern", "160x90@50:yuv422p10le", "--flows", "8", "--length", "700"],
        ...["--fec", "12/96", "--open", "--for", "6s", "--db", database, "-q"],
      ]
        .map(quote)
        .join(" "),
    },
  );

/** Starts an agent on loopback; gives its address. */
export async function loopbackAgent() {
  const ports = 20_000 + (process.pid % 400) * 100;
  const agent = await background(["agent", "--port", "0", "--udp-ports", `${ports}..${ports + 99}`, "--json"]);
  const address = JSON.parse(await agent.firstLine()).control.find((one) => one.startsWith("127."));
  return { address, stop: agent.stop };
}

export const find = (name, kind) =>
  sql(
    database,
    `SELECT run_id FROM runs WHERE kind = '${kind}' AND parent_run_id IS NULL AND ${
      SEEDS[name]
        ? `json_extract(parameters, '$.link.seed') = ${SEEDS[name]}`
        : `json_extract(parameters, '$.duration_ns') = ${SECONDS[name]}000000000`
    }`,
  )[0]?.run_id;

/** Starts a test, lets it send for a second, and ends it with that signal. */
async function endedBy(signal, name, address) {
  const test = await background([
    "flows",
    address,
    "--rate",
    "10Mbit/s",
    "--flows",
    "3",
    "--for",
    `${SECONDS[name]}s`,
    "--db",
    database,
    "-q",
  ]);
  const rows = () => {
    // The process is there before the file is, and the file before its tables are.
    if (!existsSync(database)) return 0;
    if (value(database, "SELECT count(*) FROM sqlite_master WHERE name = 'flow_seconds'") === 0) return 0;
    const id = find(name, "flows");
    return id ? value(database, `SELECT count(*) FROM flow_seconds WHERE run_id = ${id}`) : 0;
  };
  for (let tries = 0; rows() === 0; tries++) {
    if (tries > 60) throw new Error(`the test to end by ${signal} never stored a second`);
    await new Promise((wait) => setTimeout(wait, 250));
  }
  await test.stop(signal);
}

async function onLoopback() {
  const agent = await loopbackAgent();
  try {
    const to = (kind, name, ...options) =>
      weir([kind, agent.address, ...options, "--for", `${SECONDS[name]}s`, "--db", database, "-q"]);
    await endedBy("SIGKILL", "killed", agent.address);
    await endedBy("SIGINT", "interrupted", agent.address);
    await to("flows", "clean", "--rate", "20Mbit/s", "--flows", "4");
    await to("rtt", "near", ...WINDOWS, "--interval", "50ms");
  } finally {
    await agent.stop();
  }
}

/** Markup wherever a user or a foreign agent can put words. */
async function markUp(id) {
  await weir(["runs", "note", String(id), MARKUP, "--db", database]);
  await weir(["runs", "tag", String(id), TAG, "--db", database]);
  const text = `'${MARKUP}'`;
  change(
    database,
    `UPDATE runs SET target = ${text}, local_host = json_set(local_host, '$.name', ${text}),
       remote_host = json_set(remote_host, '$.name', ${text}, '$.kernel', ${text}) WHERE run_id = ${id}`,
  );
}

/** From its third second on, the clock of this run is behind, so that it shows times before the start. Gives by how much, ns. */
function setClockBack(path, id) {
  const tables = ["stream_seconds", "flow_seconds", "sender_seconds", "host_seconds", "flow_bursts", "stream_bursts"];
  // A busy machine begins to send some seconds after the run begins.
  const first = value(path, `SELECT min(unix_ns) FROM stream_seconds WHERE run_id = ${id}`);
  const back = 4000000000 + first - value(path, `SELECT started_unix_ns FROM runs WHERE run_id = ${id}`);
  const step = `SET unix_ns = unix_ns - ${back} WHERE run_id = ${id} AND unix_ns > ${first} + 1500000000;`;
  change(path, [...tables, "silences", "loss_windows"].map((name) => `UPDATE ${name} ${step}`).join("\n"));
  return back;
}

async function make() {
  needBinary(WEIR, "cargo build");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const began = Date.now();
  const [load] = await Promise.all([
    realLoad(folder),
    survey().then(media),
    lossy().then(delayed).then(silent),
    onLoopback(),
  ]);
  const ids = {};
  for (const kind of KINDS) ids[kind] = value(database, `SELECT max(run_id) FROM runs WHERE kind = '${kind}'`);
  for (const name of Object.keys(SECONDS)) ids[name] = find(name, /rtt|delayed|near/.test(name) ? "rtt" : "flows");
  for (const name of Object.keys(SEEDS)) ids[name] = find(name, "lab");
  const missing = Object.keys(ids).filter((name) => !ids[name]);
  if (missing.length > 0) throw new Error(`not measured: ${missing.join(", ")}`);
  ids.marked = ids.clean;
  await markUp(ids.marked);
  const stepped = copyOf(database, join(folder, "clock-step.db"));
  const back = setClockBack(stepped, ids.lossy);
  const newer = copyOf(database, join(folder, "newer.db"));
  change(newer, `PRAGMA user_version = ${value(database, "PRAGMA user_version") + 1}`);
  writeFileSync(manifest, JSON.stringify({ database, stepped, back, newer, ids, load }));
  console.log(
    `${Object.keys(ids).length} real runs in ${database}, made in ${Math.round((Date.now() - began) / 1000)} s`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  make().catch((error) => {
    console.error(`error: ${error.message}`);
    process.exit(1);
  });
}
