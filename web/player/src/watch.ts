// What a viewer sees of a video element: how far its buffer goes, and when it had to wait.

export interface Seen {
  state: string;
  position: number;
  duration: number;
  /** Seconds that are there beyond the position. */
  buffer: number;
  stalls: number;
  /** Milliseconds of them together, the one that lasts included. */
  stalled: number;
  dropped: number;
}

export interface Watch {
  seen(): Seen;
  stop(): void;
}

/** Waiting counts as a stall only once pictures have moved, and not while the viewer seeks. */
export function watch(video: HTMLVideoElement): Watch {
  let stalls = 0;
  let stalled = 0;
  let since: number | null = null;
  let moved = false;
  const ending = new AbortController();
  const on = (name: string, done: () => void) => video.addEventListener(name, done, { signal: ending.signal });
  const over = () => {
    if (since !== null) stalled += performance.now() - since;
    since = null;
  };
  on("playing", () => {
    moved = true;
    over();
  });
  on("waiting", () => {
    if (!moved || video.seeking || since !== null) return;
    stalls += 1;
    since = performance.now();
  });
  on("seeking", () => {
    moved = false;
    over();
  });
  on("ended", over);
  return {
    seen: () => ({
      state: state(video, since !== null),
      position: video.currentTime,
      duration: Number.isFinite(video.duration) ? video.duration : 0,
      buffer: ahead(video),
      stalls,
      stalled: stalled + (since === null ? 0 : performance.now() - since),
      dropped: video.getVideoPlaybackQuality().droppedVideoFrames,
    }),
    stop: () => ending.abort(),
  };
}

/** dash.js 5.2.1 may end a film a moment before the browser does: it then stands at its end and is not `ended`. */
const isOver = (video: HTMLVideoElement) => video.ended || (video.paused && video.currentTime >= video.duration);

function state(video: HTMLVideoElement, waits: boolean): string {
  if (isOver(video)) return "ended";
  if (video.seeking) return "seeking";
  if (waits) return "stalled";
  return video.paused ? "paused" : "playing";
}

function ahead(video: HTMLVideoElement): number {
  const { buffered, currentTime } = video;
  for (let i = 0; i < buffered.length; i++)
    if (buffered.start(i) <= currentTime && currentTime <= buffered.end(i)) return buffered.end(i) - currentTime;
  return 0;
}
