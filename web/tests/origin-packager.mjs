// What the origin makes of files, beside what shaka-packager makes of them: every field of every box of initialisation
// and media segments, read by mp4box, which shares nothing with either. What differs has to be explained in
// docs/shaka-packager.md; a difference that is not there fails.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createFile } from "mp4box";
import { background, run } from "./weir.mjs";

const PACKAGER = fileURLToPath(
  new URL(`../node_modules/shaka-packager/bin/packager-linux-${process.arch}`, import.meta.url),
);
const EXPLAINED = fileURLToPath(new URL("../../docs/shaka-packager.md", import.meta.url));
/** Seconds of a segment. */
const SEGMENT = 2;

const folder = mkdtempSync(join(tmpdir(), "weir-packager-"));
/** What the packager makes; apart, since what is in the origin's folder is a title. */
const packaged = mkdtempSync(join(tmpdir(), "weir-packaged-"));
let demo = null;
let url = null;

/** Codecs that the demo does not have, each a title of its own, and how ffmpeg makes them. */
const OTHERS = {
  hevc: "-f lavfi -i testsrc2=size=320x180:rate=25:duration=6 -c:v libx265 -preset ultrafast -tag:v hvc1 -pix_fmt yuv420p -x265-params keyint=50:min-keyint=50:scenecut=0:bframes=2:log-level=error",
  av1: "-f lavfi -i testsrc2=size=320x180:rate=25:duration=6 -c:v libsvtav1 -preset 12 -g 50 -pix_fmt yuv420p",
  opus: "-f lavfi -i sine=sample_rate=48000:duration=6 -c:a libopus -b:a 64k",
  ac3: "-f lavfi -i sine=sample_rate=48000:duration=6 -c:a ac3 -b:a 128k",
};

async function makeOthers() {
  for (const [name, options] of Object.entries(OTHERS)) {
    mkdirSync(join(folder, name));
    const to = join(folder, name, "film.mp4");
    await run("ffmpeg", ["-nostdin", "-loglevel", "error", ...options.split(" "), to]);
  }
}

before(async () => {
  await makeOthers();
  const words = ["origin", "demo", "--folder", folder, "--duration", "10s", "--listen", "127.0.0.1:0", "--json"];
  demo = await background(words);
  await demo.firstLine();
  // The demo's own segments are longer.
  const origin = await background(["origin", folder, "--segment", `${SEGMENT}s`, "--listen", "127.0.0.1:0"]);
  url = await origin.firstLine();
  await demo.stop();
  demo = origin;
});

after(async () => {
  await demo?.stop();
  for (const made of [folder, packaged]) rmSync(made, { recursive: true, force: true });
});

/** The boxes of a file, as mp4box reads them. */
function boxesOf(bytes) {
  const file = createFile();
  file.onError = (module, message) => assert.fail(`${module}: ${message}`);
  const buffer = new Uint8Array(bytes).buffer;
  buffer.fileStart = 0;
  file.appendBuffer(buffer);
  file.flush();
  return file.boxes;
}

/** What mp4box notes for itself, and what follows from other fields: lengths, offsets, bytes that are compared as samples. */
const ASIDE = new Set(
  "start hdr_size header_size original_size size parent boxes box_name type data data_offset sgpds sbgps has_unparsed_data".split(
    " ",
  ),
);
const isBox = (value) => value !== null && typeof value === "object" && "hdr_size" in value && "type" in value;

/** Every field of every box: `moov/mvhd.timescale` and its value. */
function fields(boxes, path = "", all = new Map()) {
  const count = {};
  for (const box of boxes) {
    count[box.type] = (count[box.type] ?? 0) + 1;
    const name = `${path}${box.type}${count[box.type] > 1 ? `[${count[box.type]}]` : ""}`;
    all.set(name, "there");
    const inside = [...(box.boxes ?? [])];
    for (const [field, value] of Object.entries(box)) {
      if (ASIDE.has(field) || typeof value === "function" || value === undefined || isBox(value)) continue;
      if (Array.isArray(value) && value.some(isBox)) {
        for (const one of value) if (isBox(one) && !inside.includes(one)) inside.push(one);
        continue;
      }
      all.set(`${name}.${field}`, JSON.stringify(value));
    }
    fields(inside, `${name}/`, all);
  }
  return all;
}

/** Fields that are not the same in both, or not there in one. What is in a box that one lacks need not be told. */
function differences(ours, theirs) {
  const [one, other] = [fields(ours), fields(theirs)];
  const names = new Set([...one.keys(), ...other.keys()]);
  const isWithin = (name, box) => name.startsWith(`${box}/`) || name.startsWith(`${box}.`);
  const missing = [...names].filter((name) => !name.includes(".") && one.has(name) !== other.has(name));
  return [...names]
    .filter((name) => one.get(name) !== other.get(name))
    .filter((name) => !missing.some((box) => isWithin(name, box)))
    .map((name) => ({ name, ours: one.get(name), theirs: other.get(name) }));
}

