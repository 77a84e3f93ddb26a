/* strip.tsx - what the critical path is made of, over the run: each column of pixels is that part of the time. Dragging selects a range. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { fitCanvas } from "../../draw/canvas.js";
import type { Theme } from "../../draw/colours.js";
import { binSteps, type Steps } from "../../model/path.js";
import { formatShare, formatTime } from "../../model/units.js";
import { categoryText } from "../../model/critical.js";
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
  const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(800);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const [hover, setHover] = useState<number | null>(null);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.max(box.current!.clientWidth, 50)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const bins = Math.max(Math.floor(width), 1);
  const all = useMemo(() => binSteps(steps, 0, length_ns, bins, null), [steps, length_ns, bins]);
  const some = useMemo(() => (wanted ? binSteps(steps, 0, length_ns, bins, wanted) : null), [steps, length_ns, bins, wanted]);
  const shown = drag ?? range;
  useEffect(() => draw(canvas.current!, { steps, all, some, bins, width, length_ns, theme, shown }));

  const timeAt = (event: MouseEvent) => {
    const place = canvas.current!.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - place.left) / width, 0), 1) * length_ns;
  };
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    canvas.current!.setPointerCapture(event.pointerId);
    setDrag({ from: timeAt(event), to: timeAt(event) });
  };
  const onMove = (event: PointerEvent) => {
    const at = timeAt(event);
    setHover(at);
    if (drag) setDrag({ from: drag.from, to: at });
  };
  const onUp = () => {
    if (!drag) return;
    const from = Math.min(drag.from, drag.to), to = Math.max(drag.from, drag.to);
    setDrag(null);
    onRange((to - from) * width > 3 * length_ns ? { from: Math.floor(from), to: Math.ceil(to) } : null);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = length_ns / 20, now = range ?? { from: 0, to: step };
    const keys: Record<string, () => void> = {
      ArrowRight: () => onRange(event.shiftKey ? { from: now.from, to: Math.min(now.to + step, length_ns) } : move(now, step, length_ns)),
      ArrowLeft: () => onRange(event.shiftKey ? { from: now.from, to: Math.max(now.to - step, now.from + step) } : move(now, -step, length_ns)),
      Escape: () => onRange(null),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]!();
  };
  return (
    <div ref={box} class="path-strip">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label="What the critical path is made of over the run; arrow keys select a range"
        style={{ width: `${width}px`, height: `${HEIGHT}px` }}
        onPointerDown={onDown}
        onPointerMove={onMove}
        onPointerUp={onUp}
        onPointerLeave={() => setHover(null)}
        onKeyDown={onKey}
      />
      <p class="quiet path-hover">{drag ? rangeText({ from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) }) : hover !== null ? hoverText(steps, all, hover, length_ns, bins) : range ? rangeText(range) : "Drag to select a range"}</p>
    </div>
  );
}

function move(range: { from: number; to: number }, by: number, length_ns: number): { from: number; to: number } {
  const shift = Math.min(Math.max(by, -range.from), length_ns - range.to);
  return { from: Math.floor(range.from + shift), to: Math.ceil(range.to + shift) };
}

function rangeText({ from, to }: { from: number; to: number }): string {
  return `selected: ${formatTime(to - from)}, from ${formatTime(from)} to ${formatTime(to)}`;
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
  shown: { from: number; to: number } | null;
}

function draw(canvas: HTMLCanvasElement, { steps, all, some, bins, width, length_ns, theme, shown }: Drawn): void {
  const context = fitCanvas(canvas, width, HEIGHT), style = getComputedStyle(canvas), categories = steps.header.categories;
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
  if (shown && length_ns > 0) {
    const from = (Math.min(shown.from, shown.to) / length_ns) * width, to = (Math.max(shown.from, shown.to) / length_ns) * width;
    context.strokeStyle = style.getPropertyValue("--accent").trim() || "#2456c7";
    context.lineWidth = 2;
    context.strokeRect(from, 1, Math.max(to - from, 1), HEIGHT - 2);
  }
}
