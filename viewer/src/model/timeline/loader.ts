/* loader.ts - asks for the tiles that a view lacks: after it stood still for a moment, a few questions at once, those that nobody waits
 * for any more aborted. */
import { request, type Requests } from "../requests.js";
import type { Labels } from "./labels.js";
import { askedRange, levelOf, missing, tilesFrom, tileSpan, type Known, type Tile, type TileStore, type TimelineHeader, type Wanted, type WantedLane } from "./tiles.js";
import type { Window } from "./window.js";

export interface View {
  lanes: WantedLane[];
  window: Window;
  width: number;
  exact: boolean;
}

const AT_ONCE = 4, LANES_AT_ONCE = 24, STILL_MS = 40, MOVING_MS = 160;

interface Question {
  wanted: Wanted;
  exact: boolean;
  abort: AbortController;
}

/** Tiles of the lanes that are wanted, in their order. */
export type Fetch<T extends Known> = (wanted: Wanted, exact: boolean, signal: AbortSignal) => Promise<T[]>;

/** Of lanes, by the request `timeline`. */
export function fetchLanes(requests: Requests, labels: Labels): Fetch<Tile> {
  return async ({ lanes, level, number, depth }, exact, signal) => {
    const asked = request("timeline", null, { lanes: lanes.join(","), ...askedRange(level, number), depth: depth || null, exact });
    return tilesFrom(await requests.columns<TimelineHeader>(asked, signal), level, number, exact, labels);
  };
}

export class Loader<T extends Known = Tile> {
  private view: View | null = null;
  private open: Question[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private waitingSince = 0;
  private stopped = false;
  error: Error | null = null;

  /** `changed`: something is known that was not, or nothing is asked any more. */
  constructor(private readonly store: TileStore<T>, private readonly fetch: Fetch<T>, private readonly changed: () => void) {}

  get busy(): boolean {
    return this.open.length > 0 || this.timer !== undefined;
  }

  /** This is on screen now. */
  show(view: View): void {
    const now = performance.now();
    this.view = view;
    this.error = null;
    if (this.timer === undefined) this.waitingSince = now;
    else clearTimeout(this.timer);
    this.timer = setTimeout(() => this.plan(), Math.max(0, Math.min(STILL_MS, this.waitingSince + MOVING_MS - now)));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const question of this.open) question.abort.abort();
    this.open = [];
  }

  private plan(): void {
    this.timer = undefined;
    if (!this.view || this.stopped) return;
    const { lanes, window, width, exact } = this.view, level = levelOf(window, width), span = tileSpan(level);
    const needed = new Set(lanes.map((lane) => `${lane.key}/${lane.depth}`));
    const isNeeded = (question: Question) =>
      question.wanted.level === level && (question.wanted.number + 1) * span > window.from && question.wanted.number * span < window.to &&
      question.wanted.lanes.some((lane) => needed.has(`${lane}/${question.wanted.depth}`)) && (question.exact || !exact);
    for (const question of this.open) if (!isNeeded(question)) question.abort.abort();
    this.open = this.open.filter((question) => !question.abort.signal.aborted);
    const asked = new Set(this.open.flatMap((q) => q.wanted.lanes.map((lane) => `${lane}/${q.wanted.depth}/${q.wanted.number}`)));
    const wanted = missing(this.store, lanes, window, level, exact, LANES_AT_ONCE)
      .map((one) => ({ ...one, lanes: one.lanes.filter((lane) => !asked.has(`${lane}/${one.depth}/${one.number}`)) }))
      .filter((one) => one.lanes.length);
    for (const one of wanted.slice(0, AT_ONCE - this.open.length)) void this.ask(one, exact);
    if (!this.busy) this.changed();
  }

  private async ask(wanted: Wanted, exact: boolean): Promise<void> {
    const question: Question = { wanted, exact, abort: new AbortController() };
    this.open.push(question);
    try {
      const tiles = await this.fetch(wanted, exact, question.abort.signal);
      tiles.forEach((tile, i) => this.store.keep(wanted.lanes[i]!, tile));
    } catch (error) {
      if (question.abort.signal.aborted) return;
      this.error = error as Error;
    }
    this.open = this.open.filter((other) => other !== question);
    if (this.stopped) return;
    this.changed();
    if (!this.error && this.timer === undefined) this.plan();
  }
}
