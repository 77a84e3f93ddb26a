/* keys.ts - which key does what on the time line. */

export type Action =
  | "zoom-in" | "zoom-out" | "left" | "right" | "all" | "previous" | "next" | "lane-up" | "lane-down" | "fit" | "measure" | "jump" | "cause" | "effect" | "path" | "hit" | "hit-back"
  | "highlight" | "pin" | "deeper" | "shallower" | "nothing";

const EVERYWHERE: Record<string, Action> = {
  w: "zoom-in", "+": "zoom-in", "=": "zoom-in", s: "zoom-out", "-": "zoom-out", a: "left", d: "right", "0": "all", f: "fit", m: "measure", g: "jump", ",": "cause", ".": "effect", c: "path",
  n: "hit", N: "hit-back", h: "highlight", p: "pin", "]": "deeper", "[": "shallower", Escape: "nothing", ArrowLeft: "previous", ArrowRight: "next",
};
const ON_LANES: Record<string, Action> = { ArrowUp: "lane-up", ArrowDown: "lane-down", Enter: "fit" };
const SHIFTED: Record<string, Action> = { ArrowLeft: "left", ArrowRight: "right", N: "hit-back", "+": "zoom-in" };

/** Someone writes, moves within a control of its own, or reads what lies over the page. */
export function isTyping(event: KeyboardEvent): boolean {
  const at = event.target as HTMLElement | null;
  return !!at?.closest?.("input, select, textarea, [contenteditable], [role=tablist]") || !!document.querySelector("dialog[open]") || event.defaultPrevented;
}

export function keyAction(event: KeyboardEvent, onLanes: boolean): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (event.shiftKey) return SHIFTED[event.key] ?? null;
  return EVERYWHERE[event.key] ?? (onLanes ? (ON_LANES[event.key] ?? null) : null);
}
