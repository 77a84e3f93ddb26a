/* ranks.ts - what `view/ranks` and `view/messages` answer (docs/schema), and how they stand in a matrix of ranks and figures, and of ranks and ranks. */
import type { PathFrame } from "./critical.js";
import { formatBytes, formatCount, formatTime } from "./units.js";

export interface Rank {
  rank: number;
  process: string;
  processes: number;
  group: number;
  [figure: string]: number | string | null;
}

export interface Straggler {
  rank: number;
  metric: string;
  value_ns: number;
  median_ns: number;
  excess_ns: number;
  cause: string | null;
  cause_ns: number | null;
}

export interface Uneven {
  kind: "device" | "call" | "code";
  name: string | null;
  ranks: number;
  least_ns: number;
  mean_ns: number;
  most_ns: number;
  most_rank: number;
  imbalance: number | null;
  lost_ns: number;
  frames: PathFrame[];
}

/** Ranks that are alike. */
export interface Group {
  group: number;
  count: number;
  members: number[];
}

export interface Job {
  size: number | null;
  hosts: number;
  missing: number[];
  ranks: Rank[];
  stragglers: Straggler[];
  groups: Group[];
  contexts: Uneven[];
}

export interface MessageRank {
  rank: number;
  calls_ns: number;
  wait_ns: number;
  nccl_ns: number;
  nccl_wait_ns: number;
}

/** Where ranks waited for others. */
export interface Waiting {
  call: string;
  /** Of NCCL's collectives. */
  comm: string | null;
  kind: string;
  count: number;
  wait_ns: number;
  rank: number;
  rank_ns: number;
  /** Of that rank's steps, or of what was recorded. */
  rank_ratio: number | null;
  for_rank: number;
  for_ns: number;
  cause: "code" | "device" | "messages" | null;
  cause_name: string | null;
  cause_ns: number | null;
  root_rank: number | null;
  root_cause: "code" | "device" | "messages" | null;
  root_name: string | null;
  root_ns: number | null;
  frames: PathFrame[];
}

/** What one rank sent another. */
export interface Sent {
  from: number;
  to: number;
  count: number;
  bytes: number;
  largest: number;
}

export interface Messages {
  messages: number;
  /** What its steps are called; null: there are none. */
  step: string | null;
  ranks: MessageRank[];
  waits: Waiting[];
  pairs: Sent[];
}

/** A column of the matrix: `of` is a figure of `view/ranks`, or one of messages. */
export interface Figure {
  name: string;
  title: string;
  of: "ranks" | "messages";
  text(value: number): string;
}

const FIGURES: Figure[] = [
  { name: "wall_ns", title: "recorded", of: "ranks", text: formatTime },
  { name: "busy_ns", title: "device busy", of: "ranks", text: formatTime },
  { name: "kernel_ns", title: "kernels", of: "ranks", text: formatTime },
  { name: "copy_ns", title: "copies", of: "ranks", text: formatTime },
  { name: "operations", title: "operations", of: "ranks", text: formatCount },
  { name: "bytes", title: "bytes copied", of: "ranks", text: formatBytes },
  { name: "api_ns", title: "in GPU calls", of: "ranks", text: formatTime },
  { name: "cpu_ns", title: "CPU time", of: "ranks", text: formatTime },
  { name: "calls_ns", title: "in MPI", of: "messages", text: formatTime },
  { name: "wait_ns", title: "waiting for ranks", of: "messages", text: formatTime },
  { name: "nccl_ns", title: "in NCCL", of: "messages", text: formatTime },
  { name: "nccl_wait_ns", title: "waiting in NCCL", of: "messages", text: formatTime },
];

export interface FigureMatrix {
  figures: Figure[];
  ranks: number[];
  /** [rank][figure]; null: not known of this rank. */
  cells: (number | null)[][];
  /** [figure]: the most of all ranks, and their mean. */
  most: number[];
  mean: number[];
}

