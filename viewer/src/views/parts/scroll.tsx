/* scroll.tsx - what is wider than its place: it scrolls, by keyboard too, and a shadow lies at each side on which there is more. */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Sides {
  /** It scrolls, to the side or down. */
  scrolls: boolean;
  left: boolean;
  right: boolean;
}

interface Props extends JSX.HTMLAttributes<HTMLDivElement> {
  /** Of the frame that the shadows are in. */
  frame?: string;
  /** What it is called for those who cannot see it. */
  label: string;
  /** The box that scrolls. */
  box?: { current: HTMLDivElement | null };
  children: ComponentChildren;
}

export function Scroll({ frame, label, box, children, ...rest }: Props) {
  const own = useRef<HTMLDivElement>(null), of = box ?? own, { scrolls, left, right } = useSides(of);
  return (
    <div class={frame ? `part-scroll ${frame}` : "part-scroll"} data-left={left || undefined} data-right={right || undefined}>
      <div role="group" aria-label={label} tabIndex={scrolls ? 0 : undefined} {...rest} ref={of}>
        {children}
      </div>
    </div>
  );
}

export function useSides(of: { current: HTMLElement | null }): Sides {
  const [sides, set] = useState<Sides>({ scrolls: false, left: false, right: false });
  useLayoutEffect(() => {
    const box = of.current!;
    const look = () => {
      const more = box.scrollWidth - box.clientWidth, next = { scrolls: more > 1 || box.scrollHeight > box.clientHeight + 1, left: box.scrollLeft > 1, right: box.scrollLeft < more - 1 };
      set((before) => (before.scrolls === next.scrolls && before.left === next.left && before.right === next.right ? before : next));
    };
    const observer = new ResizeObserver(look);
    observer.observe(box);
    for (const child of box.children) observer.observe(child);
    box.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", look);
    };
  }, []);
  return sides;
}
