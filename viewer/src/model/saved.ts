/* saved.ts - memory over time, the critical path, and what devices did, as the pictures that are saved of them. */
import { categoryText } from "./critical.js";
import { KINDS, type DeviceUse } from "./report/summary.js";
import { stackedLines, type MemorySpace } from "./memory.js";
import { binSteps, type Steps } from "./path.js";
import { rect, round, svgOfParts, text } from "./svg.js";
import { axisOf, xAt } from "./timeline/window.js";
import { formatBytes, formatShare } from "./units.js";

export interface Inks {
  paper: string;
  ink: string;
  line: string;
}

const LEFT = 76, TOP = 16, BOTTOM = 24, KEY = 18, LETTER = 6.5;

/** Below a picture: what its times are, from the begin to the end. */
function timeAxis(left: number, width: number, top: number, length_ns: number, { ink, line }: Inks): string[] {
  const window = { from: 0, to: Math.max(length_ns, 1) };
  return axisOf(window, width).ticks.flatMap((tick) => {
    const x = left + xAt(window, width, tick.time);
    return [rect(x, top, 1, 5, line), text(x + 3, top + 14, tick.label, ink)];
  });
}

/** Colours and what they are, in lines as wide as the picture. */
function keysOf(keys: readonly { name: string; colour: string }[], left: number, width: number, top: number, ink: string): { parts: string[]; height: number } {
  const parts: string[] = [];
  let x = left, y = top;
  for (const { name, colour } of keys) {
    const wide = 18 + name.length * LETTER;
    if (x > left && x + wide > width) [x, y] = [left, y + KEY];
    parts.push(rect(x, y + 3, 11, 11, colour), text(x + 15, y + 12, name, ink));
    x += wide + 10;
  }
  return { parts, height: keys.length ? y + KEY - top : 0 };
}

/** Memory over time, as on screen; `colour`: of a call path, -1 the others together; `names`: of call paths. */
export function memorySvg(space: MemorySpace, width: number, height: number, colour: (site: number) => string, names: readonly string[], inks: Inks): string {
  const plot = Math.max(width - LEFT - 8, 1), floor = TOP + height, length = Math.max(space.end_ns - space.begin_ns, 1);
  const lines = stackedLines(space), most = Math.max(...lines.flatMap(({ levels }) => levels), 1);
  const times = [...space.series.at_ns.map((at) => at - space.begin_ns), length];
  const x = (ns: number) => LEFT + (ns / length) * plot, y = (bytes: number) => floor - (bytes / most) * height;
  const parts = [0, 0.5, 1].flatMap((part) => [rect(LEFT, y(part * most), plot, 1, inks.line), text(LEFT - 6, y(part * most) + 4, formatBytes(Math.round(part * most)), inks.ink, "end")]);
  /* The highest line first: what stands below is drawn over it. */
  for (const { site, levels } of [...lines].reverse()) {
    const steps = levels.map((bytes, i) => `V${round(y(bytes))}H${round(x(times[i + 1]!))}`).join("");
    parts.push(`<path d="M${round(x(times[0]!))} ${floor}${steps}V${floor}Z" fill="${colour(site)}"/>`);
  }
  const held = lines.filter(({ site, levels }, i) => site >= 0 || levels.some((bytes) => bytes > (i ? lines[i - 1]!.levels[0]! : 0)));
  const keys = keysOf([...held].reverse().map(({ site }) => ({ name: site < 0 ? "others" : (names[site] ?? ""), colour: colour(site) })), LEFT, width, floor + BOTTOM, inks.ink);
  return svgOfParts(width, floor + BOTTOM + keys.height + 4, inks.paper, [...parts, ...timeAxis(LEFT, plot, floor, length, inks), ...keys.parts]);
}

/** What the critical path is made of over the run, as on screen; `wanted`: the steps that stand out, null: all. */
export function pathSvg(steps: Steps, length_ns: number, width: number, height: number, wanted: ((step: number) => boolean) | null, colour: (category: string) => string, inks: Inks): string {
  const { categories } = steps.header, bins = Math.max(Math.floor(width), 1), full = length_ns / bins, each = width / bins;
  const layer = (times: Float64Array, opacity: number): string[] => {
    const parts: string[] = [];
    for (let bin = 0; bin < bins; ) {
      const here = times.subarray(bin * categories.length, (bin + 1) * categories.length);
      let end = bin + 1; /* columns that are alike are one */
      while (end < bins && here.every((ns, i) => Math.abs(ns - times[end * categories.length + i]!) < full / 1000)) end++;
      let y = height;
      here.forEach((ns, i) => {
        const high = full > 0 ? (ns / full) * height : 0;
        if (high > 0) parts.push(rect(bin * each, y - high, (end - bin) * each, high, colour(categories[i]!), opacity));
        y -= high;
      });
      bin = end;
    }
    return parts;
  };
  const all = binSteps(steps, 0, length_ns, bins, null), some = wanted && binSteps(steps, 0, length_ns, bins, wanted);
  const there = categories.filter((_, i) => all.some((ns, at) => ns > 0 && at % categories.length === i));
  const keys = keysOf(there.map((name) => ({ name: categoryText(name), colour: colour(name) })), 4, width, height + BOTTOM, inks.ink);
  return svgOfParts(width, height + BOTTOM + keys.height + 4, inks.paper, [...layer(all, some ? 0.2 : 1), ...(some ? layer(some, 1) : []), ...timeAxis(0, width, height, length_ns, inks), ...keys.parts]);
}

const STRIP = 44, BAR = 18;

/** What each device did over the run, and in all, as on the Summary. */
export function devicesSvg(uses: readonly DeviceUse[], width: number, colour: (kind: string) => string, inks: Inks): string {
  const parts: string[] = [], wide = width - 16;
  let y = 8;
  for (const { name, parts: times, busy } of uses) {
    parts.push(text(8, y + 12, name, inks.ink));
    y += 18;
    if (busy) {
      const each = wide / busy.length;
      let d = "";
      busy.forEach((share, i) => (d += `V${round(y + STRIP * (1 - Math.min(share, 1)))}H${round(8 + (i + 1) * each)}`));
      parts.push(`<path d="M8 ${y + STRIP}${d}V${y + STRIP}Z" fill="${colour("busy")}"/>`, rect(8, y + STRIP, wide, 1, inks.line));
      y += STRIP + 6;
    }
    let x = 8;
    for (const { kind, share } of times) {
      const long = Math.min(Math.max(share, 0), 1) * wide;
      if (long > 0) parts.push(rect(x, y, long, BAR, colour(kind)));
      x += long;
    }
    parts.push(`<rect x="8" y="${y}" width="${wide}" height="${BAR}" fill="none" stroke="${inks.line}"/>`);
    y += BAR + 6;
    const keys = keysOf(times.filter(({ share }) => share > 0).map(({ kind, share }) => ({ name: `${kind === "busy" ? "" : "idle: "}${KINDS[kind]} ${formatShare(share)}`, colour: colour(kind) })), 8, wide, y, inks.ink);
    parts.push(...keys.parts);
    y += keys.height + 12;
  }
  return svgOfParts(width, y, inks.paper, parts);
}
