// Makes dist/player: the files of the origin's page, each compressed as it is embedded and sent. The players are their
// makers' own files, byte for byte. A file whose content is what it was is left as it is: compressors differ.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";

/** Bytes of all files together, compressed. */
const LIMIT = 900_000;
const root = new URL("../", import.meta.url);
const dist = new URL("dist/player/", root);
const read = (path) => readFileSync(new URL(path, root));

const PACKAGES = {
  "dash.js": { name: "dashjs", file: "dist/modern/umd/dash.all.min.js", licence: "LICENSE.md" },
  "hls.js": { name: "hls.js", file: "dist/hls.min.js", licence: "LICENSE" },
  "shaka.js": { name: "shaka-player", file: "dist/shaka-player.compiled-es2021.js", licence: "LICENSE" },
};

/** What dash.js takes in says so in a file beside it, and not in the file itself. */
const TAKEN_IN = "node_modules/dashjs/dist/modern/umd/dash.all.min.js.LICENSE.txt";

function licences() {
  const parts = Object.values(PACKAGES).map(({ name, licence }) => {
    const { version, license } = JSON.parse(read(`node_modules/${name}/package.json`));
    const text = read(`node_modules/${name}/${licence}`).toString("utf8").trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  const taken = read(TAKEN_IN).toString("utf8").trim();
  return `${[...parts, `What dashjs takes in\n\n${taken}\n`].join(`\n${"=".repeat(78)}\n\n`)}`;
}

function files() {
  const built = readdirSync(new URL(".build/player/", root)).sort();
  const expected = ["index.html", "page.css", "page.js"];
  if (built.join() !== expected.join())
    throw new Error(`the build has ${built.join(", ")}, not ${expected.join(", ")}`);
  const all = built.map((name) => [name, read(`.build/player/${name}`)]);
  for (const [name, { name: folder, file }] of Object.entries(PACKAGES))
    all.push([name, read(`node_modules/${folder}/${file}`)]);
  all.push(["licences.txt", Buffer.from(licences(), "utf8")]);
  return all;
}

mkdirSync(dist, { recursive: true });
let bytes = 0;
const names = new Set();
for (const [name, content] of files()) {
  const to = new URL(`${name}.gz`, dist);
  names.add(`${name}.gz`);
  if (!existsSync(to) || !gunzipSync(readFileSync(to)).equals(content))
    writeFileSync(to, gzipSync(content, { level: 9 }));
  bytes += readFileSync(to).length;
}
for (const name of readdirSync(dist)) if (!names.has(name)) rmSync(new URL(name, dist));
console.log(`the origin's page: ${bytes} of ${LIMIT} bytes, compressed`);
if (bytes > LIMIT) process.exit(1);
