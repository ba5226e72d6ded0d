// Manifests of the origin, read by others: MPDs held against a grammar of ISO/IEC 23009-1 by xmllint, and all of them
// read by mpd-parser and m3u8-parser, which have to come to the same segments.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Parser } from "m3u8-parser";
import { parse } from "mpd-parser";
import { background, run } from "./weir.mjs";

const GRAMMAR = fileURLToPath(new URL("mpd.rng", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "weir-manifests-"));
let demo = null;
let base = null;

before(async () => {
  demo = await background(["origin", "demo", "--duration", "11s", "--listen", "127.0.0.1:0", "--json"]);
  base = `${JSON.parse(await demo.firstLine()).url}demo/`;
});

after(async () => {
  await demo?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function text(address) {
  const answer = await fetch(new URL(address, base));
  assert.equal(answer.status, 200, address);
  return answer.text();
}

function playlist(source) {
  const parser = new Parser();
  const warned = [];
  parser.on("warn", ({ message }) => warned.push(message));
  parser.push(source);
  parser.end();
  assert.deepEqual(warned, []);
  return parser.manifest;
}

async function holdAgainstGrammar(name, source) {
  const file = join(folder, `${name}.mpd`);
  writeFileSync(file, source);
  return run("xmllint", ["--noout", "--relaxng", GRAMMAR, file]);
}

/** MPDs there are, by what is asked for. */
const MPDS = {
  whole: "manifest.mpd",
  filtered: "manifest.mpd?filter=height<=480;language=de",
  clipped: "manifest.mpd?start=3&end=9",
  "on-demand": "on-demand.mpd",
};

for (const [name, address] of Object.entries(MPDS))
  test(`the MPD is of the grammar: ${name}`, async () => {
    await holdAgainstGrammar(name, await text(address));
  });

test("the grammar refuses what is no MPD", async () => {
  const whole = await text("manifest.mpd");
  const broken = {
    order: whole.replace(/(\s*<Role [^>]*>)(\s*<SegmentTemplate[\s\S]*?<\/SegmentTemplate>)/, "$2$1"),
    missing: whole.replace(/ minBufferTime="[^"]*"/, ""),
    type: whole.replace(/ bandwidth="\d+"/, ' bandwidth="fast"'),
  };
  for (const [name, source] of Object.entries(broken)) {
    assert.notEqual(source, whole, name);
    await assert.rejects(holdAgainstGrammar(name, source), /fails to validate/, name);
  }
});

const rounded = (seconds) => Math.round(seconds * 1e5) / 1e5;

for (const query of ["", "?start=3&end=9"])
  test(`both parsers find the same segments ${query}`, async () => {
    const mpd = parse(await text(`manifest.mpd${query}`), { manifestUri: `${base}manifest.mpd` });
    const master = playlist(await text(`master.m3u8${query}`));
    assert.equal(mpd.playlists.length, 3);
    assert.equal(master.playlists.length, 3);
    const byHeight = (all) => new Map(all.map((one) => [one.attributes.RESOLUTION.height, one]));
    const [dash, hls] = [byHeight(mpd.playlists), byHeight(master.playlists)];
    assert.deepEqual([...dash.keys()].sort(), [...hls.keys()].sort());
    const sound = (manifest, group) => Object.values(manifest.mediaGroups.AUDIO[group] ?? {});
    const languages = (all) => all.map((one) => one.language).sort();
    const hlsSound = sound(master, Object.keys(master.mediaGroups.AUDIO)[0]);
    const dashSound = sound(mpd, "audio");
    assert.deepEqual(languages(hlsSound), ["de", "en"]);
    assert.deepEqual(languages(dashSound), ["de", "en"]);
    assert.deepEqual(
      languages(Object.values(master.mediaGroups.SUBTITLES.subtitles ?? {})),
      languages(Object.values(mpd.mediaGroups.SUBTITLES.subs ?? {})),
    );
    const pairs = [
      ...[...dash].map(([height, one]) => [one, hls.get(height).uri]),
      ...dashSound.map((one) => [one.playlists[0], hlsSound.find((other) => other.language === one.language).uri]),
    ];
    for (const [ours, uri] of pairs) {
      const media = playlist(await text(uri));
      assert.ok(media.endList);
      const told = (segments, from) =>
        segments.map((segment) => ({
          at: new URL(segment.resolvedUri ?? segment.uri, from).href,
          duration: rounded(segment.duration),
        }));
      const from = new URL(uri, base);
      assert.deepEqual(told(ours.segments, base), told(media.segments, from), uri);
      for (const { duration } of media.segments) assert.ok(Math.round(duration) <= media.targetDuration);
      for (const { map } of media.segments) assert.equal(map.uri, "init.mp4");
    }
  });

test("variants say what they take", async () => {
  const master = playlist(await text("master.m3u8"));
  for (const { attributes, uri } of master.playlists) {
    const media = playlist(await text(uri));
    let most = 0;
    for (const segment of media.segments) {
      const answer = await fetch(new URL(segment.uri, new URL(uri, base)), { method: "HEAD" });
      most = Math.max(most, (Number(answer.headers.get("content-length")) * 8) / segment.duration);
    }
    assert.match(attributes.CODECS, /^avc1\.[0-9A-Fa-f]{6},mp4a\.40\.2$/);
    assert.equal(attributes["FRAME-RATE"], 25);
    // The audio that goes with it is in the figure too.
    assert.ok(
      attributes.BANDWIDTH >= most && attributes.BANDWIDTH < most + 200_000,
      `${attributes.BANDWIDTH}, ${most}`,
    );
    assert.ok(attributes["AVERAGE-BANDWIDTH"] <= attributes.BANDWIDTH);
  }
  assert.equal(master.iFramePlaylists?.length, 3);
});
