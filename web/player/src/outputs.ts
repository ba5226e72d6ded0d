// What the origin makes of a title, which players play it, and how a choice stands in the address of the page.
import { openDash } from "./players/dash";
import { openHls } from "./players/hls";
import type { Keys, Open } from "./players/player";
import { openShaka } from "./players/shaka";

export interface Output {
  label: string;
  /** Below the title. */
  file: string;
  players: PlayerName[];
}

export type PlayerName = "dash.js" | "hls.js" | "shaka-player";

export const PLAYERS: Record<PlayerName, Open> = {
  "dash.js": openDash,
  "hls.js": openHls,
  "shaka-player": openShaka,
};

export const OUTPUTS: Record<string, Output> = {
  dash: { label: "DASH", file: "manifest.mpd", players: ["dash.js", "shaka-player"] },
  "on-demand": { label: "DASH on-demand", file: "on-demand.mpd", players: ["dash.js", "shaka-player"] },
  hls: { label: "HLS", file: "master.m3u8", players: ["hls.js", "shaka-player"] },
};

export interface Wish {
  title: string;
  output: string;
  player: PlayerName;
  /** Behind the question mark of the manifest's address. */
  query: string;
  /** Pairs of key identifier and key, as they are typed. */
  keys: string;
}

/** The address of a manifest; the title is a path whose parts are plain names. */
export function address(wish: Wish): string {
  const path = wish.title.split("/").map(encodeURIComponent).join("/");
  const query = wish.query ? `?${wish.query}` : "";
  return `/${path}/${OUTPUTS[wish.output]!.file}${query}`;
}

/** Keys as they are typed: `KID:KEY`, both 32 hexadecimal digits, with spaces between pairs. */
export function keysOf(text: string): Keys {
  const pairs = text.split(/[\s,]+/).filter((pair) => pair !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const [id, key] = pair.toLowerCase().replaceAll("-", "").split(":");
      if (!/^[0-9a-f]{32}$/.test(id ?? "") || !/^[0-9a-f]{32}$/.test(key ?? ""))
        throw new Error(`'${pair}' is not a key; write KID:KEY, both as 32 hexadecimal digits`);
      return [id!, key!];
    }),
  );
}

/** What the part of the page's address behind # says. */
export function wishOf(hash: string): Wish {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const output = given.get("output") ?? "dash";
  const known = OUTPUTS[output] ? output : "dash";
  const players = OUTPUTS[known]!.players;
  const player = players.find((name) => name === given.get("player")) ?? players[0]!;
  return {
    title: given.get("title") ?? "",
    output: known,
    player,
    query: given.get("query") ?? "",
    keys: given.get("keys") ?? "",
  };
}

export function hashOf(wish: Wish): string {
  const filled = Object.entries(wish).filter(([, value]) => value !== "");
  return `#${new URLSearchParams(filled as [string, string][])}`;
}
