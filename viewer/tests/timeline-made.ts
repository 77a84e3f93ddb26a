/* timeline-made.ts - answers to `timeline` as docs/developers/requests.md says that they are, made of rows in a list: for tests. */
import type { Columns } from "../src/model/columns.js";
import { KINDS, type KindName, type TimelineHeader } from "../src/model/timeline/tiles.js";

export interface MadeRow {
  lane: number;
  begin: number;
  end: number;
  label: string;
  kind?: KindName;
  correlation?: number;
  track?: number;
  node?: number;
}

interface Made {
  begin: number;
  end: number;
  time: number;
  correlation: number;
  label: number;
  rows: number;
  track: number;
  busy: number;
  kind: number;
  merged: number;
  node: number;
}

export function answerOf(rows: MadeRow[], lanes: number[], from: number, to: number, pixels: number, depth = 0, partial = false): Columns<TimelineHeader> {
  const bin = 2 ** Math.max(0, Math.floor(Math.log2(Math.max((to - from) / pixels, 1))));
  const first = Math.floor(from / bin) * bin, last = Math.ceil(to / bin) * bin, strings: string[] = [], made: Made[] = [], totals: [number, number, number][] = [];
  const number = (label: string) => (strings.includes(label) ? strings.indexOf(label) : strings.push(label) - 1);
  const header: TimelineHeader = {
    from_ns: first, to_ns: last, bin_ns: bin, depth, lanes: [], strings, routines: strings, frames: [], kinds: [...KINDS], partial, read_rows: 0,
  };
  for (const lane of lanes) {
    const begins = made.length, firstTotal = totals.length;
    const seen = rows.filter((row) => row.lane === lane && row.begin < last && (row.end > row.begin ? row.end > first : row.begin >= first));
    const own: Made[] = [], bins = new Map<string, MadeRow[]>(), sums = new Map<string, [number, number]>();
    for (const row of seen) {
      const inside = Math.min(row.end, last) - Math.max(row.begin, first), sum = sums.get(row.label) ?? [0, 0];
      const counted = row.end - row.begin >= bin && row.end > row.begin ? 1 : Number(row.begin >= first);
      sums.set(row.label, [sum[0] + inside, sum[1] + counted]);
      if (row.end - row.begin >= bin && row.end > row.begin) {
        own.push({ begin: row.begin, end: row.end, time: inside, correlation: row.correlation ?? 0, label: number(row.label), rows: 1, track: row.track ?? 0, busy: 65535, kind: KINDS.indexOf(row.kind ?? "operation"), merged: 0, node: row.node ?? 0 });
        continue;
      }
      for (let at = Math.floor(Math.max(row.begin, first) / bin); at <= Math.floor((Math.max(row.end - 1, row.begin)) / bin) && at * bin < last; at++) {
        const key = `${row.track ?? 0}/${at}`;
        bins.set(key, [...(bins.get(key) ?? []), row]);
      }
    }
    for (const [key, inBin] of bins) {
      const [track, at] = key.split("/").map(Number) as [number, number], time = (row: MadeRow) => Math.max(0, Math.min(row.end, (at + 1) * bin) - Math.max(row.begin, at * bin));
      const byLabel = new Map<string, number>();
      for (const row of inBin) byLabel.set(row.label, (byLabel.get(row.label) ?? 0) + time(row));
      const [label, most] = [...byLabel].sort((a, b) => b[1] - a[1])[0]!, all = inBin.reduce((sum, row) => sum + time(row), 0);
      own.push({ begin: at * bin, end: (at + 1) * bin, time: most, correlation: 0, label: number(label), rows: inBin.filter((row) => row.begin >= at * bin).length, track, busy: Math.min(65535, Math.round((all / bin) * 65535)), kind: KINDS.indexOf(inBin[0]!.kind ?? "operation"), merged: 1, node: 0 });
    }
    own.sort((a, b) => a.track - b.track || a.begin - b.begin);
    made.push(...own);
    for (const [label, [time, count]] of sums) totals.push([number(label), time, count]);
    header.lanes.push({ process: 0, lane, first: begins, count: own.length, first_total: firstTotal, totals: totals.length - firstTotal, tracks: 1 + Math.max(0, ...own.map((one) => one.track)), partial, bad_times: 0 });
  }
  header.frames = strings.map(() => "operation");
  const u64 = (of: (one: Made) => number) => BigUint64Array.from(made, (one) => BigInt(Math.round(of(one)))), u32 = (of: (one: Made) => number) => Uint32Array.from(made, of);
  return {
    header,
    columns: {
      begin_ns: u64((m) => m.begin), end_ns: u64((m) => m.end), time_ns: u64((m) => m.time), correlation: u64((m) => m.correlation), label: u32((m) => m.label),
      node: u32((m) => m.node), rows: u32((m) => m.rows), track: u32((m) => m.track), busy: Uint16Array.from(made, (m) => m.busy),
      kind: Uint8Array.from(made, (m) => m.kind), merged: Uint8Array.from(made, (m) => m.merged),
      total_time_ns: BigUint64Array.from(totals, (t) => BigInt(t[1])), total_rows: BigUint64Array.from(totals, (t) => BigInt(t[2])), total_label: Uint32Array.from(totals, (t) => t[0]),
    },
  };
}
