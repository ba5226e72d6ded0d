// The form that selects title, output and player. It must not know how players are created.
import { h } from "../../src/dom";
import { OUTPUTS, type PlayerName, type Wish } from "./outputs";

export interface Form {
  element: HTMLElement;
  wish(): Wish;
  show(wish: Wish): void;
  /** Titles that there are, or why nobody knows. */
  offer(titles: string[] | null, why: string): void;
}

const field = (label: string, control: HTMLElement, note: Node | null = null) =>
  h("label", { class: "field" }, h("span", null, label), control, note);

export function form(play: () => void): Form {
  const titles = h("datalist", { id: "titles" });
  const note = h("small", { "data-titles": "" });
  const title = h("input", { name: "title", list: "titles", required: true, spellcheck: "false", autocomplete: "off" });
  const output = h(
    "select",
    { name: "output" },
    ...Object.entries(OUTPUTS).map(([name, { label }]) => h("option", { value: name }, label)),
  );
  const player = h("select", { name: "player" });
  const query = h("input", {
    name: "query",
    placeholder: "filter=height<=720",
    spellcheck: "false",
    autocomplete: "off",
  });
  const keys = h("input", { name: "keys", placeholder: "KID:KEY", spellcheck: "false", autocomplete: "off" });
  const offerPlayers = (wanted: string) => {
    const able = OUTPUTS[output.value]!.players;
    player.replaceChildren(...able.map((name) => h("option", { value: name }, name)));
    player.value = able.find((name) => name === wanted) ?? able[0]!;
  };
  output.addEventListener("change", () => offerPlayers(player.value));
  const element = h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        play();
      },
    },
    field("Title", title, note),
    titles,
    field("Output", output),
    field("Player", player),
    field("Query", query),
    field("Clear keys", keys),
    h("button", { type: "submit" }, "Play"),
  );
  return {
    element,
    wish: () => ({
      title: title.value.trim().replace(/^\/+|\/+$/g, ""),
      output: output.value,
      player: player.value as PlayerName,
      query: query.value.trim().replace(/^\?/, ""),
      keys: keys.value.trim(),
    }),
    show: (wish) => {
      title.value = wish.title;
      output.value = wish.output;
      offerPlayers(wish.player);
      query.value = wish.query;
      keys.value = wish.keys;
    },
    offer: (found, why) => {
      titles.replaceChildren(...(found ?? []).map((name) => h("option", { value: name })));
      note.replaceChildren(found ? `${found.length} here` : why);
      if (found?.[0] && title.value === "") title.value = found[0];
    },
  };
}
