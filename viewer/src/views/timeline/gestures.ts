/* gestures.ts - mouse, pen and fingers on a canvas, as what they mean: moving, zooming, selecting a range, choosing. */

export interface GestureTarget {
  /** Pixels since the last call. */
  pan(dx: number, dy: number): void;
  zoom(x: number, factor: number): void;
  /** From where the drag began to where it is. */
  range(x0: number, x1: number, done: boolean): void;
  choose(x: number, y: number): void;
  open(x: number, y: number): void;
  hover(x: number, y: number): void;
  leave(): void;
  /** Dragging selects a range without shift, too. */
  readonly selects: boolean;
  /** There is more above or below, to which a plain wheel goes. */
  scrolls(): boolean;
}

const STILL = 4; /* pixels within which a press is a click */
const LINE = 30; /* pixels of a wheel that counts in lines */

interface Finger {
  x: number;
  y: number;
}

export function attachGestures(element: HTMLElement, target: GestureTarget): () => void {
  const fingers = new Map<number, Finger>();
  let mode: "none" | "press" | "pan" | "range" | "pinch" = "none", start: Finger = { x: 0, y: 0 };

  const place = (event: MouseEvent): Finger => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const down = (event: PointerEvent) => {
    if (event.pointerType === "mouse" && event.button > 1) return;
    const at = place(event);
    fingers.set(event.pointerId, at);
    element.setPointerCapture(event.pointerId);
    if (fingers.size === 2) {
      if (mode === "range") target.range(start.x, start.x, true);
      mode = "pinch";
      return;
    }
    start = at;
    mode = event.shiftKey || (target.selects && event.button === 0) ? "range" : "press";
    target.leave();
  };
  const move = (event: PointerEvent) => {
    const at = place(event), before = fingers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") target.hover(at.x, at.y);
      return;
    }
    if (mode === "pinch" && fingers.size === 2) pinch(event.pointerId, before, at);
    fingers.set(event.pointerId, at);
    if (mode === "press" && Math.hypot(at.x - start.x, at.y - start.y) >= STILL) {
      mode = "pan";
      target.pan(at.x - start.x, at.y - start.y);
    } else if (mode === "pan") target.pan(at.x - before.x, at.y - before.y);
    else if (mode === "range" && Math.abs(at.x - start.x) >= STILL) target.range(start.x, at.x, false);
  };
  const pinch = (moving: number, before: Finger, at: Finger) => {
    const still = [...fingers].find(([id]) => id !== moving)![1];
    const far = (finger: Finger) => Math.max(Math.hypot(finger.x - still.x, finger.y - still.y), 10);
    target.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
    target.zoom((still.x + at.x) / 2, far(at) / far(before));
  };
  const up = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId)) return;
    const at = place(event), moved = Math.abs(at.x - start.x) >= STILL;
    if (mode === "press" && event.type === "pointerup") target.choose(at.x, at.y);
    if (mode === "range" && (moved || target.selects)) target.range(start.x, moved ? at.x : start.x, true);
    else if (mode === "range") target.choose(at.x, at.y);
    mode = fingers.size ? "pan" : "none";
  };
  const wheel = (event: WheelEvent) => {
    const size = event.deltaMode === 1 ? LINE : event.deltaMode === 2 ? 400 : 1;
    const sideways = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey || (!event.shiftKey && Math.abs(event.deltaY) >= Math.abs(event.deltaX) && !target.scrolls())) {
      event.preventDefault();
      target.zoom(place(event).x, Math.exp((-event.deltaY * size) / (event.ctrlKey && !Number.isInteger(event.deltaY) ? 120 : 400)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      target.pan(-sideways * size, 0);
    }
  };
  const twice = (event: MouseEvent) => {
    const at = place(event);
    target.open(at.x, at.y);
  };
  const leave = () => target.leave();
  const events: [string, (event: never) => void, AddEventListenerOptions?][] = [
    ["pointerdown", down], ["pointermove", move], ["pointerup", up], ["pointercancel", up], ["pointerleave", leave], ["dblclick", twice],
    ["wheel", wheel, { passive: false }],
  ];
  for (const [name, handler, options] of events) element.addEventListener(name, handler as EventListener, options);
  return () => {
    for (const [name, handler, options] of events) element.removeEventListener(name, handler as EventListener, options);
  };
}
