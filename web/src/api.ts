// The local server: runs, their data, changes and live progress. Asks for the token when the server wants one.
import { BadDocument, check, type ReportDocument } from "./data/document";
import { checkWatched, type Watched } from "./data/watched";

export interface RunRow {
  run_id: number;
  parent_run_id: number | null;
  kind: string;
  target: string;
  local_name: string | null;
  remote_name: string | null;
  started_unix_ns: number;
  ended_unix_ns: number | null;
  outcome: string;
  reason: string | null;
  verdict: { answer: string | null; faults: number; notices: number; worst: string | null } | null;
  note: string;
  tags: string[];
}

export interface Progress {
  elapsed_ns: number;
  left_ns: number | null;
  rate_bits: number | null;
  loss: number | null;
  outcome: string;
}

/** A request that failed; the message is for people. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

type AskToken = (again: boolean) => Promise<string>;

export class Api {
  private token = "";
  private asking: Promise<string> | null = null;

  constructor(private readonly ask: AskToken) {
    try {
      this.token = sessionStorage.getItem("weir-token") ?? "";
    } catch {
      // Without storage, the token is requested on each page load.
    }
  }

  private async request(path: string, options: RequestInit = {}): Promise<Response> {
    for (let attempt = 0; ; attempt++) {
      const used = this.token;
      const headers = new Headers(options.headers);
      if (used) headers.set("Authorization", `Bearer ${used}`);
      if (options.method && options.method !== "GET") headers.set("X-Weir", "1");
      let response: Response;
      try {
        response = await fetch(`/api/v1${path}`, { ...options, headers, cache: "no-store" });
      } catch (error) {
        if ((error as Error).name === "AbortError") throw error;
        throw new ApiError(0, "The server does not respond. Is weir ui still running?");
      }
      if (response.status === 401 && attempt < 20) {
        // Several requests may fail at once: the token is requested once for all of them.
        if (used === this.token) {
          this.asking ??= this.ask(attempt > 0 || used !== "").finally(() => {
            this.asking = null;
          });
          this.token = await this.asking;
          try {
            sessionStorage.setItem("weir-token", this.token);
          } catch {
            // As above.
          }
        }
        continue;
      }
      if (!response.ok) throw new ApiError(response.status, await explain(response));
      return response;
    }
  }

  async runs(filter: Record<string, string>): Promise<{ runs: RunRow[]; more: boolean; kinds: string[] }> {
    const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ""));
    return (await this.request(`/runs?${query}`)).json();
  }

  private async json(path: string, signal?: AbortSignal): Promise<unknown> {
    const response = await this.request(path, { signal });
    try {
      return await response.json();
    } catch (error) {
      if ((error as Error).name === "AbortError") throw error;
      throw new BadDocument("The server's response is not valid JSON.");
    }
  }

  async data(id: number, signal?: AbortSignal): Promise<ReportDocument> {
    return check(await this.json(`/runs/${id}/data`, signal));
  }

  /** Watched paths: from and to, or a host; until a time in Unix seconds, and how long before it. */
  async watched(query: Record<string, string>, signal?: AbortSignal): Promise<Watched> {
    return checkWatched(await this.json(`/watch?${new URLSearchParams(query)}`, signal));
  }

  async change(id: number, change: { note?: string; tags?: string[] }): Promise<void> {
    await this.request(`/runs/${id}`, {
      method: "PATCH",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(change),
    });
  }

  async remove(id: number): Promise<void> {
    await this.request(`/runs/${id}`, { method: "DELETE" });
  }

  async report(id: number): Promise<Blob> {
    return (await this.request(`/runs/${id}/report`)).blob();
  }

  /** Follows a run until it has ended or `signal` aborts. Returns whether it ended. */
  async follow(id: number, onProgress: (progress: Progress) => void, signal: AbortSignal): Promise<boolean> {
    const response = await this.request(`/runs/${id}/events`, { headers: { Accept: "text/event-stream" }, signal });
    if (!response.body) return false;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let buffer = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      buffer += value;
      const { events, rest } = parseEvents(buffer);
      buffer = rest;
      for (const { event, data } of events) {
        if (event === "ended") return true;
        if (event === "progress") onProgress(JSON.parse(data) as Progress);
      }
    }
  }
}

export interface ServerEvent {
  event: string;
  data: string;
}

/** Parses server-sent events from a text; an incomplete event is returned as the rest. */
export function parseEvents(text: string): { events: ServerEvent[]; rest: string } {
  const blocks = text.replace(/\r\n?/g, "\n").split("\n\n");
  const rest = blocks.pop() ?? "";
  const events: ServerEvent[] = [];
  for (const block of blocks) {
    let event = "message";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") event = value;
      else if (field === "data") data.push(value);
    }
    if (data.length > 0 || event !== "message") events.push({ event, data: data.join("\n") });
  }
  return { events, rest };
}

async function explain(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const said = (JSON.parse(text) as { error?: unknown }).error;
    if (typeof said === "string") return said;
    const message = (said as { message?: unknown } | null)?.message;
    if (typeof message === "string") return message;
  } catch {
    // Not JSON: the text itself may be the message.
  }
  if (text && text.length < 300 && !text.includes("<")) return text;
  if (response.status === 404) return "No such run.";
  return `The server responded with status ${response.status}.`;
}
