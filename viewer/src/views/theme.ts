/* theme.ts - light or dark: as the reader's system is, or as they chose, which this browser keeps. */
import { useEffect, useState } from "preact/hooks";
import { kindColour, KIND_NAMES, type Theme } from "../draw/colours.js";

export type Choice = "auto" | "light" | "dark";

const KEY = "sonde-theme";
const DARK = "(prefers-color-scheme: dark)", system = matchMedia(DARK);

function systemIsDark(): boolean {
  return matchMedia(DARK).matches;
}

/** A page in a file may have no storage. */
function kept(): Choice {
  try {
    const choice = localStorage.getItem(KEY);
    return choice === "light" || choice === "dark" ? choice : "auto";
  } catch {
    return "auto";
  }
}

function keep(choice: Choice): void {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    /* until the page is closed, then */
  }
}

/** Before there is a page, too. */
export function applyTheme(choice: Choice = kept(), isDark = systemIsDark()): boolean {
  const dark = choice === "auto" ? isDark : choice === "dark";
  const root = document.documentElement;
  if (root.dataset.theme !== (dark ? "dark" : "light")) for (const kind of KIND_NAMES) root.style.setProperty(`--kind-${kind}`, kindColour(kind, { dark }));
  root.dataset.theme = dark ? "dark" : "light";
  return dark;
}

/** What the switch does next: first what can be seen, and the system's own colours last. */
export function nextChoice(choice: Choice, systemDark: boolean): Choice {
  const opposite = systemDark ? "light" : "dark", same = systemDark ? "dark" : "light";
  return choice === "auto" ? opposite : choice === opposite ? same : "auto";
}

/** The system is asked whenever something is shown, by an object of its own: one that was asked after a change may not tell of it. */
export function useTheme(): { theme: Theme; choice: Choice; next: Choice; choose: (choice: Choice) => void } {
  const [choice, setChoice] = useState<Choice>(kept), [, turned] = useState(0), isDark = systemIsDark();
  useEffect(() => {
    const turn = () => turned((times) => times + 1);
    system.addEventListener("change", turn);
    return () => system.removeEventListener("change", turn);
  }, []);
  return {
    theme: { dark: applyTheme(choice, isDark) }, /* before what is below draws with the colours of it */
    choice,
    next: nextChoice(choice, isDark),
    choose(next) {
      keep(next);
      setChoice(next);
    },
  };
}
