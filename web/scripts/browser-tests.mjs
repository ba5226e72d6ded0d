// Runs the tests in a browser, all of them even if some fail.
import { readdirSync } from "node:fs";
import { relative } from "node:path";
import { run } from "node:test";
import { tap } from "node:test/reporters";

const all = readdirSync("tests");
const recorded = ["report", "media", "load", "pacing", "mesh"].map((name) => `tests/${name}.browser.mjs`);
const named = (pattern) => {
  const files = all.filter((name) => pattern.test(name)).map((name) => `tests/${name}`);
  if (files.length === 0) throw new Error(`no tests are named ${pattern}`);
  return files;
};
// Real runs and players wait more than they compute, so the players have a lane of their own.
const lanes = [
  [
    { files: recorded, concurrency: 1 },
    { files: named(/^real-.*\.browser\.mjs$/), concurrency: 2 },
  ],
  [{ files: named(/^origin-.*\.mjs$/), concurrency: 1 }],
];

/** What a file's tests may take: several times what any takes on a busy machine, and less than anybody waits for all. */
const LIMIT_MS = 1_200_000;

/** The files of which a test fails; what is printed stays together. */
async function failing({ files, concurrency }) {
  const failed = new Set();
  const tests = run({ files, concurrency, timeout: LIMIT_MS });
  tests.on("test:fail", ({ file, name }) => failed.add(relative(".", file ?? name)));
  const printed = [];
  for await (const text of tests.compose(tap)) printed.push(text);
  process.stdout.write(printed.join(""));
  return [...failed];
}

async function failingInTurn(groups) {
  const failed = [];
  for (const group of groups) failed.push(...(await failing(group)));
  return failed;
}

const failed = (await Promise.all(lanes.map(failingInTurn))).flat();
if (failed.length > 0) console.error(`error: tests failed in ${failed.join(" ")}`);
process.exitCode = failed.length > 0 ? 1 : 0;
