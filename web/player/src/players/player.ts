// What the page asks of a player, whichever it is.

/** One of several rungs, languages or subtitles. */
export interface Choice {
  id: string;
  label: string;
  /** It is the one that plays now. */
  now: boolean;
}

export interface Player {
  rungs(): Choice[];
  audio(): Choice[];
  subtitles(): Choice[];
  /** Null leaves the rung to the player. */
  chooseRung(id: string | null): void;
  chooseAudio(id: string): void;
  /** Null shows none. */
  chooseSubtitles(id: string | null): void;
  /** The player's estimate, in bit/s. */
  bandwidth(): number | null;
  destroy(): Promise<void>;
}

/** Keys by the identifiers of what they open, both as 32 hexadecimal digits. */
export type Keys = Record<string, string>;

export interface Opening {
  video: HTMLVideoElement;
  url: string;
  keys: Keys;
  /** Told what ends the playing, in words. */
  failed: (why: string) => void;
}

export type Open = (opening: Opening) => Promise<Player>;

const loaded = new Map<string, Promise<void>>();

/** Loads a player's own script, once. */
export function script(name: string): Promise<void> {
  const address = `/.page/${name}`;
  const before = loaded.get(address);
  if (before) return before;
  const element = document.createElement("script");
  element.src = address;
  const done = new Promise<void>((resolve, reject) => {
    element.addEventListener("load", () => resolve());
    element.addEventListener("error", () => reject(new Error(`cannot load ${address}`)));
  });
  loaded.set(address, done);
  document.head.append(element);
  return done;
}

const LANGUAGES = new Intl.DisplayNames(["en"], { type: "language" });

/** A language, or what else there is to tell a track by. */
export function trackLabel(language: string | null | undefined, label: string | null | undefined, id: string): string {
  if (label && label !== language) return label;
  if (!language || language === "und") return `track ${id}`;
  try {
    return LANGUAGES.of(language) ?? language;
  } catch {
    return language;
  }
}

export function rungLabel(height: number | null | undefined, bitrate: number): string {
  const rate = bitrate >= 1e6 ? `${(bitrate / 1e6).toFixed(1)} Mbit/s` : `${Math.round(bitrate / 1e3)} kbit/s`;
  return height ? `${height}p, ${rate}` : rate;
}

/** The bytes that hexadecimal digits stand for, as Base64 for URLs: how W3C's Clear Key writes keys. */
export function base64url(hex: string): string {
  const bytes = hex.match(/../g)?.map((two) => String.fromCharCode(Number.parseInt(two, 16))) ?? [];
  return btoa(bytes.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
