// shaka-player.
import type Shaka from "shaka-player";
import { type Open, rungLabel, script, trackLabel } from "./player";

declare const shaka: typeof Shaka;

interface Fault {
  severity?: number;
  category?: number;
  code?: number;
  data?: unknown[];
}

const reason = ({ category, code, data }: Fault) =>
  `shaka-player's error ${code ?? "?"} of category ${category ?? "?"}: ${data?.map(String).join(", ") ?? ""}`;

export const openShaka: Open = async ({ video, url, keys, failed }) => {
  await script("shaka.js");
  shaka.polyfill.installAll();
  const player = new shaka.Player();
  await player.attach(video);
  player.addEventListener("error", (event: Event) => failed(reason((event as unknown as { detail: Fault }).detail)));
  player.configure({ drm: { clearKeys: keys } });
  try {
    await player.load(url);
  } catch (error) {
    await player.destroy();
    throw new Error(reason(error as Fault));
  }
  const audioTracks = () => player.getAudioTracks();
  // The same rung comes once with each track of audio.
  const rungs = () => [...new Map(player.getVideoTracks().map((one) => [`${one.height}-${one.bandwidth}`, one]))];
  return {
    rungs: () =>
      rungs()
        .map(([id, one]) => ({ id, label: rungLabel(one.height, one.bandwidth), now: one.active }))
        .sort((one, other) => Number.parseInt(other.id, 10) - Number.parseInt(one.id, 10)),
    audio: () =>
      audioTracks().map((one, place) => ({
        id: String(place),
        label: trackLabel(one.language, one.label, String(place + 1)),
        now: one.active,
      })),
    subtitles: () =>
      player.getTextTracks().map((one) => ({
        id: String(one.id),
        label: trackLabel(one.language, one.label, String(one.id)),
        now: one.active,
      })),
    chooseRung: (id) => {
      player.configure({ abr: { enabled: id === null } });
      const track = rungs().find(([name]) => name === id);
      if (track) player.selectVideoTrack(track[1], true);
    },
    chooseAudio: (id) => {
      const track = audioTracks()[Number(id)];
      if (track) player.selectAudioTrack(track);
    },
    chooseSubtitles: (id) => {
      const track = player.getTextTracks().find((one) => String(one.id) === id);
      player.selectTextTrack(track ?? null);
    },
    bandwidth: () => player.getStats().estimatedBandwidth || null,
    destroy: async () => {
      await player.destroy();
    },
  };
};
