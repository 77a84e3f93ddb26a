/* strip.ts - the whole run above the time line, with the window as a frame that can be dragged, at its ends too; a drag beside it makes
 * a new one. */
import { fitCanvas } from "../../draw/canvas.js";
import { drawStrip } from "../../draw/timeline/strip.js";
import type { Colours } from "../../draw/timeline/palette.js";
import { columnsOf, type Overview } from "../../model/timeline/overview.js";
import { clamped, timeAt, xAt, type Window } from "../../model/timeline/window.js";

export const STRIP_HEIGHT = 44;
const DEVICES_MOST = 8, GRIP = 6;

type Drag = { kind: "move"; at: number; window: Window } | { kind: "from" | "to"; window: Window } | { kind: "new"; at: number };

export class OverviewStrip {
  private overview: Overview | null = null;
  private colours: Colours | null = null;
  private range: Window | null = null;
  private shown: Window = { from: 0, to: 1 };
  private drag: Drag | null = null;
  /** The devices over the whole run: the same whatever is on screen. */
  private devices: HTMLCanvasElement | null = null;
  private readonly events: [string, (event: PointerEvent) => void][];

  constructor(private readonly canvas: HTMLCanvasElement, private readonly length: number, private readonly look: (window: Window) => void) {
    this.events = [["pointerdown", (e) => this.down(e)], ["pointermove", (e) => this.move(e)], ["pointerup", (e) => this.up(e)], ["pointercancel", () => (this.drag = null)]];
    for (const [name, handler] of this.events) canvas.addEventListener(name, handler as EventListener);
  }

  stop(): void {
    for (const [name, handler] of this.events) this.canvas.removeEventListener(name, handler as EventListener);
  }

  setColours(colours: Colours): void {
    this.colours = colours;
    this.devices = null;
  }

  setOverview(overview: Overview): void {
    this.overview = overview;
    this.devices = null;
  }

  setRange(range: Window | null): void {
    this.range = range;
  }

  private get whole(): Window {
    return { from: 0, to: Math.max(this.length, 1) };
  }

  draw(window: Window): void {
    const width = this.canvas.parentElement!.clientWidth, { colours } = this;
    this.shown = window;
    if (!colours || !width) return;
    const context = fitCanvas(this.canvas, width, STRIP_HEIGHT);
    if (this.devices?.width !== this.canvas.width || this.devices.height !== this.canvas.height) this.devices = this.drawDevices(width, colours);
    context.save();
    context.resetTransform(); /* pixel by pixel */
    context.drawImage(this.devices, 0, 0);
    context.restore();
    this.drawFrame(context, width, colours);
  }

  private drawDevices(width: number, colours: Colours): HTMLCanvasElement {
    const canvas = document.createElement("canvas"), context = fitCanvas(canvas, width, STRIP_HEIGHT), strips = this.strips();
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, STRIP_HEIGHT);
    const height = (STRIP_HEIGHT - 4) / Math.max(strips.length, 1);
    strips.forEach((strip, i) => {
      const columns = new Float32Array(width);
      columnsOf(strip, this.overview!.length, this.whole, width, columns);
      drawStrip(context, { columns, y: 2 + i * height, height: height - 1, colour: colours.accent });
    });
    return canvas;
  }

  /** One for each device, or for each process, or for all. */
  private strips(): Float32Array[] {
    const { overview } = this;
    if (!overview) return [];
    const of = (isDevice: boolean) => [...overview.busy].filter(([key]) => key.includes("/") === isDevice).map(([, strip]) => strip);
    const devices = of(true), processes = of(false);
    if (devices.length <= DEVICES_MOST) return devices;
    if (processes.length <= DEVICES_MOST) return processes;
    const mean = new Float32Array(overview.pixels);
    for (const strip of devices) for (let i = 0; i < mean.length; i++) mean[i]! += strip[i]! / devices.length;
    return [mean];
  }

  private drawFrame(context: CanvasRenderingContext2D, width: number, colours: Colours): void {
    const x = (time: number) => xAt(this.whole, width, time), x0 = x(this.shown.from), x1 = Math.max(x(this.shown.to), x0 + 2);
    if (this.range) {
      context.fillStyle = colours.accent;
      context.globalAlpha = 0.25;
      context.fillRect(x(this.range.from), 0, Math.max(x(this.range.to) - x(this.range.from), 1), STRIP_HEIGHT);
    }
    context.fillStyle = colours.ink;
    context.globalAlpha = 0.14;
    context.fillRect(0, 0, x0, STRIP_HEIGHT);
    context.fillRect(x1, 0, width - x1, STRIP_HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    context.strokeRect(x0 + 0.75, 0.75, Math.max(x1 - x0 - 1.5, 1), STRIP_HEIGHT - 1.5);
    for (const grip of [x0, x1 - 4]) context.fillRect(grip, STRIP_HEIGHT / 2 - 8, 4, 16);
  }

  private place(event: PointerEvent): { x: number; width: number; time: number } {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left;
    return { x, width: box.width, time: timeAt(this.whole, box.width, Math.min(Math.max(x, 0), box.width)) };
  }

  private gripAt(x: number, width: number): "from" | "to" | "move" | "new" {
    const x0 = xAt(this.whole, width, this.shown.from), x1 = Math.max(xAt(this.whole, width, this.shown.to), x0 + 2);
    const narrow = x1 - x0 < 4 * GRIP;
    if (Math.abs(x - x0) < (narrow ? GRIP / 2 : GRIP)) return "from";
    if (Math.abs(x - x1) < (narrow ? GRIP / 2 : GRIP)) return "to";
    const isAll = this.shown.to - this.shown.from >= this.length * 0.999;
    return x > x0 && x < x1 && !isAll ? "move" : "new";
  }

  private down(event: PointerEvent): void {
    const { x, width, time } = this.place(event), kind = this.gripAt(x, width);
    this.canvas.setPointerCapture(event.pointerId);
    if (kind === "move") this.drag = { kind, at: time, window: this.shown };
    else if (kind === "new") this.drag = { kind, at: time };
    else this.drag = { kind, window: this.shown };
  }

  private move(event: PointerEvent): void {
    const { x, width, time } = this.place(event), { drag } = this;
    if (!drag) {
      this.canvas.style.cursor = { from: "ew-resize", to: "ew-resize", move: "grab", new: "crosshair" }[this.gripAt(x, width)];
      return;
    }
    if (drag.kind === "move") this.look(clamped({ from: drag.window.from + time - drag.at, to: drag.window.to + time - drag.at }, this.length));
    else if (drag.kind === "new") {
      if (Math.abs(xAt(this.whole, width, drag.at) - x) >= 3) this.look({ from: Math.min(drag.at, time), to: Math.max(drag.at, time) });
    } else {
      const other = drag.kind === "from" ? drag.window.to : drag.window.from;
      if (time !== other) this.look({ from: Math.min(time, other), to: Math.max(time, other) });
    }
  }

  /** A click goes there. */
  private up(event: PointerEvent): void {
    const { x, width, time } = this.place(event), { drag } = this, span = this.shown.to - this.shown.from;
    this.drag = null;
    if (drag?.kind === "new" && Math.abs(xAt(this.whole, width, drag.at) - x) < 3) this.look(clamped({ from: time - span / 2, to: time + span / 2 }, this.length));
  }
}
