// Dark or light: what the system prefers, until the reader chooses.

type Choice = "auto" | "light" | "dark";
const NAMES: Record<Choice, string> = {
  auto: "Colours: system default",
  light: "Colours: light",
  dark: "Colours: dark",
};
const NEXT: Record<Choice, Choice> = { auto: "dark", dark: "light", light: "auto" };

function stored(): Choice {
  try {
    const value = localStorage.getItem("weir-theme");
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

export function themeSwitch(): HTMLButtonElement {
  let choice = stored();
  const button = document.createElement("button");
  button.type = "button";
  button.className = "theme";
  button.dataset.themeSwitch = "";
  const apply = () => {
    if (choice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
    button.textContent = NAMES[choice];
  };
  button.addEventListener("click", () => {
    choice = NEXT[choice];
    try {
      localStorage.setItem("weir-theme", choice);
    } catch {
      // The choice then lasts as long as the page.
    }
    apply();
  });
  apply();
  return button;
}
