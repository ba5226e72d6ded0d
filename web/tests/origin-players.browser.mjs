// The page of `weir origin`, and the three players on it: each plays the title of `weir origin demo` to its end, with the
// other language, subtitles, another rung and a jump, and every segment is there.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { axe, open, quiet, shot, start, stop } from "./browser.mjs";
import { background } from "./weir.mjs";

/** Seconds of the title, and how fast it is played. */
const SECONDS = 10;
const RATE = 2;
/** What does not happen within this many milliseconds does not happen. */
const LIMIT = 60_000;

/** What is played with what. `status` is that of segments: parts of single files are ranges. */
const CASES = [
  { output: "dash", player: "dash.js" },
  { output: "dash", player: "shaka-player" },
  { output: "on-demand", player: "dash.js", status: 206 },
  { output: "on-demand", player: "shaka-player", status: 206 },
  { output: "hls", player: "hls.js" },
  // shaka-player 5.2.12 asks for the subtitles and makes no cues of them.
  { output: "hls", player: "shaka-player", cues: false },
];

const folder = mkdtempSync(join(tmpdir(), "weir-origin-"));
let demo = null;
let told = null;

before(async () => {
  await start();
  const words = [
    "origin",
    "demo",
    "--folder",
    folder,
    "--duration",
    `${SECONDS}s`,
    "--listen",
    "127.0.0.1:0",
    "--json",
  ];
  demo = await background(words);
  told = JSON.parse(await demo.firstLine());
});

after(async () => {
  await stop();
  const done = await demo?.stop();
  rmSync(folder, { recursive: true, force: true });
  assert.equal(done?.code, 0, `weir origin demo: ${done?.stderr}`);
});

/** Opens the page with that in its address; `page.got` are the answers to requests for parts of titles. */
function openPage(url, wish) {
  return open(`${url}#${new URLSearchParams(wish)}`, {
    prepare: (page) => {
      page.got = [];
      page.on("response", (answer) => {
        const { pathname } = new URL(answer.url());
        if (/\.(mpd|m3u8|mp4|m4s|vtt)$/.test(pathname)) page.got.push({ path: pathname, status: answer.status() });
      });
    },
  });
}

const video = (page, script, argument) => page.$eval("video", script, argument);
const until = (page, script, argument) => page.waitForFunction(script, argument, { timeout: LIMIT });
const figure = (page, name) => page.textContent(`[data-figure="${name}"]`);

async function ended(page) {
  await until(page, () => document.querySelector("video").ended || !document.querySelector("[data-trouble]").hidden);
  assert.equal(await page.textContent("[data-trouble]"), "");
}

/** Chooses the entry of a menu that is labelled so, once it is there. */
async function choose(page, menu, label) {
  const wanted = { menu, label };
  await until(
    page,
    ({ menu, label }) =>
      [...document.querySelectorAll(`select[name="${menu}"] option`)].some((one) => one.textContent.startsWith(label)),
    wanted,
  );
  const value = await page.$eval(
    `select[name="${menu}"]`,
    (select, label) => [...select.options].find((one) => one.textContent.startsWith(label)).value,
    label,
  );
  await page.selectOption(`select[name="${menu}"]`, value);
}

/** Waits until something was got at such an address, after so many others. */
async function got(page, pattern, after = 0) {
  const began = Date.now();
  while (!page.got.slice(after).some(({ path }) => pattern.test(path))) {
    assert.ok(Date.now() - began < LIMIT, `nothing was asked for at ${pattern}: ${JSON.stringify(page.got)}`);
    await page.waitForTimeout(50);
  }
}

