/* window.ts - the part of the run that is on screen: zooming, moving, and where an axis has its ticks. Times are nanoseconds since the
 * run began; x counts pixels from the left edge. */
import { formatTime } from "../units.js";

export interface Window {
  from: number;
  to: number;
}

/** Nothing is shorter: ten pixels of a nanosecond say no more than one. */
export const SHORTEST = 100;

export function timeAt(window: Window, width: number, x: number): number {
  return window.from + ((window.to - window.from) * x) / width;
}

export function xAt(window: Window, width: number, time: number): number {
  return ((time - window.from) * width) / (window.to - window.from);
}

/** Within the run, no longer than it, and no shorter than what can be told apart. */
export function clamped(window: Window, length: number): Window {
  const whole = Math.max(length, SHORTEST);
  const span = Math.min(Math.max(window.to - window.from, SHORTEST), whole);
  const middle = (window.from + window.to) / 2;
  const from = Math.min(Math.max(middle - span / 2, 0), whole - span);
  return { from, to: from + span };
}

/** `factor` above 1 shows less; what is at `time` stays where it is. */
export function zoomed(window: Window, length: number, time: number, factor: number): Window {
  const whole = Math.max(length, SHORTEST);
  const span = Math.min(Math.max((window.to - window.from) / factor, SHORTEST), whole);
  const place = (time - window.from) / (window.to - window.from);
  const from = Math.min(Math.max(time - place * span, 0), whole - span);
  return { from, to: from + span };
}

export function moved(window: Window, length: number, by: number): Window {
  const span = window.to - window.from;
  const from = Math.min(Math.max(window.from + by, 0), Math.max(Math.max(length, SHORTEST) - span, 0));
  return { from, to: from + span };
}

/** The window that shows all of it with some room around; unchanged where it is in sight and not too small to see. */
export function revealing(window: Window, length: number, begin: number, end: number): Window {
  const span = window.to - window.from;
  if (begin >= window.from && end <= window.to) return window;
  if (end - begin > span * 0.9) return fitting(length, begin, end);
  const from = (begin + end) / 2 - span / 2;
  return clamped({ from, to: from + span }, length);
}

/** The window that shows it as large as it can be, with a tenth of room on both sides. */
export function fitting(length: number, begin: number, end: number): Window {
  const room = Math.max((end - begin) * 0.1, 10);
  return clamped({ from: begin - room, to: end + room }, length);
}

export interface Tick {
  time: number;
  label: string;
}

export interface Axis {
  step: number;
  /** What labels that begin with + are counted from; null: they are times since the run began. */
  base: number | null;
  ticks: Tick[];
}

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** The smallest 1, 2 or 5 times a power of ten that is no less. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const times of [1, 2, 5, 10]) if (power * times >= least * (1 - 1e-9)) return power * times;
  return power * 10;
}

/** Ticks at round times, `apart` pixels from each other at least. Where times have too many digits, those of a round time
 * before are left out: `base`. */
export function axisOf(window: Window, width: number, apart = 110): Axis {
  const span = window.to - window.from;
  const step = niceStep((span * apart) / Math.max(width, apart));
  const absolute = digitsOf(step, window.to) <= 4;
  const large = niceStep(Math.max(span, step));
  const base = absolute ? null : Math.floor(window.from / large) * large;
  const ticks: Tick[] = [];
  for (let i = Math.ceil(window.from / step); i * step <= window.to; i++) {
    const time = i * step;
    ticks.push({ time, label: base === null ? label(time, step, window.to) : "+" + label(time - base, step, window.to - base) });
  }
  return { step, base, ticks };
}

/** A point in time with all the digits that a window of this span can tell apart. */
export function formatPoint(time: number, span: number): string {
  const step = Math.max(span / 2000, 1);
  return label(time, step, Math.max(time, 1));
}

export function formatRange(begin: number, end: number): string {
  return formatTime(end - begin);
}

function unitOf(most: number): [number, string] {
  return UNITS.find(([size]) => most >= size * 0.9995) ?? UNITS[3]!;
}

function digitsOf(step: number, most: number): number {
  return Math.max(0, Math.ceil(Math.log10(unitOf(most)[0] / step) - 1e-9));
}

function label(time: number, step: number, most: number): string {
  const [size, unit] = unitOf(most);
  if (time === 0) return `0 ${unit}`;
  return `${(time / size).toFixed(digitsOf(step, most))} ${unit}`;
}
