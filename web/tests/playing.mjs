// A title on the page of `weir origin`: opened with one player, its menus, what was got, played to its end.
import assert from "node:assert/strict";
import { LIMIT_MS, open } from "./browser.mjs";

/** How fast titles are played. */
const RATE = 2;

/** Opens the page with that in its address; `page.got` are the answers to requests for parts of titles. */
export function openPage(url, wish) {
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

export const video = (page, script, argument) => page.$eval("video", script, argument);
export const until = (page, script, argument) => page.waitForFunction(script, argument);
export const figure = (page, name) => page.textContent(`[data-figure="${name}"]`);

/** Waits for the end, and that nothing went wrong before it. dash.js may end by standing still there. */
export async function ended(page) {
  await until(page, () => {
    const { ended, paused, currentTime, duration } = document.querySelector("video");
    return ended || (paused && currentTime >= duration) || !document.querySelector("[data-trouble]").hidden;
  });
  assert.equal(await page.textContent("[data-trouble]"), "");
}

/** Chooses the entry of a menu that is labelled so, once it is there. */
export async function choose(page, menu, label) {
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
export async function got(page, pattern, after = 0) {
  const began = Date.now();
  while (!page.got.slice(after).some(({ path }) => pattern.test(path))) {
    assert.ok(Date.now() - began < LIMIT_MS, `nothing was asked for at ${pattern}: ${JSON.stringify(page.got)}`);
    await page.waitForTimeout(50);
  }
}

/** Plays from where it is to the end, after so many seconds: what is buffered is one piece, to the last frame. */
export async function playToTheEnd(page, seconds) {
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
  assert.ok(Math.abs(seen.duration - seconds) < 0.2, JSON.stringify(seen));
  assert.ok(seen.duration - seen.currentTime < 0.2, JSON.stringify(seen));
  assert.equal(seen.pieces.length, 1, `there are gaps: ${JSON.stringify(seen)}`);
}

/** Waits until such a cue is there on a track that is shown. */
export function hasCue(page, pattern) {
  return until(
    page,
    (source) =>
      [...document.querySelector("video").textTracks].some(
        (track) => track.mode === "showing" && [...(track.cues ?? [])].some((cue) => new RegExp(source).test(cue.text)),
      ),
    pattern.source,
  );
}