/** Plays from where it is to the end: what is buffered is one piece, to the last frame. */
async function playToTheEnd(page) {
  await video(
    page,
    (element, rate) => {
      element.playbackRate = rate;
      return element.play();
    },
    RATE,
  );
  await ended(page);
  const seen = await video(page, ({ currentTime, duration, buffered }) => ({
    currentTime,
    duration,
    pieces: [...Array(buffered.length).keys()].map((i) => [buffered.start(i), buffered.end(i)]),
  }));
  assert.ok(Math.abs(seen.duration - SECONDS) < 0.2, JSON.stringify(seen));
  assert.ok(seen.duration - seen.currentTime < 0.2, JSON.stringify(seen));
  assert.equal(seen.pieces.length, 1, `there are gaps: ${JSON.stringify(seen)}`);
}

for (const { name, output, player, status = 200, cues = true, ...more } of CASES)
  test(`${name ?? ""}${output} with ${player}: to the end, with language, subtitles, rung and jump`, async () => {
    const page = await openPage(told.url, { title: "demo", output, player, ...more });
    await until(page, () => document.querySelector("video").readyState >= 3);
    await playToTheEnd(page);
    const played = await video(page, (element) => element.getVideoPlaybackQuality().totalVideoFrames);
    assert.ok(played > SECONDS * 5, `${played} frames were shown`);
    assert.notEqual(await page.inputValue("select[name=audio]"), "");

    // It stands still, so that it cannot end before all is chosen.
    await video(page, (element) => {
      element.pause();
      element.currentTime = 2.5;
    });
    await choose(page, "audio", "German");
    await choose(page, "subtitles", "German");
    await got(page, /\/audio\/a2\//);
    await got(page, /\/subtitles\/s1\/text\.vtt$/);
    await until(
      page,
      (cues) =>
        [...document.querySelector("video").textTracks].some(
          (track) =>
            track.mode === "showing" &&
            (!cues || [...(track.cues ?? [])].some((cue) => /^Sekunde \d+$/.test(cue.text))),
        ),
      cues,
    );
    const before = page.got.length;
    const isThere = (await figure(page, "rung")).startsWith("360p");
    await choose(page, "rung", "360p");
    if (!isThere) await got(page, /\/video\/v3\//, before);
    await video(page, (element) => {
      element.currentTime = 7;
      element.playbackRate = 1;
      return element.play();
    });
    await until(page, () => {
      const element = document.querySelector("video");
      return !element.seeking && element.currentTime > 7 && element.videoHeight === 360;
    });
    await playToTheEnd(page);
    assert.match(await figure(page, "rung"), /^360p, /);
    await until(page, () => document.querySelector('[data-figure="state"]').textContent === "ended");

    const wrong = page.got.filter((one) => ![status, 200].includes(one.status));
    assert.deepEqual(wrong, []);
    assert.ok(page.got.filter(({ path }) => path.includes("/video/")).length > 0);
    assert.deepEqual(await axe(page), []);
    await shot(page, `origin-${output}-${player}`);
    quiet(page);
    await page.context().close();
  });

test("the page lists the titles, and says why one cannot be played", async () => {
  const page = await openPage(told.url, {});
  await until(page, () => document.querySelector("[data-titles]").textContent === "1 here");
  assert.equal(await page.inputValue("input[name=title]"), "demo");
  await page.fill("input[name=title]", "nothing/at/all");
  await page.click("button[type=submit]");
  await until(page, () => !document.querySelector("[data-trouble]").hidden);
  assert.match(await page.textContent("[data-trouble]"), /nothing\/at\/all/);
  await page.fill("input[name=title]", "demo");
  await page.fill("input[name=query]", "filter=height<=360");
  await page.selectOption("select[name=output]", "hls");
  await page.selectOption("select[name=player]", "shaka-player");
  await page.click("button[type=submit]");
  await until(page, () => document.querySelector("video").videoHeight === 360);
  assert.equal(await page.$eval("select[name=rung]", (select) => select.options.length), 2);
  assert.equal(await page.$eval("[data-trouble]", (element) => element.hidden), true);
  await page.click("footer a");
  await until(page, () => /shaka-player 5[\s\S]*Apache License/.test(document.body.textContent));
  quiet(page);
  await page.context().close();
});
