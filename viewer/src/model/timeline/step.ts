/* step.ts - the next interval of a routine, exactly, with the request `timeline` alone: what is not led by it in any bin is found in the
 * totals, and the range is halved until it is an interval of its own. */
import { toNumbers, type Columns } from "../columns.js";
import { KINDS, type TimelineHeader } from "./tiles.js";

export interface Hit {
  process: number;
  lane: number;
  track: number;
  begin: number;
  end: number;
  correlation: number;
}

export type AskRange = (from: number, to: number) => Promise<Columns<TimelineHeader>>;

const MOST_QUESTIONS = 120;

/** The first that begins after `at` (`direction` 1), or the last that begins before it (-1), within [0, length]; null: there is none. */
export async function nextHit(ask: AskRange, accept: (routine: string) => boolean, at: number, direction: 1 | -1, length: number): Promise<Hit | null> {
  let questions = 0;
  const isThere = (hit: Hit, from: number, to: number) => hit.begin >= from && hit.begin < to;

  const look = async (from: number, to: number): Promise<Hit | null> => {
    if (to <= from || questions++ >= MOST_QUESTIONS) return null;
    const answer = await ask(from, to);
    const found = singles(answer, accept).filter((hit) => isThere(hit, from, to));
    const best = found.length ? found.reduce((a, b) => ((direction > 0 ? b.begin < a.begin : b.begin > a.begin) ? b : a)) : null;
    if (!hasShort(answer, accept)) return best;
    /* A short one may come before what is known: then it is between here and there. */
    const low = best && direction < 0 ? best.begin + 1 : from, high = best && direction > 0 ? best.begin : to;
    if (high - low <= 1) return best;
    const middle = Math.floor((low + high) / 2);
    const halves: [number, number][] = direction > 0 ? [[low, middle], [middle, high]] : [[middle, high], [low, middle]];
    for (const [a, b] of halves) {
      const hit = await look(a, b);
      if (hit) return hit;
    }
    return best;
  };
  return direction > 0 ? look(Math.floor(at) + 1, Math.ceil(length) + 1) : look(0, Math.floor(at));
}

/** Rows that are intervals by themselves; of a thread the piece that the answer has. */
function singles(answer: Columns<TimelineHeader>, accept: (routine: string) => boolean): Hit[] {
  const { header, columns } = answer, good = header.routines.map((routine) => routine !== null && accept(routine)), hits: Hit[] = [];
  if (!good.includes(true)) return hits;
  const begin = toNumbers(columns.begin_ns!), end = toNumbers(columns.end_ns!), correlation = toNumbers(columns.correlation!);
  const label = columns.label!, merged = columns.merged!, track = columns.track!, rows = columns.rows!;
  const alone = header.bin_ns === 1;
  for (const lane of header.lanes)
    for (let i = lane.first; i < lane.first + lane.count; i++)
      if (good[Number(label[i])] && rows[i] && (alone || !merged[i]))
        hits.push({ process: lane.process, lane: lane.lane, track: Number(track[i]), begin: begin[i]!, end: end[i]!, correlation: correlation[i]! });
  return hits;
}

/** Are some of its rows in bins? Long ones are counted wherever they reach into. */
function hasShort(answer: Columns<TimelineHeader>, accept: (routine: string) => boolean): boolean {
  const { header, columns } = answer, good = header.routines.map((routine) => routine !== null && accept(routine));
  if (header.bin_ns === 1 || !good.includes(true)) return false;
  const total = toNumbers(columns.total_rows!), totalLabel = columns.total_label!, label = columns.label!, merged = columns.merged!, rows = columns.rows!;
  const unread = header.kinds.indexOf("unread" satisfies (typeof KINDS)[number]);
  for (const lane of header.lanes) {
    let all = 0, single = 0;
    for (let i = lane.first_total; i < lane.first_total + lane.totals; i++) if (good[Number(totalLabel[i])]) all += total[i]!;
    for (let i = lane.first; i < lane.first + lane.count; i++)
      if (good[Number(label[i])] && !merged[i] && columns.kind![i] !== unread) single += Number(rows[i]);
    if (all > single) return true;
  }
  return false;
}
