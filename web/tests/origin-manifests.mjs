// Manifests of the origin, read by others: MPDs held against a grammar of ISO/IEC 23009-1 by xmllint, and all of them
// read by mpd-parser and m3u8-parser, which have to come to the same segments.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
/** An origin with the same media, described and protected. */
let other = null;
let others = null;

const KEY_ID = "10000000-2000-3000-4000-500000000000";
/** A box of Widevine's, with no data. */
const PSSH = "AAAAIHBzc2gAAAAA7e+LqXnWSs6jyCfc1R0h7QAAAAA=";
const LICENCE = "https://licences.example.net/clearkey?a=1&b=2";
const KEY_ADDRESS = "https://keys.example.net/key";
/** With what XML does not take as it is. */
const LABELS = ["English & <more>", "Deutsch"];

/** Titles that say labels and roles, one for each scheme and one that is clear, and the rules that protect them. */
function makeTitles(films) {
  const rule = (title, scheme) =>
    `[[title]]\npath = "${title}"\nscheme = "${scheme}"\nkey_id = "${KEY_ID}"\nkey = "00112233445566778899aabbccddeeff"\n` +
    `key_url = "${KEY_ADDRESS}"\n${scheme === "aes-128" ? "" : `licence_url = "${LICENCE}"\npssh = ["${PSSH}"]\n`}`;
  for (const title of ["clear", "cenc", "cbcs", "aes-128"]) {
    mkdirSync(join(films, title));
    for (const name of ["video-480p.mp4", "sound-english.mp4", "sound-german.mp4", "de.vtt"])
      cpSync(join(films, "demo", name), join(films, title, name));
    writeFileSync(
      join(films, title, "title.toml"),
      `[[track]]\nfile = "video-480p.mp4"\n` +
        `[[track]]\nfile = "sound-english.mp4"\nlabel = "${LABELS[0]}"\nroles = ["main"]\n` +
        `[[track]]\nfile = "sound-german.mp4"\nlabel = "${LABELS[1]}"\nroles = ["dub"]\n` +
        `[[subtitles]]\nfile = "de.vtt"\nlanguage = "de"\nlabel = "Untertitel"\nroles = ["caption"]\n`,
    );
  }
  const keys = join(folder, "keys.toml");
  writeFileSync(keys, ["cenc", "cbcs", "aes-128"].map((title) => rule(title, title)).join("\n"));
  return keys;
}

before(async () => {
  const films = join(folder, "films");
  mkdirSync(films);
  const words = ["--folder", films, "--duration", "11s", "--listen", "127.0.0.1:0", "--json"];
  demo = await background(["origin", "demo", ...words]);
  base = `${JSON.parse(await demo.firstLine()).url}demo/`;
  const keys = makeTitles(films);
  other = await background(["origin", films, "--keys", keys, "--listen", "127.0.0.1:0"]);
  others = await other.firstLine();
});

