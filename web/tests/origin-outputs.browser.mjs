// Every output of `weir origin` with every player that takes it, to the end: encrypted titles with ClearKey, titles as
// manifests describe them, parts of titles, single files, and AV1. The plain ones with all choices are in
// origin-players.browser.mjs.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { open, quiet, start, stop } from "./browser.mjs";
import { choose, hasCue, openPage, playToTheEnd, until, video } from "./playing.mjs";
import { background, run } from "./weir.mjs";

/** Seconds of the titles. */
const SECONDS = 10;
const KEY_ID = "10000000200030004000500000000000";
const KEY = "00112233445566778899aabbccddeeff";
/** As they are typed on the page. */
const TYPED = { keys: `${KEY_ID}:${KEY}` };

const folder = mkdtempSync(join(tmpdir(), "weir-outputs-"));
const films = join(folder, "films");
let origin = null;
let url = null;
/** An origin whose playlists name the licence, which the other gives, and not the key. */
const withoutKeys = { origin: null, url: null };

const path = (name) => join(films, name);
const write = (name, text) => writeFileSync(path(name), text);

/** The titles of the demo, those that are encrypted, and some that are described. */
async function makeTitles() {
  mkdirSync(films);
  const words = ["--folder", films, "--duration", `${SECONDS}s`, "--listen", "127.0.0.1:0", "--json"];
  const demo = await background(["origin", "demo", ...words]);
  await demo.firstLine();
  assert.equal((await demo.stop()).code, 0);
  const [video, english, german, cues] = ["video-480p.mp4", "sound-english.mp4", "sound-german.mp4", "de.vtt"];
  for (const name of ["cenc", "cbcs", "aes"]) cpSync(path("demo"), path(name), { recursive: true });
  mkdirSync(path("described"));
  for (const name of [video, english, german, cues]) cpSync(path(`demo/${name}`), path(`described/${name}`));
  write(
    "described/title.toml",
    `[[track]]\nfile = "${video}"\n[[track]]\nfile = "${german}"\nlanguage = "de"\nlabel = "Deutsch"\n` +
      `[[subtitles]]\nfile = "${cues}"\nlanguage = "de"\nlabel = "Untertitel"\n`,
  );
  write(
    "described/part.json",
    JSON.stringify({ clip: { start: "4s", end: "8s" }, track: [{ file: video }, { file: english }] }),
  );
  write(
    "described/server.ism",
    `<smil xmlns="http://www.w3.org/2001/SMIL20/Language"><body><switch>
<video src="${video}"><param name="trackID" value="1" valuetype="data"/></video>
<audio src="${english}" systemLanguage="eng"/><textstream src="${cues}" systemLanguage="deu"/></switch></body></smil>`,
  );
  mkdirSync(path("bilingual"));
  for (const name of [video, cues]) cpSync(path(`demo/${name}`), path(`bilingual/${name}`));
  write("bilingual/en.vtt", readFileSync(path(`demo/${cues}`), "utf8").replaceAll("Sekunde", "Second"));
  write(
    "bilingual/title.toml",
    `[[track]]\nfile = "${video}"\n[[subtitles]]\nfile = "${cues}"\nlanguage = "de"\n` +
      `[[subtitles]]\nfile = "en.vtt"\nlanguage = "en"\n`,
  );
  const ffmpeg = (...words) => run("ffmpeg", ["-nostdin", "-v", "error", ...words]);
  const inputs = ["-i", path(`demo/${video}`), "-i", path(`demo/${english}`)];
  await ffmpeg(...inputs, "-c", "copy", path("muxed.mp4"));
  mkdirSync(path("av1"));
  await ffmpeg(
    "-i",
    path(`demo/${video}`),
    "-vf",
    "scale=320:-2",
    "-c:v",
    "libsvtav1",
    "-preset",
    "12",
    "-g",
    "50",
    path("av1/video.mp4"),
  );
  cpSync(path(`demo/${english}`), path("av1/sound.mp4"));
  for (const scheme of ["cenc", "cbcs"]) cpSync(path("av1"), path(`av1-${scheme}`), { recursive: true });
}

const rule = (title, scheme) =>
  `[[title]]\npath = "${title}"\nscheme = "${scheme}"\nkey_id = "${KEY_ID}"\nkey = "${KEY}"\n`;

before(async () => {
  await start();
  await makeTitles();
  const keys = join(folder, "keys.toml");
  const rules = [
    rule("cenc", "cenc"),
    rule("cbcs", "cbcs"),
    rule("aes", "aes-128"),
    rule("av1-cenc", "cenc"),
    rule("av1-cbcs", "cbcs"),
  ];
  writeFileSync(keys, rules.join("\n"));
  const served = ["--keys", keys, "--serve-keys", "--page", "--segment", "2s", "--listen", "127.0.0.1:0"];
  origin = await background(["origin", films, ...served]);
  url = await origin.firstLine();
  const named = join(folder, "licences.toml");
  const licences = ["cbcs", "av1-cbcs"].map(
    (title) => `${rule(title, "cbcs")}licence_url = "${url}${title}/clearkey.json"\n`,
  );
  writeFileSync(named, licences.join("\n"));
  const other = ["--keys", named, "--page", "--segment", "2s", "--listen", "127.0.0.1:0"];
  withoutKeys.origin = await background(["origin", films, ...other]);
  withoutKeys.url = await withoutKeys.origin.firstLine();
});

