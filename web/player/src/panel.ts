// The panel during playback: current figures, and menus of rungs, languages and subtitles.
import { h } from "../../src/dom";
import type { Choice, Player } from "./players/player";
import type { Seen } from "./watch";

export interface Panel {
  element: HTMLElement;
  show(player: Player, seen: Seen): void;
}

const FIGURES = ["state", "position", "rung", "buffer", "stalls", "dropped", "bandwidth"] as const;
type Figure = (typeof FIGURES)[number];

const LABELS: Record<Figure, string> = {
  state: "State",
  position: "Position",
  rung: "Rung",
  buffer: "Buffer",
  stalls: "Stalls",
  dropped: "Frames dropped",
  bandwidth: "Estimated bandwidth",
};

const AUTO = "auto";
const NONE = "none";

export function panel(player: Player): Panel {
  const cells = Object.fromEntries(FIGURES.map((name) => [name, h("dd", { "data-figure": name }, "–")])) as Record<
    Figure,
    HTMLElement
  >;
  const rungs = menu("rung", [AUTO, "Let the player choose"], (id) => player.chooseRung(id === AUTO ? null : id));
  const audio = menu("audio", null, (id) => player.chooseAudio(id));
  const text = menu("subtitles", [NONE, "None"], (id) => player.chooseSubtitles(id === NONE ? null : id));
  const element = h(
    "section",
    { "aria-label": "What plays" },
    h(
      "div",
      { class: "choices" },
      h("label", { class: "field" }, h("span", null, "Rung"), rungs.element),
      h("label", { class: "field" }, h("span", null, "Audio"), audio.element),
      h("label", { class: "field" }, h("span", null, "Subtitles"), text.element),
    ),
    h("dl", null, ...FIGURES.map((name) => h("div", null, h("dt", null, LABELS[name]), cells[name]))),
  );
  return {
    element,
    show: (of, seen) => {
      rungs.offer(of.rungs(), false);
      audio.offer(of.audio(), true);
      text.offer(of.subtitles(), false);
      const bandwidth = of.bandwidth();
      const told: Record<Figure, string> = {
        state: seen.state,
        position: `${seen.position.toFixed(1)} of ${seen.duration.toFixed(1)} s`,
        rung: of.rungs().find((one) => one.now)?.label ?? "–",
        buffer: `${seen.buffer.toFixed(1)} s`,
        stalls: seen.stalls === 0 ? "0" : `${seen.stalls}, ${(seen.stalled / 1000).toFixed(1)} s`,
        dropped: String(seen.dropped),
        bandwidth: bandwidth === null ? "–" : `${(bandwidth / 1e6).toFixed(1)} Mbit/s`,
      };
      for (const name of FIGURES) if (cells[name].textContent !== told[name]) cells[name].textContent = told[name];
    },
  };
}

/** A list to choose from; what the player has is put in when it changes, and what the viewer chose stays. */
function menu(name: string, first: [string, string] | null, choose: (id: string) => void) {
  const element = h("select", { name });
  element.addEventListener("change", () => choose(element.value));
  let known = "";
  const offer = (choices: Choice[], follow: boolean) => {
    const told = JSON.stringify(choices.map(({ id, label }) => [id, label]));
    if (told !== known) {
      const chosen = element.value;
      const options = choices.map(({ id, label }) => h("option", { value: id }, label));
      element.replaceChildren(...(first ? [h("option", { value: first[0] }, first[1])] : []), ...options);
      if ([...element.options].some((option) => option.value === chosen)) element.value = chosen;
      known = told;
      const now = choices.find((one) => one.now);
      if (follow && now) element.value = now.id;
    }
  };
  return { element, offer };
}