after(async () => {
  await demo?.stop();
  await other?.stop();
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

const bytes = (base64) => [...Buffer.from(base64, "base64")];
/** Lines of a tag, without its name. */
const lines = (source, tag) =>
  source
    .split("\n")
    .filter((line) => line.startsWith(`${tag}:`))
    .map((line) => line.slice(tag.length + 1));

for (const [scheme, method] of [
  ["cenc", "SAMPLE-AES-CTR"],
  ["cbcs", "SAMPLE-AES"],
])
  test(`both parsers read how a title is protected: ${scheme}`, async () => {
    const source = await text(`${others}${scheme}/manifest.mpd`);
    await holdAgainstGrammar(`protected-${scheme}`, source);
    assert.ok(source.includes(`>${LICENCE.replaceAll("&", "&amp;")}</dashif:Laurl>`), source);
    const mpd = parse(source, { manifestUri: `${others}${scheme}/manifest.mpd` });
    const sound = Object.values(mpd.mediaGroups.AUDIO.audio).map((one) => one.playlists[0]);
    for (const { contentProtection } of [...mpd.playlists, ...sound]) {
      assert.deepEqual([...contentProtection["com.widevine.alpha"].pssh], bytes(PSSH));
      const { value, "cenc:default_KID": keyId } = contentProtection.mp4protection.attributes;
      assert.deepEqual([value, keyId], [scheme, KEY_ID]);
    }

    const multivariant = await text(`${others}${scheme}/master.m3u8`);
    const master = playlist(multivariant);
    const uris = [
      ...master.playlists.map(({ uri }) => uri),
      ...Object.values(Object.values(master.mediaGroups.AUDIO)[0]).map(({ uri }) => uri),
    ];
    assert.equal(uris.length, 3);
    for (const uri of uris) {
      const written = await text(`${others}${scheme}/${uri}`);
      const media = playlist(written);
      // The parser keeps the last of the keys that are no other system's: the licence.
      for (const { key } of media.segments) assert.deepEqual({ ...key }, { method, uri: LICENCE });
      const { attributes, pssh } = media.contentProtection["com.widevine.alpha"];
      assert.equal(attributes.keyId, KEY_ID.replaceAll("-", ""));
      assert.deepEqual([...pssh], bytes(PSSH));
      const keys = lines(written, "#EXT-X-KEY");
      assert.equal(keys.length, 3);
      assert.match(keys[0], new RegExp(`^METHOD=${method},URI="${KEY_ADDRESS}",KEYFORMAT="identity"`));
      assert.deepEqual(lines(multivariant, "#EXT-X-SESSION-KEY"), keys);
    }
  });

test("segments that are encrypted as wholes have a key in HLS, and no MPD", async () => {
  const answer = await fetch(`${others}aes-128/manifest.mpd`);
  assert.equal(answer.status, 404);
  const multivariant = await text(`${others}aes-128/master.m3u8`);
  const [variant] = playlist(multivariant).playlists;
  const written = await text(`${others}aes-128/${variant.uri}`);
  for (const { key } of playlist(written).segments) {
    assert.equal(key.method, "AES-128");
    assert.equal(key.uri, KEY_ADDRESS);
    assert.equal(key.iv.length, 4);
  }
  assert.deepEqual(lines(multivariant, "#EXT-X-SESSION-KEY"), lines(written, "#EXT-X-KEY"));
});

test("labels and roles reach both parsers", async () => {
  const source = await text(`${others}clear/manifest.mpd`);
  await holdAgainstGrammar("described", source);
  const mpd = parse(source, { manifestUri: `${others}clear/manifest.mpd` });
  const sound = mpd.mediaGroups.AUDIO.audio;
  assert.deepEqual(Object.keys(sound), LABELS);
  assert.deepEqual(
    LABELS.map((label) => sound[label].default),
    [true, false],
  );
  assert.deepEqual(Object.keys(mpd.mediaGroups.SUBTITLES.subs), ["Untertitel"]);
  const roles = [...source.matchAll(/<Role schemeIdUri="urn:mpeg:dash:role:2011" value="([^"]+)"/g)];
  for (const role of ["main", "dub", "caption"])
    assert.ok(
      roles.some(([, value]) => value === role),
      role,
    );
  const master = playlist(await text(`${others}clear/master.m3u8`));
  const [group] = Object.values(master.mediaGroups.AUDIO);
  assert.deepEqual(Object.keys(group), LABELS);
  assert.deepEqual(Object.keys(Object.values(master.mediaGroups.SUBTITLES)[0]), ["Untertitel"]);
});

for (const title of ["clear", "cbcs"])
  test(`I-frame playlists have a picture of each segment: ${title}`, async () => {
    const master = playlist(await text(`${others}${title}/master.m3u8`));
    assert.equal(master.iFramePlaylists.length, 1);
    const { attributes } = master.iFramePlaylists[0];
    const address = new URL(attributes.URI, `${others}${title}/`);
    const frames = playlist(await text(address));
    const media = playlist(await text(new URL(master.playlists[0].uri, `${others}${title}/`)));
    assert.equal(frames.iFramesOnly, true);
    const durations = ({ segments }) => segments.map(({ duration }) => duration);
    assert.deepEqual(durations(frames), durations(media));
    for (const [number, { uri, byterange }] of frames.segments.entries()) {
      const wanted = byterange && { Range: `bytes=${byterange.offset}-${byterange.offset + byterange.length - 1}` };
      const answer = await fetch(new URL(uri, address), { headers: wanted ?? {} });
      assert.equal(answer.status, wanted ? 206 : 200, uri);
      const length = (await answer.arrayBuffer()).byteLength;
      if (wanted) assert.deepEqual([uri, length], [media.segments[number].uri, byterange.length]);
      else assert.equal(uri, `sync-${media.segments[number].uri}`);
      assert.ok(length > 0 && length * 8 <= attributes.BANDWIDTH * Math.ceil(frames.targetDuration));
    }
  });

test("the playlist of subtitles is their file", async () => {
  const master = playlist(await text(`${others}clear/master.m3u8`));
  const [{ uri }] = Object.values(Object.values(master.mediaGroups.SUBTITLES)[0]);
  const address = new URL(uri, `${others}clear/`);
  const subtitles = playlist(await text(address));
  const mpd = parse(await text(`${others}clear/manifest.mpd`), { manifestUri: `${others}clear/manifest.mpd` });
  assert.equal(subtitles.segments.length, 1);
  assert.ok(subtitles.endList);
  assert.equal(rounded(subtitles.segments[0].duration), rounded(mpd.duration));
  assert.match(await text(new URL(subtitles.segments[0].uri, address)), /^WEBVTT\n/);
});
