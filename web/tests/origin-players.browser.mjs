// The page of `weir origin`, and the three players on it: each plays the title of `weir origin demo` to its end, with the
// other language, subtitles, another rung and a jump, and every segment is there.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { axe, quiet, shot, start, stop } from "./browser.mjs";
import { choose, figure, got, hasCue, openPage, playToTheEnd, until, video } from "./playing.mjs";
import { background } from "./weir.mjs";

/** Seconds of the title. */
const SECONDS = 10;

/** What is played with what. `status` is that of segments: parts of single files are ranges. */
const CASES = [
  { output: "dash", player: "dash.js" },
  { output: "dash", player: "shaka-player" },
  { output: "on-demand", player: "dash.js", status: 206 },
  { output: "on-demand", player: "shaka-player", status: 206 },
  { output: "hls", player: "hls.js" },
  // shaka-player 5.2.12 makes cues of HLS only with the next segment of video.
  { output: "hls", player: "shaka-player", cuesLater: true },
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

for (const { name, output, player, status = 200, cuesLater = false, ...more } of CASES)
  test(`${name ?? ""}${output} with ${player}: to the end, with language, subtitles, rung and jump`, async () => {
    const page = await openPage(told.url, { title: "demo", output, player, ...more });
    await until(page, () => document.querySelector("video").readyState >= 3);
    await playToTheEnd(page, SECONDS);
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
    if (!cuesLater) await hasCue(page, /^Sekunde \d+$/);
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
    await playToTheEnd(page, SECONDS);
    await hasCue(page, /^Sekunde \d+$/);
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
