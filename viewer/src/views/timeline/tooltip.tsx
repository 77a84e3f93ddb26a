/* tooltip.tsx - what lies under the pointer. It has a state of its own, so that nothing else is made anew while the pointer moves. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Interval } from "../../model/timeline/intervals.js";
import type { Hover } from "./stage.js";
import { kindWords, placeWords, stepWords, timeWords } from "./words.js";

interface Props {
  /** Filled with what shows and hides it. */
  show: { current: (hover: Hover | null) => void };
  label(interval: Interval): string;
  lane(interval: Interval): string;
  span(): number;
}

export function Tooltip({ show, label, lane, span }: Props) {
  const [hover, setHover] = useState<Hover | null>(null), box = useRef<HTMLDivElement>(null);
  show.current = setHover;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !hover) return;
    const { width, height } = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, Math.min(hover.x + 14, innerWidth - width - 4))}px`;
    element.style.top = `${hover.y + 18 + height > innerHeight ? Math.max(4, hover.y - height - 10) : hover.y + 18}px`;
  }, [hover]);
  if (!hover) return null;
  const { interval, step } = hover;
  return (
    <div ref={box} class="tl-tooltip" role="tooltip">
      {interval && <b>{label(interval)}</b>}
      {interval && <div>{timeWords(interval)}</div>}
      {interval && <div class="quiet">{kindWords(interval)} · {placeWords(interval, span())} · {lane(interval)}</div>}
      {step && <div class="tl-step">{stepWords(step)}</div>}
    </div>
  );
}
