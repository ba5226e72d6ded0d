// Subtitles by dash.js 5.2.1. Three of its habits are lived with here. What a file holds goes to whichever track is chosen
// when the file arrives: none is taken away, only hidden, and no other is chosen while a file is under way. A file that
// arrives after a jump is thrown away: its track is chosen anew, and asked for again if it is not there. Cues wait for the
// time to change, which it does not while the film stands still: it is told again.
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
    // dash.js reads the file in answer to the same event. One that cannot be had is not asked for for ever.
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
