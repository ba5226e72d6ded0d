// Fails when script and style together are larger than a report should carry.
import { readFileSync } from "node:fs";

const LIMIT = 600_000;
const html = readFileSync(new URL("../dist/index.html", import.meta.url), "utf8");
const bytes = (pattern) => Buffer.byteLength(html.match(pattern)?.[1] ?? "");
const script = bytes(/<script type="module">([\s\S]*)<\/script>/);
const style = bytes(/<style>([\s\S]*?)<\/style>/);
console.log(`script ${script} bytes, style ${style} bytes, together ${script + style} of ${LIMIT}`);
if (script === 0 || style === 0 || script + style > LIMIT) process.exit(1);
