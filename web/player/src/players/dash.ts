// dash.js.
import type * as Dash from "dashjs";
import { dashSubtitles } from "./dash_subtitles";
import { base64url, type Keys, type Open, rungLabel, script, trackLabel } from "./player";

declare const dashjs: typeof Dash;

function clearKeys(keys: Keys): Dash.ProtectionDataSet {
  const clearkeys = Object.fromEntries(Object.entries(keys).map(([id, key]) => [base64url(id), base64url(key)]));
  return { "org.w3.clearkey": { clearkeys } as Dash.ProtectionData };
}

function reason(event: unknown): string {
  const { error } = event as { error?: { message?: string } | string };
  return typeof error === "string" ? error : (error?.message ?? "dash.js gave no reason");
}

export const openDash: Open = async ({ video, url, keys, failed }) => {
  await script("dash.js");
  const player = dashjs.MediaPlayer().create();
  const { ERROR, PLAYBACK_ERROR, STREAM_INITIALIZED } = dashjs.MediaPlayer.events;
  // It writes warnings to the console otherwise.
  player.updateSettings({ debug: { logLevel: dashjs.Debug.LOG_LEVEL_NONE } });
  const ready = new Promise<void>((resolve, reject) => {
    player.on(STREAM_INITIALIZED as string, () => resolve());
    for (const type of [ERROR, PLAYBACK_ERROR])
      player.on(type as string, (event) => {
        failed(reason(event));
        reject(new Error(reason(event)));
      });
  });
  player.initialize(video, undefined, false);
  const subtitles = dashSubtitles(player, video);
  if (Object.keys(keys).length > 0) player.setProtectionData(clearKeys(keys));
  player.attachSource(url);
  try {
    await ready;
  } catch (error) {
    player.destroy();
    throw error;
  }
  return {
    rungs: () => {
      const now = player.getCurrentRepresentationForType("video")?.id;
      return player.getRepresentationsByType("video").map((one) => ({
        id: one.id,
        label: rungLabel(one.height, one.bandwidth),
        now: one.id === now,
      }));
    },
    audio: () => {
      const now = player.getCurrentTrackFor("audio");
      return player.getTracksFor("audio").map((one, place) => ({
        id: String(place),
        label: trackLabel(one.lang, one.labels?.[0]?.text, String(place + 1)),
        now: one.index === now?.index,
      }));
    },
    subtitles: subtitles.list,
    chooseRung: (id) => {
      player.updateSettings({ streaming: { abr: { autoSwitchBitrate: { video: id === null } } } });
      if (id !== null) player.setRepresentationForTypeById("video", id, true);
    },
    chooseAudio: (id) => {
      const track = player.getTracksFor("audio")[Number(id)];
      if (track) player.setCurrentTrack(track);
    },
    chooseSubtitles: subtitles.choose,
    bandwidth: () => player.getAverageThroughput("video") * 1000 || null,
    destroy: async () => player.destroy(),
  };
};
