/* overview.ts - how busy each device was over the whole run: strips for the picture of the run and for devices that are closed. */
import type { Columns } from "../columns.js";
import type { Window } from "./window.js";

export interface OverviewHeader {
  to_ns: number;
  pixels: number;
  partial: boolean;
  devices: { process: number; device: number | null; name: string }[];
}

export interface Overview {
  length: number;
  pixels: number;
  partial: boolean;
  /** By `PROCESS` and `PROCESS/DEVICE`: shares from 0 to 1; of a process the mean of its devices. */
  busy: Map<string, Float32Array>;
  devices: { process: number; device: number | null; name: string }[];
}

export function deviceKey(process: number, device: number | null): string {
  return `${process}/${device ?? ""}`;
}

export function overviewFrom(answer: Columns<OverviewHeader>): Overview {
  const { header, columns } = answer, shares = columns.busy as Uint16Array, busy = new Map<string, Float32Array>(), count = new Map<string, number>();
  header.devices.forEach((device, i) => {
    const own = Float32Array.from(shares.subarray(i * header.pixels, (i + 1) * header.pixels), (share) => share / 65535);
    busy.set(deviceKey(device.process, device.device), own);
    const key = String(device.process), sum = busy.get(key) ?? new Float32Array(header.pixels);
    for (let k = 0; k < own.length; k++) sum[k]! += own[k]!;
    busy.set(key, sum);
    count.set(key, (count.get(key) ?? 0) + 1);
  });
  for (const [key, n] of count) busy.set(key, busy.get(key)!.map((sum) => sum / n));
  return { length: header.to_ns, pixels: header.pixels, partial: header.partial, busy, devices: header.devices };
}

/** The mean of several strips. */
export function meanOf(strips: Float32Array[]): Float32Array | null {
  if (!strips.length) return null;
  const mean = new Float32Array(strips[0]!.length);
  for (const strip of strips) for (let i = 0; i < mean.length; i++) mean[i]! += strip[i]! / strips.length;
  return mean;
}

/** The strip as `width` columns of a window. Where several shares meet in a column it is their mean. */
export function columnsOf(strip: Float32Array, length: number, window: Window, width: number, out: Float32Array): void {
  const perPixel = strip.length / Math.max(length, 1), step = (window.to - window.from) / width;
  for (let x = 0; x < width; x++) {
    const first = (window.from + x * step) * perPixel, last = (window.from + (x + 1) * step) * perPixel;
    const a = Math.max(Math.floor(first), 0), b = Math.min(Math.max(Math.ceil(last), a + 1), strip.length);
    let sum = 0, weight = 0;
    for (let i = a; i < b; i++) {
      const part = Math.min(last, i + 1) - Math.max(first, i);
      sum += strip[i]! * part;
      weight += part;
    }
    out[x] = weight > 0 ? sum / weight : 0;
  }
}
