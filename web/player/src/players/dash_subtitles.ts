// Subtitles with dash.js 5.2.1, with workarounds for three of its properties. Cues of a file go to the track that is
// selected when the file arrives: tracks are hidden, not removed, and none is selected while a file is loading. A file
// that arrives after a seek is discarded: its track is selected and requested again. Cues wait for a change of the
// time, which does not change while the video is paused: the event is repeated.
import type * as Dash from "dashjs";
import { type Choice, trackLabel } from "./player";

declare const dashjs: typeof Dash;

export interface Subtitles {
  list(): Choice[];
  /** Null shows none. */
  choose(id: string | null): void;
}

/** For a player that no source is attached to yet. */
export function dashSubtitles(player: Dash.MediaPlayerClass, video: HTMLVideoElement): Subtitles {
  const { FRAGMENT_LOADING_ABANDONED, FRAGMENT_LOADING_COMPLETED, FRAGMENT_LOADING_STARTED, TEXT_TRACKS_ADDED } =
    dashjs.MediaPlayer.events;
  let isReady = false;
  let isLoading = false;
  let wanted: number | null = null;

  const hide = () => {
    for (const track of video.textTracks) if (track.mode === "showing") track.mode = "hidden";
  };
  const show = () => {
    if (wanted === null) return hide();
    if (isLoading) return;
    player.setTextTrack(-1);
    player.setTextTrack(wanted);
    video.dispatchEvent(new Event("timeupdate"));
  };
  const isText = (event: unknown) => (event as Dash.FragmentLoadingCompletedEvent).request.mediaType === "text";

  // Those of what was played before cannot be removed.
  for (const track of video.textTracks) track.mode = "disabled";
  player.on(TEXT_TRACKS_ADDED as string, () => {
    isReady = true;
    show();
  });
  player.on(FRAGMENT_LOADING_STARTED as string, (event) => {
    if (isText(event)) isLoading = true;
  });
  player.on(FRAGMENT_LOADING_ABANDONED as string, (event) => {
    if (isText(event)) isLoading = false;
  });
  player.on(FRAGMENT_LOADING_COMPLETED as string, (event) => {
    if (!isText(event)) return;
    isLoading = false;
    const isThere = Boolean((event as Dash.FragmentLoadingCompletedEvent).response);
    // dash.js loads the file on the same event. Requests for an unavailable file stop after some attempts.
    queueMicrotask(() => {
      if (isThere || wanted !== player.getCurrentTextTrackIndex()) show();
    });
  });
  return {
    list: () =>
      (isReady ? player.getTracksFor("text") : []).map((one, place) => ({
        id: String(place),
        label: trackLabel(one.lang, one.labels?.[0]?.text, String(place + 1)),
        now: place === wanted,
      })),
    choose: (id) => {
      wanted = id === null ? null : Number(id);
      show();
    },
  };
}