/** Figures of which no rank has anything are left out. */
export function figuresOf(job: Job, messages: Messages): FigureMatrix {
  const sent = new Map(messages.ranks.map((row) => [row.rank, row]));
  const value = (rank: Rank, figure: Figure) => {
    const found = figure.of === "ranks" ? rank[figure.name] : (sent.get(rank.rank) as Record<string, number> | undefined)?.[figure.name];
    return typeof found === "number" ? found : null;
  };
  const figures = FIGURES.filter((figure) => job.ranks.some((rank) => (value(rank, figure) ?? 0) > 0));
  const cells = job.ranks.map((rank) => figures.map((figure) => value(rank, figure)));
  const column = (at: number) => cells.map((row) => row[at] ?? 0);
  return {
    figures,
    ranks: job.ranks.map(({ rank }) => rank),
    cells,
    most: figures.map((_, at) => Math.max(...column(at))),
    mean: figures.map((_, at) => column(at).reduce((sum, one) => sum + one, 0) / Math.max(cells.length, 1)),
  };
}

/** Most / mean - 1; null where the mean is 0. */
export function imbalanceOf(matrix: FigureMatrix, at: number): number | null {
  return matrix.mean[at]! > 0 ? matrix.most[at]! / matrix.mean[at]! - 1 : null;
}

/** How ranks spread from the least to the most of a figure. */
export interface Distribution {
  least: number;
  leastRank: number;
  median: number;
  most: number;
  mostRank: number;
  /** Ranks in each of so many equal parts from the least to the most; where all are alike, all are in the first. */
  ranks: number[];
}

/** Null where fewer than three ranks have the figure: they show themselves. */
export function distributionOf(matrix: FigureMatrix, at: number, parts: number): Distribution | null {
  const known = matrix.ranks.map((rank, row) => ({ rank, value: matrix.cells[row]![at]! })).filter(({ value }) => value !== null).sort((a, b) => a.value - b.value);
  if (known.length < 3) return null;
  const first = known[0]!, last = known[known.length - 1]!, range = last.value - first.value, half = known.length >> 1;
  const ranks = Array.from({ length: parts }, () => 0);
  for (const { value } of known) ranks[range > 0 ? Math.min(Math.floor(((value - first.value) / range) * parts), parts - 1) : 0]!++;
  const median = known.length % 2 ? known[half]!.value : (known[half - 1]!.value + known[half]!.value) / 2;
  return { least: first.value, leastRank: first.rank, median, most: last.value, mostRank: last.rank, ranks };
}

export interface SentMatrix {
  ranks: number[];
  /** [from][to]; null: nothing was sent. */
  cells: (Sent | null)[][];
  most: number;
}

/** Who sent to whom; null: nobody, or too many ranks for a picture. */
export function sentOf(messages: Messages, limit: number): SentMatrix | null {
  const ranks = [...new Set(messages.pairs.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  if (!ranks.length || ranks.length > limit) return null;
  const at = new Map(ranks.map((rank, i) => [rank, i])), cells = ranks.map(() => ranks.map((): Sent | null => null));
  for (const pair of messages.pairs) cells[at.get(pair.from)!]![at.get(pair.to)!] = pair;
  return { ranks, cells, most: Math.max(...messages.pairs.map(({ bytes }) => bytes)) };
}

/** What is drawn as arrows between ranks: of many the pairs with the most bytes. */
export interface Arrows {
  ranks: number[];
  pairs: Sent[];
  leftOut: number;
}

/** Ranks that have no arrow have no place; null: nothing was sent. */
export function arrowsOf(messages: Messages, limit: number): Arrows | null {
  const sent = messages.pairs.filter(({ bytes }) => bytes > 0), pairs = [...sent].sort((a, b) => b.bytes - a.bytes).slice(0, limit);
  if (!pairs.length) return null;
  return { ranks: [...new Set(pairs.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b), pairs, leftOut: sent.length - pairs.length };
}

export function sentText({ from, to, count, bytes, largest }: Sent): string {
  return `rank ${from} to rank ${to}: ${formatBytes(bytes)} in ${formatCount(count)} messages, the largest ${formatBytes(largest)}`;
}

/** "0-4, 6". */
export function membersText(members: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const rank of members) {
    const last = runs[runs.length - 1];
    if (last && last[1] + 1 === rank) last[1] = rank;
    else runs.push([rank, rank]);
  }
  return runs.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(", ");
}

export function causeText(row: Waiting): string {
  const root = row.root_name ?? "-";
  return row.cause === "messages" ? `waited in ${row.cause_name}, in the end for rank ${row.root_rank}: ${root}` : root;
}
