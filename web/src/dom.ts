// Makes elements. Everything that comes from data passes through here as text and never as markup.

export type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: Event) => void);

/** Characters that turn the direction of writing would let a name rewrite the words around it: they become visible. */
function visible(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

function fill(element: Element, attributes: Record<string, Value> | null, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(String(child)));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> | null = null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> | null = null,
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

/** A button that copies a text and confirms it. */
export function copyButton(text: string, what: string): HTMLButtonElement {
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text)) ? "Copied" : "Select and copy the text";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  return button;
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages opened from a file may have no clipboard: the old way still works there.
    const area = h("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A table from rows of text; the first column heads its row, columns in `numeric` are set to the right. */
export function table(
  caption: string,
  head: string[],
  rows: Child[][],
  options: { numeric?: number[]; hideCaption?: boolean } = {},
): HTMLElement {
  const right = (column: number) => (options.numeric?.includes(column) ? "number" : null);
  const element = h(
    "table",
    null,
    h("caption", { class: options.hideCaption ? "visually-hidden" : null }, caption),
    h("thead", null, h("tr", null, ...head.map((text, i) => h("th", { scope: "col", class: right(i) }, text)))),
    h(
      "tbody",
      null,
      ...rows.map((row) =>
        h(
          "tr",
          null,
          ...row.map((cell, i) =>
            i === 0 ? h("th", { scope: "row", class: right(i) }, cell) : h("td", { class: right(i) }, cell),
          ),
        ),
      ),
    ),
  );
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, element);
}
