// A tiny server for tests: the page, and an API that answers as weir ui does, from fixture documents in memory.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { document, PAGE, report } from "./fixtures.mjs";

/** Rows of the list, as GET /api/v1/runs gives them. */
function row(run) {
  const finding = run.diagnosis?.findings[0];
  return {
    run_id: run.run_id,
    parent_run_id: run.parent_run_id,
    kind: run.kind,
    target: run.target,
    local_name: run.local_host?.name ?? null,
    remote_name: run.remote_host?.name ?? null,
    started_unix_ns: run.started_unix_ns,
    ended_unix_ns: run.outcome === "running" ? null : run.ended_unix_ns,
    outcome: run.outcome,
    reason: run.reason,
    verdict: finding ? { severity: finding.severity, sentence: finding.sentence } : null,
    note: run.note,
    tags: run.tags,
  };
}

/** Serves `runs`; with `token` only to who knows it. `requests` holds what was asked. */
export async function serve(runs, { token = null } = {}) {
  const requests = [];
  const followers = new Set();
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://x");
    requests.push({ method: request.method, path: url.pathname, query: url.searchParams, headers: request.headers });
    const json = (status, value) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (!url.pathname.startsWith("/api/")) {
      if (url.pathname !== "/") return json(404, { error: "nothing here" });
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
      return response.end(readFileSync(PAGE));
    }
    if (token && request.headers.authorization !== `Bearer ${token}`) return json(401, { error: "a token is needed" });
    const changes = request.method !== "GET";
    if (changes && request.headers["x-weir"] !== "1") return json(403, { error: "X-Weir is missing" });
    if (url.pathname === "/api/v1/runs") {
      const search = url.searchParams.get("search") ?? "";
      const kind = url.searchParams.get("kind") ?? "";
      const tag = url.searchParams.get("tag") ?? "";
      const found = runs.filter(
        (run) =>
          run.parent_run_id === null &&
          (!kind || run.kind === kind) &&
          (!tag || run.tags.includes(tag)) &&
          (!search || `${run.target} ${run.note} ${run.remote_host?.name}`.includes(search)),
      );
      return json(200, { runs: found.map(row).reverse(), more: false });
    }
    const [, id, what] = /^\/api\/v1\/runs\/(\d+)(?:\/(\w+))?$/.exec(url.pathname) ?? [];
    const run = runs.find((one) => one.run_id === Number(id));
    if (!run) return json(404, { error: `there is no run ${id}` });
    if (what === "data") return json(200, document(run, ...runs.filter((one) => one.parent_run_id === run.run_id)));
    if (what === "report") {
      response.writeHead(200, {
        "Content-Type": "text/html",
        "Content-Disposition": `attachment; filename="weir-${id}.html"`,
      });
      return response.end(report(document(run)));
    }
    if (what === "events") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      let elapsed = 5e9;
      const send = () => {
        elapsed += 1e9;
        response.write(
          `event: progress\ndata: ${JSON.stringify({ elapsed_ns: elapsed, left_ns: 20e9, rate_bits: 2.5e9, loss: 0.001, outcome: "running" })}\n\n`,
        );
      };
      const timer = setInterval(send, 300);
      send();
      const follower = {
        end: () => {
          clearInterval(timer);
          followers.delete(follower);
          response.write("event: ended\ndata: {}\n\n");
          response.end();
        },
      };
      followers.add(follower);
      request.on("close", () => clearInterval(timer));
      return;
    }
    if (request.method === "DELETE") {
      runs.splice(runs.indexOf(run), 1);
      response.writeHead(204);
      return response.end();
    }
    if (request.method === "PATCH") {
      let body = "";
      for await (const piece of request) body += piece;
      Object.assign(run, JSON.parse(body));
      return json(200, row(run));
    }
    return json(405, { error: "not here" });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    requests,
    endRun: (run) => {
      run.outcome = "finished";
      for (const follower of [...followers]) follower.end();
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
