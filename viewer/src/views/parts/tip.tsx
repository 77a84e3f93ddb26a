/* tip.tsx - explanations: whatever has `data-tip` says it when it is pointed at or has the focus. One element for the whole page, which App shows. */
import { useEffect, useRef, useState } from "preact/hooks";

interface Shown {
  of: HTMLElement;
  text: string;
}

const ID = "tip";

export function TipLayer() {
  const [shown, show] = useState<Shown | null>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const enter = (event: Event) => {
      const of = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-tip]") : null;
      show((before) => (of?.dataset.tip ? (before?.of === of ? before : { of, text: of.dataset.tip }) : null));
    };
    const leave = () => show(null);
    const follow = () => show((before) => (before && before.of === document.activeElement ? { ...before } : null)); /* what gets the focus may be scrolled to */
    const close = (event: KeyboardEvent) => event.key === "Escape" && show(null);
    const heard: [string, (event: Event) => void][] = [["pointerover", enter], ["focusin", enter], ["focusout", leave], ["pointerdown", leave]];
    for (const [name, call] of heard) document.addEventListener(name, call);
    document.documentElement.addEventListener("pointerleave", leave);
    addEventListener("scroll", follow, true);
    addEventListener("hashchange", leave);
    addEventListener("keydown", close);
    return () => {
      for (const [name, call] of heard) document.removeEventListener(name, call);
      document.documentElement.removeEventListener("pointerleave", leave);
      removeEventListener("scroll", follow, true);
      removeEventListener("hashchange", leave);
      removeEventListener("keydown", close);
    };
  }, []);
  useEffect(() => {
    if (!shown || !box.current) return;
    place(box.current, shown.of.getBoundingClientRect());
    shown.of.setAttribute("aria-describedby", ID);
    return () => shown.of.removeAttribute("aria-describedby");
  }, [shown]);
  return (
    <div id={ID} class="part-tip" role="tooltip" ref={box} hidden={!shown}>
      {shown?.text}
    </div>
  );
}

/** Below it, or above where there is no room; never beyond the window. */
function place(box: HTMLElement, of: DOMRect): void {
  const gap = 6, { width, height } = box.getBoundingClientRect();
  const left = Math.max(gap, Math.min(of.left, innerWidth - width - gap));
  const below = of.bottom + gap + height <= innerHeight;
  box.style.left = `${left}px`;
  box.style.top = `${below ? of.bottom + gap : Math.max(gap, of.top - gap - height)}px`;
}

/** Words with their definition; reached by keyboard, too. */
export function Defined({ children, definition }: { children: preact.ComponentChildren; definition: string | null }) {
  return definition ? (
    <span class="part-defined" tabIndex={0} data-tip={definition}>
      {children}
    </span>
  ) : (
    <>{children}</>
  );
}
