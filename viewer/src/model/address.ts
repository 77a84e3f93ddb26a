/* address.ts - what is shown, as the fragment of the page's address: `#/PAGE?OPTION=VALUE&...`. All that a reader would want to send to
 * somebody else is in it, and the browser's back button works.
 *
 * Options that several pages share: `from`, `to` (the selected range, ns on the axis of the run), `routine` (the label that is highlighted
 * everywhere), `depth` (level of the calling context), `find` (what is searched). */

export const SHARED = ["from", "to", "routine", "depth", "find"];

export interface Address {
  page: string;
  options: Record<string, string>;
}

export function parseAddress(hash: string): Address {
  const match = /^#\/([^?]*)(?:\?(.*))?$/.exec(hash);
  if (!match) return { page: "", options: {} };
  return { page: decode(match[1]!), options: Object.fromEntries(new URLSearchParams(match[2] ?? "")) };
}

export function formatAddress(address: Address): string {
  const options = new URLSearchParams(Object.entries(address.options).filter(([, value]) => value !== ""));
  const text = options.toString();
  return "#/" + encodeURIComponent(address.page) + (text ? "?" + text : "");
}

/** The address with other options; one that is null is taken out. */
export function changed(address: Address, changes: Record<string, string | number | null>, page = address.page): Address {
  const options = { ...address.options };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete options[name];
    else options[name] = String(value);
  }
  return { page, options };
}

/** Another page: what pages share goes along; what else was set there when it was left is as it was. */
export function moved(address: Address, page: string, left: Record<string, string> = {}): Address {
  const own = Object.entries(left).filter(([name]) => !SHARED.includes(name));
  const shared = Object.entries(address.options).filter(([name]) => SHARED.includes(name));
  return { page, options: Object.fromEntries([...own, ...shared]) };
}

/** The selected range on the axis of the run, or null. */
export function rangeOf(address: Address): { from: number; to: number } | null {
  const from = Number(address.options.from), to = Number(address.options.to);
  return address.options.from !== undefined && from >= 0 && to > from ? { from, to } : null;
}

/** The selected range, else the window of the time line that an address names. */
export function windowOf(address: Address): { from: number; to: number } | null {
  const { t0, t1 } = address.options;
  return rangeOf(address) ?? (t0 !== undefined && t1 !== undefined ? rangeOf({ page: "", options: { from: t0, to: t1 } }) : null);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
