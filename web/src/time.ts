// Points in time: the reader's local time, with UTC beside it.

/** Milliseconds since 1970 of a point in a run. Doubles round Unix times to about 0.25 us, more than is shown. */
export function toDate(startedUnixNs: number, atNs: number): Date {
  return new Date(startedUnixNs / 1e6 + atNs / 1e6);
}

const pad = (value: number, width = 2) => String(value).padStart(width, "0");

function clock(date: Date, utc: boolean, fraction: number): string {
  const [hour, minute, second, ms] = utc
    ? [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds(), date.getUTCMilliseconds()]
    : [date.getHours(), date.getMinutes(), date.getSeconds(), date.getMilliseconds()];
  const rest = fraction > 0 ? "." + pad(ms, 3).slice(0, fraction) : "";
  return `${pad(hour)}:${pad(minute)}:${pad(second)}${rest}`;
}

function day(date: Date, utc: boolean): string {
  return utc
    ? `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`
    : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

/** The offset of local time, as UTC+02:00; "UTC" where there is none. */
export function zone(date: Date): string {
  const minutes = -date.getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "−" : "+"}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
}

/** 10:32:11.250, local. */
export function localClock(date: Date, fraction = 0): string {
  return clock(date, false, fraction);
}

/** Local date and time, then UTC, unless they are the same. */
export function both(date: Date, fraction = 0): string {
  if (Number.isNaN(date.getTime())) return "at an unknown time";
  if (date.getTimezoneOffset() === 0) return `${day(date, true)} ${clock(date, true, fraction)} UTC`;
  const utcDay = day(date, true) === day(date, false) ? "" : `${day(date, true)} `;
  return `${day(date, false)} ${clock(date, false, fraction)} (${utcDay}${clock(date, true, fraction)} UTC)`;
}

/** The same as two texts, for narrow columns; the second is empty where local time is UTC. */
export function bothLines(date: Date, fraction = 0): [string, string] {
  const text = both(date, fraction);
  const at = text.indexOf(" (");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 2, -1)];
}

/** Text for a tick of a time axis, as fine as the step between ticks asks for. */
export function tickText(date: Date, stepMs: number): string {
  if (stepMs >= 86_400_000) return day(date, false).slice(5);
  if (stepMs >= 60_000) {
    return date.getHours() === 0 && date.getMinutes() === 0
      ? day(date, false).slice(5)
      : clock(date, false, 0).slice(0, 5);
  }
  if (stepMs >= 1000) return clock(date, false, 0);
  return clock(date, false, stepMs >= 100 ? 1 : stepMs >= 10 ? 2 : 3);
}
