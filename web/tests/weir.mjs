// The built weir as a user runs it, and its database read past it: by Python's sqlite3, which shares nothing with Weir.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const WEIR = process.env.WEIR
  ? resolve(process.env.WEIR)
  : fileURLToPath(new URL("../../target/debug/weir", import.meta.url));

const running = new Set();
// A test that throws must leave no process behind.
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Fails with one line where there is nothing to test. */
export function needBinary(path, making) {
  if (!existsSync(path)) throw new Error(`there is no ${path}: run \`${making}\` first`);
}

/** The example `name` of a crate, in release if it is there; the variable of its name in capitals is another's path. */
export function example(name, crate) {
  const built = ["release", "debug"].map((profile) =>
    fileURLToPath(new URL(`../../target/${profile}/examples/${name}`, import.meta.url)),
  );
  const found = process.env[name.toUpperCase()] ?? built.find((path) => existsSync(path)) ?? built[0];
  needBinary(found, `cargo build --release -p ${crate} --example ${name}`);
  return found;
}

// What the user has set for a weir of their own must not reach the tests'; a page must not open by itself.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(WEIR_|DISPLAY$|WAYLAND_DISPLAY$)/.test(name)),
);

function start(program, args, { cwd } = {}) {
  const child = spawn(program, args, { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    child[name].setEncoding("utf8");
    child[name].on("data", (text) => {
      said[name] += text;
    });
  }
  const ended = new Promise((done, fail) => {
    child.on("error", (error) => {
      running.delete(child);
      fail(error);
    });
    child.on("close", (code, signal) => {
      running.delete(child);
      done({ code, signal, ...said });
    });
  });
  return { child, said, ended };
}

/** Runs a command to its end, which has to come, and with that status; gives what it printed. */
export async function run(program, args, { status = 0, limit = 90_000, ...options } = {}) {
  const { child, ended } = start(program, args, options);
  const timer = setTimeout(() => child.kill("SIGKILL"), limit);
  const done = await ended.finally(() => clearTimeout(timer));
  if (done.code !== status) {
    throw new Error(
      `${program} ${args.join(" ")}\nended with ${done.signal ?? done.code}, not ${status}:\n${done.stderr || done.stdout}`,
    );
  }
  return done;
}

export const weir = (args, options) => run(WEIR, args, options);

/** Starts weir; `firstLine` waits for its first line on standard output, `told` for a match on standard error. */
export async function background(args, options) {
  const { child, said, ended } = start(WEIR, args, options);
  const stop = (signal = "SIGINT") => {
    child.kill(signal);
    return ended;
  };
  const matched = (stream, pattern) =>
    new Promise((done, fail) => {
      const look = () => {
        const match = said[stream].match(pattern);
        if (match) done(match[1]);
      };
      child[stream].on("data", look);
      ended.then(
        () => fail(new Error(`weir ${args.join(" ")} ended and did not say ${pattern}: ${said.stderr}`)),
        fail,
      );
      look();
    });
  const firstLine = () => matched("stdout", /^(.*)\n/);
  const told = (pattern) => matched("stderr", pattern);
  return { stop, ended, firstLine, told };
}

const PYTHON = `
import json, sqlite3, sys
path, script = sys.argv[1], sys.stdin.read()
if sys.argv[2] == "read":
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    print(json.dumps([dict(row) for row in connection.execute(script)]))
else:
    connection = sqlite3.connect(path, timeout=20, isolation_level=None)
    connection.executescript(script)
`;

function python(database, how, text) {
  const done = spawnSync("python3", ["-c", PYTHON, database, how], { input: text, maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(`${text}\n${done.error ?? done.stderr}`);
  return done.stdout.toString();
}

/** Rows of a query, each by its columns' names. */
export const sql = (database, query) => JSON.parse(python(database, "read", query));

/** The one value of a query of one row and one column. */
export const value = (database, query) => Object.values(sql(database, query)[0])[0];

/** Runs statements that change a database: what no command of Weir would do to it. */
export const change = (database, statements) => {
  python(database, "change", statements);
};

/** A whole copy of a database, in one file. */
export function copyOf(database, to) {
  python(database, "change", `VACUUM INTO '${to}'`);
  return to;
}

const HOLD = `
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN EXCLUSIVE")
connection.execute("UPDATE runs SET last_unix_ns = last_unix_ns")
print("held", flush=True)
sys.stdin.read()
`;

/** Another program that holds the database for itself alone, until it is let go. */
export async function hold(database) {
  const child = spawn("python3", ["-c", HOLD, database], { stdio: ["pipe", "pipe", "inherit"] });
  running.add(child);
  const ended = new Promise((done) => child.on("close", done));
  await Promise.race([
    new Promise((done) => child.stdout.once("data", done)),
    ended.then(() => {
      throw new Error(`${database} could not be locked`);
    }),
  ]);
  return async () => {
    child.stdin.end();
    await ended;
    running.delete(child);
  };
}
