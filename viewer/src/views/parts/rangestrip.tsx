/* rangestrip.tsx - a picture over the whole run on which a range is selected, by dragging or with the arrow keys. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { fitCanvas } from "../../draw/canvas.js";
import { formatTime } from "../../model/units.js";

interface Range {
  from: number;
  to: number;
}

interface Props {
  /** What is drawn, for those who cannot see it. */
  label: string;
  height: number;
  length_ns: number;
  range: Range | null;
  onRange(range: Range | null): void;
  /** In CSS pixels, upon the paper. */
  draw(context: CanvasRenderingContext2D, width: number, style: CSSStyleDeclaration): void;
  /** What is at a time; nothing: it is not said. */
  said?(at_ns: number, width: number): ComponentChildren;
}

export function RangeStrip({ label, height, length_ns, range, onRange, draw, said }: Props) {
  const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(800);
  const [drag, setDrag] = useState<Range | null>(null);
  const [hover, setHover] = useState<number | null>(null);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.max(box.current!.clientWidth, 50)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const shown = drag ?? range;
  useEffect(() => {
    const context = fitCanvas(canvas.current!, width, height), style = getComputedStyle(canvas.current!);
    draw(context, width, style);
    if (shown && length_ns > 0) frame(context, { from: (Math.min(shown.from, shown.to) / length_ns) * width, to: (Math.max(shown.from, shown.to) / length_ns) * width }, height, style);
  });

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
  const selected = drag ? { from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) } : null;
  return (
    <div ref={box} class="part-range">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`${label}; arrow keys select a range`}
        style={{ width: `${width}px`, height: `${height}px` }}
        onPointerDown={onDown}
        onPointerMove={onMove}
        onPointerUp={onUp}
        onPointerLeave={() => setHover(null)}
        onKeyDown={onKey}
      />
      <p class="quiet">{selected ? rangeText(selected) : hover !== null && said ? said(hover, width) : range ? rangeText(range) : "Drag to select a range"}</p>
    </div>
  );
}

function move(range: Range, by: number, length_ns: number): Range {
  const shift = Math.min(Math.max(by, -range.from), length_ns - range.to);
  return { from: Math.floor(range.from + shift), to: Math.ceil(range.to + shift) };
}

function rangeText({ from, to }: Range): string {
  return `selected: ${formatTime(to - from)}, from ${formatTime(from)} to ${formatTime(to)}`;
}

function frame(context: CanvasRenderingContext2D, { from, to }: Range, height: number, style: CSSStyleDeclaration): void {
  context.strokeStyle = style.getPropertyValue("--accent").trim() || "#2456c7";
  context.lineWidth = 2;
  context.strokeRect(from, 1, Math.max(to - from, 1), height - 2);
}
