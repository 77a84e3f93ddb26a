/* palette.ts - a colour for each category of the critical path: work is strong, waiting and what is unknown is grey. */
import type { Theme } from "../../draw/colours.js";

const LIGHT: Record<string, string> = {
  kernel: "#2f7d4f", copy: "#3b76c4", set: "#6aa5dd", api: "#c9822b", host: "#8a56b0", launch: "#d9a9a0", gap: "#e6c9c3",
  order: "#94a3a3", start_up: "#b8a9cc", off_cpu: "#9a9aa4", paused: "#c6c6cc", unknown: "#d8d8dc",
};
const DARK: Record<string, string> = {
  kernel: "#55b07c", copy: "#6b9fe0", set: "#4d7eb3", api: "#dda04f", host: "#ab7fd0", launch: "#9c6a62", gap: "#77524c",
  order: "#6b7a7a", start_up: "#75658c", off_cpu: "#6c6c76", paused: "#505058", unknown: "#3e3e46",
};

export function categoryColour(category: string, theme: Theme): string {
  return (theme.dark ? DARK : LIGHT)[category] ?? (theme.dark ? "#6c6c76" : "#9a9aa4");
}
