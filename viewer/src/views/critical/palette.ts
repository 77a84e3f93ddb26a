/* palette.ts - a colour for each category of the critical path: the one that the same thing has on other pages. */
import { kindColour, type Theme } from "../../draw/colours.js";

/** Categories that are called otherwise there. */
const KINDS: Record<string, string> = { kernel: "busy", host: "host_code", api: "api_calls" };

export function categoryColour(category: string, theme: Theme): string {
  return kindColour(KINDS[category] ?? category, theme);
}
