/* overpicture.ts - what lies over the lanes, as SVG: as draw/timeline/overlay.ts draws it on screen. */
import { rect, round, text } from "../svg.js";
import type { Arrow } from "./dependencies.js";
import type { Outline, Over, Stretch } from "./sight.js";

export interface OverInks {
  paper: string;
  ink: string;
  quiet: string;
  line: string;
  accent: string;
}

export function overSvg(over: Over, inks: OverInks): string[] {
  const { width, height, range } = over, parts = over.lines.map((x) => rect(Math.round(x), 0, 1, height, inks.line, 0.3));
  if (range) {
    const x0 = Math.max(Math.min(range.x0, width), 0), x1 = Math.max(Math.min(range.x1, width), 0);
    parts.push(rect(0, 0, x0, height, inks.ink, 0.07), rect(x1, 0, width - x1, height, inks.ink, 0.07));
    for (const x of [range.x0, range.x1]) if (x >= 0 && x <= width) parts.push(rect(Math.round(x), 0, 1, height, inks.accent, 0.8));
  }
  for (const path of over.paths) parts.push(...pathSvg(path, inks));
  for (const outline of over.outlines) parts.push(...outlineSvg(outline, width, inks));
  for (const arrow of over.arrows) parts.push(...arrowSvg(arrow, inks));
  return parts;
}

function line(d: string, colour: string, width: number): string {
  return `<path d="${d}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linejoin="round"/>`;
}

function pathSvg(path: Stretch[], { paper, accent }: OverInks): string[] {
  const d = path.map(({ x0, x1, y, seen }, i) => `${i ? "L" : "M"}${round(x0)} ${round(y)}${seen ? "L" : "M"}${round(seen ? Math.max(x1, x0 + 1) : x1)} ${round(y)}`).join("");
  return d ? [line(d, paper, 5), line(d, accent, 3)] : [];
}

function outlineSvg({ x0, x1, y0, y1, strong }: Outline, width: number, { paper, ink, quiet }: OverInks): string[] {
  const left = Math.max(x0, -4), right = Math.min(Math.max(x1, x0 + 2), width + 4);
  if (right < 0 || left > width) return [];
  const d = `M${round(left)} ${round(y0)}H${round(right)}V${round(y1)}H${round(left)}Z`;
  return [line(d, paper, strong ? 4 : 2), line(d, strong ? ink : quiet, strong ? 2 : 1)];
}

function arrowSvg({ x0, y0, x1, y1, strong, count, other }: Arrow, { paper, ink, quiet }: OverInks): string[] {
  const bend = Math.max(Math.abs(x1 - x0) / 2, 24), head = strong ? 8 : 6, colour = strong ? ink : quiet;
  const d = `M${round(x0)} ${round(y0)}C${round(x0 + bend)} ${round(y0)} ${round(x1 - bend)} ${round(y1)} ${round(x1 - 6)} ${round(y1)}`;
  const parts = [[paper, strong ? 5 : 3] as const, [colour, strong ? 2 : 1] as const].flatMap(([shade, width]) => {
    const back = round(x1 - head - width / 2), half = head / 2 + width / 2;
    return [line(d, shade, width), `<path d="M${round(x1)} ${round(y1)}L${back} ${round(y1 - half)}V${round(y1 + half)}Z" fill="${shade}"/>`];
  });
  if (count > 1) parts.push(other === "from" ? text(x0 + 4, y0 - 3, `×${count}`, ink) : text(x1 - 12, y1 - 3, `×${count}`, ink, "end"));
  return parts;
}