/** What the table says may differ: names of fields, in which `*` stands for anything. */
function explained() {
  const rows = readFileSync(EXPLAINED, "utf8").matchAll(/^\| `([^`]+)`((?:, `[^`]+`)*) \|/gm);
  return [...rows].flatMap(([, first, more]) => [first, ...[...more.matchAll(/`([^`]+)`/g)].map(([, name]) => name)]);
}

const asPattern = (name) => new RegExp(`^${name.replace(/[.[\]]/g, "\\$&").replaceAll("*", ".*")}$`);

const NOT_SYNC = 0x10000;

/** Samples as a decoder gets them: with what fragments leave to tfhd and trex filled in. */
function samples(init, segment) {
  const trex = init
    .find((box) => box.type === "moov")
    .boxes.find((box) => box.type === "mvex")
    .boxes.find((box) => box.type === "trex");
  const moof = boxesOf(segment).find((box) => box.type === "moof");
  const traf = moof.boxes.find((box) => box.type === "traf");
  const part = (type) => traf.boxes.find((box) => box.type === type);
  const [tfhd, tfdt, trun] = ["tfhd", "tfdt", "trun"].map(part);
  const has = (box, flag) => (box.flags & flag) !== 0;
  const usual = (flag, name) => (has(tfhd, flag) ? tfhd[name] : trex[name]);
  let at = moof.start + trun.data_offset;
  let time = tfdt.baseMediaDecodeTime;
  return [...Array(trun.sample_count).keys()].map((i) => {
    const duration = has(trun, 0x100) ? trun.sample_duration[i] : usual(0x8, "default_sample_duration");
    const size = has(trun, 0x200) ? trun.sample_size[i] : usual(0x10, "default_sample_size");
    const first = i === 0 && has(trun, 0x4) ? trun.first_sample_flags : usual(0x20, "default_sample_flags");
    const flags = has(trun, 0x400) ? trun.sample_flags[i] : first;
    const sample = {
      time,
      duration,
      shift: has(trun, 0x800) ? trun.sample_composition_time_offset[i] : 0,
      size,
      sync: (flags & NOT_SYNC) === 0,
      bytes: createHash("sha256")
        .update(segment.subarray(at, at + size))
        .digest("hex"),
    };
    at += size;
    time += duration;
    return sample;
  });
}

/** A track by the packager: its initialisation segment, and its media segments in order. */
async function byPackager(title, file, stream) {
  const to = join(packaged, title, file);
  mkdirSync(to, { recursive: true });
  await run(PACKAGER, [
    `in=${join(folder, title, file)},stream=${stream},init_segment=${to}/init.mp4,segment_template=${to}/$Number%05d$.m4s`,
    "--segment_duration",
    String(SEGMENT),
    "--generate_static_live_mpd",
    "--mpd_output",
    join(to, "manifest.mpd"),
  ]);
  const names = readdirSync(to).filter((name) => name.endsWith(".m4s"));
  return { init: readFileSync(join(to, "init.mp4")), media: names.sort().map((name) => readFileSync(join(to, name))) };
}

async function got(address) {
  const answer = await fetch(`${url}${address}`);
  assert.equal(answer.status, 200, address);
  return Buffer.from(await answer.arrayBuffer());
}

async function byOrigin(track) {
  const playlist = (await got(`${track}/playlist.m3u8`)).toString();
  const names = playlist.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const media = [];
  for (const name of names) media.push(await got(`${track}/${name}`));
  return { init: await got(`${track}/init.mp4`), media };
}

const TRACKS = [
  { title: "demo", file: "video-720p.mp4", stream: "video", track: "video/v1" },
  { title: "demo", file: "video-360p.mp4", stream: "video", track: "video/v3" },
  { title: "demo", file: "sound-german.mp4", stream: "audio", track: "audio/a2" },
  { title: "hevc", file: "film.mp4", stream: "video", track: "video/v1" },
  { title: "av1", file: "film.mp4", stream: "video", track: "video/v1" },
  { title: "opus", file: "film.mp4", stream: "audio", track: "audio/a1" },
  { title: "ac3", file: "film.mp4", stream: "audio", track: "audio/a1" },
];

test("segments are the packager's, but for what is explained", async () => {
  const known = explained();
  const used = new Set();
  const unexplained = [];
  for (const { title, file, stream, track } of TRACKS) {
    const name = `${title}/${file}`;
    const [ours, theirs] = [await byOrigin(`${title}/${track}`), await byPackager(title, file, stream)];
    assert.equal(ours.media.length, theirs.media.length, name);
    const pairs = [[ours.init, theirs.init], ...ours.media.map((segment, i) => [segment, theirs.media[i]])];
    for (const [i, [own, other]] of pairs.entries())
      for (const one of differences(boxesOf(own), boxesOf(other))) {
        const reason = known.find((name) => asPattern(name).test(one.name));
        if (reason) used.add(reason);
        else unexplained.push({ name, segment: i, ...one });
      }
    const [ownInit, otherInit] = [boxesOf(ours.init), boxesOf(theirs.init)];
    for (const [i, segment] of ours.media.entries()) {
      const own = samples(ownInit, segment);
      assert.ok(own.length > 0);
      assert.deepEqual(own, samples(otherInit, theirs.media[i]), `${name}, segment ${i}`);
    }
  }
  assert.deepEqual(unexplained, []);
  assert.deepEqual(
    known.filter((name) => !used.has(name)),
    [],
    "explained, and there is no such difference",
  );
});
