// Makes the one file of the page, dist/index.html, from what Vite built: script and style inside it, and a content
// security policy that allows exactly those two, by their hashes. The same input gives the same bytes.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const built = new URL("../.build/", import.meta.url);
const dist = new URL("../dist/", import.meta.url);
const files = readdirSync(built).sort();
const expected = ["index.html", "page.css", "page.js"];
if (files.join() !== expected.join()) {
  throw new Error(`the build has ${files.join(", ")}; the page is made of ${expected.join(", ")} alone`);
}
const read = (name) => readFileSync(new URL(name, built), "utf8");

// Inside a script element "</script" and "<!--" would end or change the parsing; in code both can only be in strings.
const script = read("page.js").trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = read("page.css").trim();
if (style.includes("</style")) throw new Error("the style would end its own element");
const hash = (text) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "img-src data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

let html = read("index.html");
// A function as replacement: in a string "$&" of the code would be a pattern.
const put = (pattern, text) => {
  if (!pattern.test(html)) throw new Error(`the built page has nothing that matches ${pattern}`);
  html = html.replace(pattern, () => text);
};
put(/\s*<script type="module"[^>]*><\/script>/, "");
put(/\s*<link rel="stylesheet"[^>]*>/, `\n<style>${style}</style>`);
put(
  /<meta charset="utf-8">/,
  `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`,
);
put(/<\/body>/, `<script type="module">${script}</script>\n</body>`);
const placeholder = '<script type="application/gzip;base64" id="weir-data"></script>';
if (html.split(placeholder).length !== 2) throw new Error("the place of the data must be in the page exactly once");

mkdirSync(dist, { recursive: true });
// What is the same stays untouched: whoever embeds it would be built anew.
const page = new URL("index.html", dist);
if (!existsSync(page) || readFileSync(page, "utf8") !== html) writeFileSync(page, html);
