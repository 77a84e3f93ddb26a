/* colours.ts - one stable colour for each routine: the same name has the same colour in every picture, run and session. Hues are spread by
 * the golden angle over those that people with a colour vision deficiency tell apart by lightness too; idle time has no colour. */

/** FNV-1a, 32 bits. */
export function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

export interface Theme {
  dark: boolean;
}

/** The colour of a routine, API call, kernel or range by its label. */
export function colourOf(label: string, theme: Theme): string {
  const h = hash(label);
  const hue = (h * 137.508) % 360;
  const lightness = (theme.dark ? 38 : 62) + ((h >>> 20) % 4) * 6;
  return `hsl(${hue.toFixed(1)} ${45 + ((h >>> 24) % 3) * 12}% ${lightness}%)`;
}

/** The same hue for lines upon the page's paper, which have to stand out by themselves. */
export function lineColourOf(label: string, theme: Theme): string {
  return colourOf(label, theme).replace(/[\d.]+%\)$/, theme.dark ? "68%)" : "38%)");
}

/** The colour of text upon a routine's colour. */
export function inkOn(theme: Theme): string {
  return theme.dark ? "#ffffff" : "#101010";
}

/** What devices and threads did, light and dark: one colour each on every page. Most are Okabe and Ito's, which people with any colour vision
 * tell apart; waiting, and what is unknown, is pale or grey. The page has them as --kind-NAME, too (views/theme.ts). */
const KINDS: Record<string, [string, string]> = {
  busy: ["#0072b2", "#3d9ddb"], copy: ["#cc79a7", "#d68fb8"], set: ["#e3b7d0", "#8d5f7a"], order: ["#94a3a3", "#6b7a7a"],
  host_code: ["#e69f00", "#e69f00"], api_calls: ["#d55e00", "#d9651a"], waits: ["#f0e442", "#e8dd5a"], compiles: ["#009e73", "#1aae85"],
  memory: ["#56b4e9", "#7cc4ee"], launch: ["#bfa58e", "#8a7460"], gap: ["#dccdbf", "#5f5248"], start_up: ["#b8a9cc", "#75658c"],
  off_cpu: ["#9a9aa4", "#6c6c76"], message: ["#7a5ea8", "#a48bd0"], paused: ["#c6c6cc", "#505058"], no_thread: ["#ececf0", "#3a3a44"], unknown: ["#d8d8dc", "#3e3e46"],
};
export const KIND_NAMES = Object.keys(KINDS);

export function kindColour(kind: string, theme: Theme): string {
  return (KINDS[kind] ?? KINDS.unknown!)[theme.dark ? 1 : 0];
}

/** Of places in their order, as far apart as hues can be. */
export function placeColour(number: number, theme: Theme): string {
  return `hsl(${((205 + number * 137.508) % 360).toFixed(1)} ${theme.dark ? "45% 52%" : "52% 58%"})`;
}

/** Less and more of something, from -1 over 0 to 1, on one scale from blue over grey to vermilion, which people with any colour vision tell apart;
 * null: a difference that may be none. */
export function differenceColour(change: number | null, theme: Theme): string {
  const ends = change !== null && change < 0 ? KINDS.busy! : KINDS.api_calls!, at = theme.dark ? 1 : 0;
  const part = Math.abs(change ?? 0), mixed = [1, 3, 5].map((i) => {
    const [grey, end] = [KINDS.off_cpu![at], ends[at]].map((colour) => parseInt(colour.slice(i, i + 2), 16)) as [number, number];
    return Math.round(grey + (end - grey) * part).toString(16).padStart(2, "0");
  });
  return `#${mixed.join("")}`;
}

/** Of pictures that are saved. */
export const LIGHT_INKS = { paper: "#ffffff", ink: "#1b1b1f", line: "#d9d9e0" };
export const DARK_INKS = { paper: "#16161a", ink: "#e8e8ee", line: "#3a3a44" };
