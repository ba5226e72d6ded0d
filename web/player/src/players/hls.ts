// hls.js.
import type HlsType from "hls.js";
import type { HlsConfig, MediaPlaylist } from "hls.js";
import { base64url, type Choice, type Keys, type Open, rungLabel, script, trackLabel } from "./player";

declare const Hls: typeof HlsType;

const tracks = (all: MediaPlaylist[], now: number): Choice[] =>
  all.map((one, place) => ({
    id: String(place),
    label: trackLabel(one.lang, one.name, String(place + 1)),
    now: place === now,
  }));

/**
 * hls.js requests keys from a licence server that is configured in advance. With typed keys, the licence is in a data URL;
 * without, the playlist names the server with each key.
 */
function clearKeys(keys: Keys, manifest: string): Partial<HlsConfig> {
  const all = Object.entries(keys).map(([id, key]) => ({ kty: "oct", kid: base64url(id), k: base64url(key) }));
  const typed = all.length > 0;
  const answer = encodeURIComponent(JSON.stringify({ keys: all, type: "temporary" }));
  return {
    emeEnabled: true,
    drmSystems: { "org.w3.clearkey": { licenseUrl: typed ? `data:application/json,${answer}` : manifest } },
    licenseXhrSetup: (request, url, { decryptdata }) => {
      // Nobody takes a POST in an address of data.
      if (typed) request.open("GET", url, true);
      else request.open("POST", new URL(decryptdata.uri, manifest).href, true);
    },
  };
}

export const openHls: Open = async ({ video, url, keys, failed }) => {
  await script("hls.js");
  const player = new Hls(clearKeys(keys, url));
  const ready = new Promise<void>((resolve, reject) => {
    player.on(Hls.Events.MANIFEST_PARSED, () => resolve());
    player.on(Hls.Events.ERROR, (_, data) => {
      if (!data.fatal) return;
      const why = `${data.details}: ${data.error.message}`;
      failed(why);
      reject(new Error(why));
    });
  });
  player.loadSource(url);
  player.attachMedia(video);
  try {
    await ready;
  } catch (error) {
    player.destroy();
    throw error;
  }
  player.subtitleTrack = -1;
  return {
    rungs: () =>
      player.levels.map((one, place) => ({
        id: String(place),
        label: rungLabel(one.height, one.bitrate),
        now: place === player.currentLevel,
      })),
    audio: () => tracks(player.audioTracks, player.audioTrack),
    subtitles: () => tracks(player.subtitleTracks, player.subtitleTrack),
    chooseRung: (id) => {
      player.nextLevel = id === null ? -1 : Number(id);
    },
    chooseAudio: (id) => {
      player.audioTrack = Number(id);
    },
    chooseSubtitles: (id) => {
      player.subtitleTrack = id === null ? -1 : Number(id);
      player.subtitleDisplay = id !== null;
    },
    bandwidth: () => player.bandwidthEstimate || null,
    destroy: async () => player.destroy(),
  };
};
