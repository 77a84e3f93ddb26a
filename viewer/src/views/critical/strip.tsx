/* strip.tsx - what the critical path is made of, over the run: each column of pixels is that part of the time. Dragging selects a range. */
import { useMemo } from "preact/hooks";
import type { Theme } from "../../draw/colours.js";
import { binSteps, type Steps } from "../../model/path.js";
import { formatShare, formatTime } from "../../model/units.js";
import { categoryText } from "../../model/critical.js";
import { RangeStrip } from "../parts/rangestrip.jsx";
import { categoryColour } from "./palette.js";

interface StripProps {
  steps: Steps;
  length_ns: number;
  wanted: ((step: number) => boolean) | null;
  theme: Theme;
  range: { from: number; to: number } | null;
  onRange(range: { from: number; to: number } | null): void;
}

const HEIGHT = 72;

export function Strip({ steps, length_ns, wanted, theme, range, onRange }: StripProps) {
  const times = useMemo(() => {
    const known = new Map<number, { all: Float64Array; some: Float64Array | null }>();
    return (bins: number) => {
      if (!known.has(bins)) {
        known.clear(); /* of one width at a time */
        known.set(bins, { all: binSteps(steps, 0, length_ns, bins, null), some: wanted && binSteps(steps, 0, length_ns, bins, wanted) });
      }
      return known.get(bins)!;
    };
  }, [steps, length_ns, wanted]);
  const binsOf = (width: number) => Math.max(Math.floor(width), 1);
  return (
    <RangeStrip label="What the critical path is made of over the run" height={HEIGHT} length_ns={length_ns} range={range} onRange={onRange}
      draw={(context, width, style) => draw(context, { steps, bins: binsOf(width), width, length_ns, theme, ...times(binsOf(width)) }, style)}
      said={(at, width) => hoverText(steps, times(binsOf(width)).all, at, length_ns, binsOf(width))} />
  );
}

function hoverText(steps: Steps, all: Float64Array, at_ns: number, length_ns: number, bins: number): string {
  const { categories } = steps.header, bin = Math.min(Math.floor((at_ns / length_ns) * bins), bins - 1), width = length_ns / bins;
  const parts = categories.map((name, i) => ({ name, ns: all[bin * categories.length + i]! })).filter((part) => part.ns > 0).sort((a, b) => b.ns - a.ns);
  return `${formatTime(at_ns)}: ${parts.length ? parts.slice(0, 4).map((part) => `${categoryText(part.name)} ${formatShare(part.ns / width)}`).join(", ") : "not on the path"}`;
}

interface Drawn {
  steps: Steps;
  all: Float64Array;
  some: Float64Array | null;
  bins: number;
  width: number;
  length_ns: number;
  theme: Theme;
}

function draw(context: CanvasRenderingContext2D, { steps, all, some, bins, width, length_ns, theme }: Drawn, style: CSSStyleDeclaration): void {
  const categories = steps.header.categories;
  context.fillStyle = style.getPropertyValue("--raised").trim() || "#f5f5f8";
  context.fillRect(0, 0, width, HEIGHT);
  const colours = categories.map((name) => categoryColour(name, theme)), each = width / bins, full = length_ns / bins;
  const layer = (times: Float64Array, alpha: number) => {
    context.globalAlpha = alpha;
    for (let bin = 0; bin < bins; bin++) {
      let y = HEIGHT;
      for (let i = 0; i < categories.length; i++) {
        const height = (times[bin * categories.length + i]! / full) * HEIGHT;
        if (!(height > 0)) continue;
        context.fillStyle = colours[i]!;
        context.fillRect(bin * each, y - height, each + 0.5, height);
        y -= height;
      }
    }
  };
  layer(all, some ? 0.2 : 1);
  if (some) layer(some, 1);
  context.globalAlpha = 1;
}
