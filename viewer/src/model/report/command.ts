/* command.ts - a command line of the report as a place in the viewer: `profile --bottom-up --min-percent 5`. */
import type { View } from "../types.js";

export interface Place {
  view: string;
  options: Record<string, string>;
}

/** null: it names no view that there is. A flag's value is "1". */
export function parseCommand(command: string, views: readonly View[]): Place | null {
  const words = wordsOf(command), view = views.find((one) => one.name === words[0]);
  if (!view) return null;
  const options: Record<string, string> = {};
  for (let i = 1; i < words.length; i++) {
    const match = /^--([^=]+)(?:=(.*))?$/s.exec(words[i]!);
    const option = match && view.options.find((one) => one.name === match[1]);
    if (!match || !option) continue;
    options[option.name] = option.type === "flag" ? "1" : (match[2] ?? words[++i] ?? "");
  }
  return { view: view.name, options };
}

/** As a shell takes it apart. */
function wordsOf(command: string): string[] {
  const words: string[] = [];
  for (const match of command.matchAll(/(?:[^\s'"\\]+|'[^']*'|"(?:[^"\\]|\\.)*"|\\.)+/gs))
    words.push(match[0].replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs, (_, single?: string, double?: string, one?: string) => single ?? double?.replace(/\\(.)/gs, "$1") ?? one ?? ""));
  return words;
}

/** Options of views in the page's address: `VIEW.OPTION`, so that those of two views, and of a page, are not one. */
export function optionsOf(view: View, address: Record<string, string>): Record<string, string> {
  const given = view.options.map((option) => [option.name, address[`${view.name}.${option.name}`]] as const);
  return Object.fromEntries(given.filter((one): one is readonly [string, string] => one[1] !== undefined && one[1] !== ""));
}

export function addressOf(place: Place): Record<string, string> {
  return { view: place.view, ...Object.fromEntries(Object.entries(place.options).map(([name, value]) => [`${place.view}.${name}`, value])) };
}

/** As a request takes them. */
export function requested(view: View, given: Record<string, string>): Record<string, string | true> {
  const flags = new Set(view.options.filter((option) => option.type === "flag").map((option) => option.name));
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, flags.has(name) ? true : value]));
}