after(async () => {
  await stop();
  await withoutKeys.origin?.stop();
  const done = await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
  assert.equal(done?.code, 0, `weir origin: ${done?.stderr}`);
});

/** Plays it to the end; pictures were shown, and nothing went wrong. */
async function play(wish, seconds, look = () => {}, at = url) {
  const page = await openPage(at, wish);
  await until(
    page,
    () => document.querySelector("video").readyState >= 3 || !document.querySelector("[data-trouble]").hidden,
  );
  assert.equal(await page.textContent("[data-trouble]"), "");
  await look(page);
  await playToTheEnd(page, seconds);
  const frames = await video(page, (element) => element.getVideoPlaybackQuality().totalVideoFrames);
  assert.ok(frames > seconds * 5, `${frames} frames were shown`);
  const wrong = page.got.filter(({ status }) => status !== 200 && status !== 206);
  assert.deepEqual(wrong, []);
  // The licence of the second origin comes from the first.
  if (at === url) quiet(page);
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

/** Whether the media is decrypted by the browser, and not by the player. */
const byBrowser = (is) => (page) =>
  video(page, (element) => element.mediaKeys !== null).then((has) => assert.equal(has, is));

const DASH = ["dash.js", "shaka-player"];
const HLS = ["hls.js", "shaka-player"];
/** Films play in real time: `make soak` plays every combination, `make test` each title, output and player once or twice. */
const EVERY = process.env.WEIR_SOAK !== undefined;

/**
 * What hls.js 1.7.4 cannot: where a playlist has a key of format "identity" for SAMPLE-AES, it takes the segments for MPEG-TS
 * (`LevelKey.isSupported`, `Fragment.decryptdata`) and never asks the browser to decrypt.
 */
const takesForTs = (title, player) => player === "hls.js" && title.endsWith("cbcs");

const encrypted = EVERY ? ["cenc", "cbcs", "av1-cenc", "av1-cbcs"] : [];
if (!EVERY) {
  test("encrypted: cenc, dash with dash.js and a licence", () =>
    play({ title: "cenc", output: "dash", player: "dash.js" }, SECONDS, byBrowser(true)));
  test("encrypted: cbcs, dash with shaka-player and keys that are typed", () =>
    play({ title: "cbcs", output: "dash", player: "shaka-player", ...TYPED }, SECONDS, byBrowser(true)));
  test("encrypted: av1-cenc, on-demand with shaka-player", () =>
    play({ title: "av1-cenc", output: "on-demand", player: "shaka-player" }, SECONDS, byBrowser(true)));
  test("encrypted: cenc, hls with hls.js", () =>
    play({ title: "cenc", output: "hls", player: "hls.js" }, SECONDS, byBrowser(true)));
}
for (const title of encrypted) {
  for (const player of DASH)
    for (const [how, keys] of [
      ["a licence", {}],
      ["keys that are typed", TYPED],
    ])
      test(`encrypted: ${title}, dash with ${player} and ${how}`, () =>
        play({ title, output: "dash", player, ...keys }, SECONDS, byBrowser(true)));
  for (const player of DASH)
    test(`encrypted: ${title}, on-demand with ${player}`, () =>
      play({ title, output: "on-demand", player }, SECONDS, byBrowser(true)));
  for (const player of HLS) {
    const at = () => (takesForTs(title, player) ? withoutKeys.url : url);
    test(`encrypted: ${title}, hls with ${player}`, () =>
      play({ title, output: "hls", player }, SECONDS, byBrowser(true), at()));
  }
}

for (const player of HLS)
  test(`encrypted: aes-128, hls with ${player}`, () =>
    play({ title: "aes", output: "hls", player }, SECONDS, byBrowser(false)));

test("encrypted: what a browser has no key for is not played", async () => {
  const wish = { title: "cenc", output: "dash", player: "shaka-player", keys: `${KEY_ID}:${KEY.replace("00", "ff")}` };
  const page = await openPage(url, wish);
  await until(page, () => !document.querySelector("[data-trouble]").hidden);
  await page.context().close();
});

/** The only subtitles there are. */
const cues = async (page) => {
  await until(page, () => document.querySelector("select[name=subtitles]")?.options.length === 2);
  await page.selectOption("select[name=subtitles]", { index: 1 });
  await hasCue(page, /^Sekunde \d+$/);
};

/** The same of the part from the fifth second on: its first cue is shown from its beginning. */
const cuesOfPart = async (page) => {
  await cues(page);
  const shown = await video(page, (element) =>
    [...element.textTracks]
      .filter((track) => track.mode === "showing")
      .flatMap((track) => [...(track.cues ?? [])].map(({ startTime, text }) => [Math.round(startTime), text])),
  );
  const first = Number(/\d+/.exec(shown[0][1])[0]);
  assert.ok(first >= 4, JSON.stringify(shown));
  for (const [at, text] of shown) assert.equal(text, `Sekunde ${first + at - shown[0][0]}`);
  assert.ok(shown[0][0] <= 1, JSON.stringify(shown));
};

/** Other titles and parts of titles, with the seconds that they last. */
const OTHERS = [
  { title: "described", seconds: SECONDS, look: cues },
  { title: "described/part.json", seconds: 4 },
  { title: "described/server.ism", seconds: SECONDS, look: cues },
  { title: "muxed.mp4", seconds: SECONDS },
  { title: "av1", seconds: SECONDS },
  { title: "demo", query: "filter=height<=360;language=de", seconds: SECONDS },
  { title: "demo", query: "start=4&end=8", seconds: 4 },
  { title: "described", query: "start=4&end=8", seconds: 4, look: cuesOfPart },
];

for (const { title, query = "", seconds, look } of OTHERS)
  for (const [output, players] of [
    ["dash", DASH],
    ["hls", HLS],
  ])
    for (const player of EVERY ? players : players.slice(0, output === "dash" ? 1 : 0))
      test(`${title}${query && `?${query}`}: ${output} with ${player}`, () =>
        // shaka-player 5.2.12 makes cues of HLS only with the next segment of video, and here all are there already.
        play(
          { title, output, player, query },
          seconds,
          output === "hls" && player === "shaka-player" ? undefined : look,
        ));

for (const title of EVERY ? ["described", "muxed.mp4", "av1"] : ["described"])
  for (const player of DASH)
    test(`${title}: on-demand with ${player}`, () => play({ title, output: "on-demand", player }, SECONDS));

/** The files of subtitles are held up; meanwhile the viewer jumps, and then chooses others. */
for (const player of DASH)
  test(`bilingual: dash with ${player}, subtitles that come late`, async () => {
    const page = await openPage(url, {});
    const held = [];
    let isHolding = true;
    await page.route("**/text.vtt", (route) => (isHolding ? held.push(route) : route.continue()));
    const isHeld = async () => {
      while (held.length === 0) await page.waitForTimeout(50);
    };
    const letThrough = async () => {
      isHolding = false;
      for (const route of held.splice(0)) await route.continue();
    };
    await page.evaluate(
      (hash) => {
        location.hash = hash;
      },
      `${new URLSearchParams({ title: "bilingual", output: "dash", player })}`,
    );
    await until(page, () => document.querySelector("video").readyState >= 3);
    await video(page, (element) => element.pause());
    await choose(page, "subtitles", "German");
    await isHeld();
    await video(page, (element) => {
      element.currentTime = 5;
    });
    await until(page, () => !document.querySelector("video").seeking);
    await letThrough();
    await hasCue(page, /^Sekunde \d+$/);

    isHolding = true;
    await choose(page, "subtitles", "English");
    await isHeld();
    await choose(page, "subtitles", "German");
    await letThrough();
    await hasCue(page, /^Sekunde \d+$/);
    await choose(page, "subtitles", "English");
    await hasCue(page, /^Second \d+$/);
    const shown = await video(page, ({ textTracks }) =>
      [...textTracks].filter(({ mode }) => mode === "showing").flatMap(({ cues }) => [...cues].map(({ text }) => text)),
    );
    for (const text of shown) assert.match(text, /^Second /);
    await choose(page, "subtitles", "None");
    await until(page, () => [...document.querySelector("video").textTracks].every(({ mode }) => mode !== "showing"));
    quiet(page);
    await page.context().close();
  });

/** Fast forward by I-frames alone, as shaka-player does it. */
for (const title of ["demo", "cbcs"])
  test(`${title}: I-frame playlists with shaka-player`, async () => {
    const asked = [];
    const page = await open(url, {
      prepare: (page) => page.on("request", (request) => asked.push(new URL(request.url()).pathname)),
    });
    await page.addScriptTag({ url: "/.page/shaka.js" });
    const reached = await page
      .evaluate(async (manifest) => {
        const element = document.createElement("video");
        element.muted = true;
        document.body.append(element);
        const player = new shaka.Player();
        await player.attach(element);
        await player.load(manifest);
        await element.play();
        player.trickPlay(4);
        await new Promise((done, fail) => {
          element.addEventListener("timeupdate", () => element.currentTime > 6 && done());
          const state = () => JSON.stringify([element.readyState, element.playbackRate, player.getBufferedInfo()]);
          setTimeout(() => fail(new Error(`it stands at ${element.currentTime}: ${state()}`)), 30_000);
        });
        const at = element.currentTime;
        await player.destroy();
        return at;
      }, `${url}${title}/master.m3u8`)
      .catch((error) => assert.fail(`${error}; it asked for ${asked.slice(-9)}`));
    assert.ok(reached > 6);
    assert.ok(
      asked.some((path) => path.endsWith("/iframes.m3u8")),
      asked.join("\n"),
    );
    quiet(page);
    await page.context().close();
  });
