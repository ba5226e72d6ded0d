// The page at / of an origin: the list of titles, and three players to play them.
import "../../src/theme.css";
import "./style.css";
import { h } from "../../src/dom";
import { form } from "./form";
import { address, hashOf, keysOf, PLAYERS, type Wish, wishOf } from "./outputs";
import { panel } from "./panel";
import type { Player } from "./players/player";
import { type Watch, watch } from "./watch";

/** Milliseconds from one look at the player to the next. */
const LOOK = 250;

const page = document.getElementById("page")!;
const trouble = h("p", { class: "trouble", role: "alert", "data-trouble": "", hidden: true });
const link = h("p", { class: "link", "data-manifest": "" });
const video = h("video", { controls: true, playsinline: true, "aria-label": "The title that plays" });
const below = h("div");
const controls = form(() => {
  const wish = controls.wish();
  history.replaceState(null, "", hashOf(wish));
  void play(wish);
});

let running: { player: Player; watching: Watch; looking: number } | null = null;
/** Counts requests: late results of an earlier one are discarded. */
let asked = 0;

function say(why: string | null): void {
  trouble.hidden = why === null;
  trouble.textContent = why;
}

async function end(): Promise<void> {
  if (!running) return;
  const { player, watching, looking } = running;
  running = null;
  clearInterval(looking);
  watching.stop();
  await player.destroy();
}

async function play(wish: Wish): Promise<void> {
  asked += 1;
  const number = asked;
  const isLate = () => number !== asked;
  say(null);
  below.replaceChildren();
  try {
    await end();
    const url = new URL(address(wish), location.href).href;
    link.replaceChildren(h("a", { href: url }, url));
    const failed = (why: string) => isLate() || say(`${wish.player} stopped: ${why}`);
    await reachable(url);
    const player = await PLAYERS[wish.player]({ video, url, keys: keysOf(wish.keys), failed });
    if (isLate()) return await player.destroy();
    const watching = watch(video);
    const shown = panel(player);
    below.replaceChildren(shown.element);
    const look = () => shown.show(player, watching.seen());
    running = { player, watching, looking: window.setInterval(look, LOOK) };
    look();
    // Browsers refuse to begin by themselves with sound where nobody has touched the page: the viewer begins then.
    await video.play().catch(() => undefined);
  } catch (error) {
    if (!isLate()) say(error instanceof Error ? error.message : String(error));
  }
}

/** For a missing manifest, the origin's message is clearer than those of players. */
async function reachable(url: string): Promise<void> {
  const answer = await fetch(url, { method: "GET", cache: "no-store" });
  if (answer.ok) return;
  const told = (await answer.json().catch(() => ({}))) as { error?: string };
  throw new Error(told.error ?? `the origin responded with status ${answer.status}`);
}

async function titles(): Promise<void> {
  const answer = await fetch("/.page/titles.json");
  const told = (await answer.json()) as { titles?: string[]; error?: string };
  controls.offer(told.titles ?? null, told.error ?? "");
}

page.replaceChildren(
  h("h1", null, "Weir origin"),
  controls.element,
  link,
  trouble,
  video,
  below,
  h(
    "footer",
    null,
    "dash.js, hls.js and shaka-player come with this page, with ",
    h("a", { href: "/.page/licences.txt" }, "their licences"),
    ".",
  ),
);
const wish = wishOf(location.hash);
controls.show(wish);
titles().catch((error) => controls.offer(null, String(error)));
if (wish.title) void play(wish);
window.addEventListener("hashchange", () => {
  const wish = wishOf(location.hash);
  controls.show(wish);
  if (wish.title) void play(wish);
});
