/* path.ts - a critical path step by step (the request `path`), of a process or through all ranks: where an activity is on it, and what each part of the time is made of. */
import { toNumbers, type Columns } from "./columns.js";
import type { PathThing } from "./critical.js";

export interface PathHeader {
  process: number;
  from_ns: number;
  to_ns: number;
  limited: boolean;
  categories: string[];
  strings: string[];
  names: string[];
}

/** Times are on the axis of the run. */
export interface Steps {
  header: PathHeader;
  count: number;
  begin: Float64Array;
  end: Float64Array;
  /** Thread or queue; 0: none. */
  lane: ArrayLike<number>;
  node: ArrayLike<number>;
  label: ArrayLike<number>;
  category: ArrayLike<number>;
  /** Whose lane it is. */
  process: ArrayLike<number>;
}

export function stepsOf({ header, columns }: Columns<PathHeader>): Steps {
  const begin = toNumbers(columns.begin_ns!), end = toNumbers(columns.end_ns!);
  return { header, count: begin.length, begin, end, lane: toNumbers(columns.lane!), node: toNumbers(columns.node!), label: toNumbers(columns.label!), category: toNumbers(columns.category!), process: toNumbers(columns.process!) };
}

/** Which steps are of an activity: of its category, and of its name where it has one. Names of kernels are without "void ". */
export function isOf(steps: Steps, thing: PathThing): (step: number) => boolean {
  const category = steps.header.categories.indexOf(thing.category), words = steps.header.names.map((name) => name.replace(/^void /, "") === thing.name);
  const named = words.some(Boolean);
  return (step) => steps.category[step] === category && (!named || words[steps.label[step]!]!);
}

/** The longest of the steps that are meant; -1: there is none. */
export function longestStep(steps: Steps, wanted: (step: number) => boolean): number {
  let best = -1;
  for (let i = 0; i < steps.count; i++)
    if (wanted(i) && (best < 0 || steps.end[i]! - steps.begin[i]! > steps.end[best]! - steps.begin[best]!)) best = i;
  return best;
}

/** For each of `bins` parts of a range and each category its time there, [bin * categories + category]; of the steps that are meant. */
export function binSteps(steps: Steps, from_ns: number, to_ns: number, bins: number, wanted: ((step: number) => boolean) | null): Float64Array {
  const categories = steps.header.categories.length, times = new Float64Array(bins * categories), width = (to_ns - from_ns) / bins;
  if (!(width > 0)) return times;
  for (let i = 0; i < steps.count; i++) {
    if (wanted && !wanted(i)) continue;
    const begin = Math.max(steps.begin[i]!, from_ns), end = Math.min(steps.end[i]!, to_ns);
    if (!(end > begin)) continue;
    const last = Math.min(Math.ceil((end - from_ns) / width), bins);
    for (let bin = Math.min(Math.floor((begin - from_ns) / width), bins - 1); bin < last; bin++) {
      const part = Math.min(end, from_ns + (bin + 1) * width) - Math.max(begin, from_ns + bin * width);
      if (part > 0) times[bin * categories + steps.category[i]!]! += part;
    }
  }
  return times;
}

/* ---- on the time line ------------------------------------------------------------------------- */

/** The first step that ends after `time`; steps.count: none. Steps touch, and come in order. */
export function stepAfter(steps: Steps, time: number): number {
  let low = 0, high = steps.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps.end[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The step at a time; -1: the path has none there. */
export function stepAt(steps: Steps, time: number): number {
  const step = stepAfter(steps, time);
  return step < steps.count && steps.begin[step]! <= time ? step : -1;
}

/** What is drawn of the path: where it is from when to when. */
export interface Mark {
  process: number;
  lane: number;
  from: number;
  to: number;
}

const LOOKED_AT = 16; /* steps of a pixel, which has no room for more lanes */

/** The path in a window, in order. A step that is shorter than a pixel is drawn with those beside it: of each lane one mark, so that a path of
 * millions of steps has no more marks than a few for each pixel. */
export function marksOf(steps: Steps, window: { from: number; to: number }, width: number): Mark[] {
  const marks: Mark[] = [], pixel = (window.to - window.from) / width;
  for (let i = stepAfter(steps, window.from); i < steps.count && steps.begin[i]! < window.to;) {
    const begin = steps.begin[i]!;
    if (steps.end[i]! - begin >= pixel) {
      marks.push({ process: steps.process[i]!, lane: steps.lane[i]!, from: begin, to: steps.end[i]! });
      i++;
      continue;
    }
    const column = window.from + (Math.floor((begin - window.from) / pixel) + 1) * pixel;
    const last = Math.max(stepAfter(steps, column), i + 1); /* the one that reaches over the pixel's end, or begins there */
    const lanes = new Map<string, number>(), apart = Math.max((last - i) / LOOKED_AT, 1);
    for (let k = i; k < last; k = Math.floor(k + apart)) lanes.set(`${steps.process[k]!}.${steps.lane[k]!}`, k);
    for (const k of lanes.values()) marks.push({ process: steps.process[k]!, lane: steps.lane[k]!, from: begin, to: steps.end[last - 1]! });
    i = last;
  }
  return marks;
}
