// Saves a chart: as SVG with its colours written into it, as PNG, or its rows as CSV.
import { s } from "../dom";
import type { Content } from "./model";

const PAINT = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "fill-opacity",
  "font-size",
  "font-weight",
  "text-anchor",
];

/** The text of an SVG file that looks like the chart on the page, with its title above it. */
export function svgText(svg: SVGSVGElement, title: string): { text: string; width: number; height: number } {
  const width = svg.viewBox.baseVal.width;
  const inner = svg.viewBox.baseVal.height;
  const height = inner + 34;
  const page = getComputedStyle(document.documentElement);
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = svg.querySelectorAll("*");
  const to = copy.querySelectorAll("*");
  to.forEach((element, i) => {
    const style = getComputedStyle(from[i]!);
    for (const name of PAINT) {
      const value = style.getPropertyValue(name);
      if (value) element.setAttribute(name, value);
    }
    element.removeAttribute("class");
  });
  copy.querySelectorAll("[data-screen-only]").forEach((element) => {
    element.remove();
  });
  const whole = s(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": "system-ui, sans-serif",
    },
    s("title", null, title),
    s("rect", { width, height, fill: page.getPropertyValue("--surface").trim() || "#fff" }),
    s(
      "text",
      { x: 8, y: 22, "font-size": 15, "font-weight": 600, fill: page.getPropertyValue("--text").trim() || "#000" },
      title,
    ),
    s("g", { transform: "translate(0 34)" }, ...Array.from(copy.childNodes)),
  );
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

export async function pngBlob(svg: SVGSVGElement, title: string): Promise<Blob> {
  const { text, width, height } = svgText(svg, title);
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = width * 2;
    canvas.height = height * 2;
    const context = canvas.getContext("2d");
    if (!context) throw new Error("this browser has no canvas");
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no image was made"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** One cell of CSV. Text that a spreadsheet would take for a formula is kept text by an apostrophe. */
export function csvCell(value: string | number | boolean | null): string {
  if (value === null) return "";
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvText(content: Content): string {
  return [content.columns, ...content.rows].map((row) => row.map(csvCell).join(",") + "\r\n").join("");
}

export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
