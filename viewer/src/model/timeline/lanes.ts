/* lanes.ts - the lanes of a run as a tree of hosts, processes, threads and devices, and the rows that are shown of it: what is closed is one row,
 * what is pinned stands apart. */
import type { Lane, Process, Run } from "../types.js";

export type GroupKind = "host" | "process" | "threads" | "device";

export interface Group {
  kind: GroupKind;
  /** Stays the same from session to session: addresses have it. */
  key: string;
  title: string;
  /** What else there is to say of it. */
  detail: string;
  process: Process | null;
  /** Of a device, its number; null: unknown. */
  device: number | null;
  children: (Group | Leaf)[];
  lanes: number;
}

export interface Leaf {
  kind: "lane";
  key: string;
  title: string;
  /** Beside its device, which is not said again. */
  short: string;
  detail: string;
  process: Process;
  lane: Lane;
}

export type TreeNode = Group | Leaf;

export interface Row {
  node: TreeNode;
  depth: number;
  open: boolean;
  top: number;
  height: number;
  /** Of a lane: tracks of ranges, and one of what it did. */
  tracks: number;
}

export const GROUP_HEIGHT = 22;
export const TRACK_HEIGHT = 18;
export const RANGE_HEIGHT = 14;
export const LANE_GAP = 4;
const RANGE_TRACKS = 16;

export function laneKey(process: number, lane: number): string {
  return `${process}:${lane}`;
}

/* ---- the tree ----------------------------------------------------------------------------------- */

export function laneTree(run: Run): TreeNode[] {
  const hosts = new Map<string, Group[]>();
  for (const process of run.processes) {
    const host = process.host ?? "";
    if (!hosts.has(host)) hosts.set(host, []);
    hosts.get(host)!.push(processGroup(process));
  }
  if (hosts.size <= 1) return [...hosts.values()].flat();
  return [...hosts].map(([host, children]) =>
    group("host", `h${host}`, host || "unknown host", count(children.length, "process", "processes"), null, children),
  );
}

function processGroup(process: Process): Group {
  const devices = new Map<number | null, Leaf[]>();
  const threads: Leaf[] = [];
  for (const device of process.devices) devices.set(device.device, []);
  for (const lane of process.lanes) {
    if (lane.kind === "thread") threads.push(leaf(process, lane));
    else if (devices.has(lane.device)) devices.get(lane.device)!.push(leaf(process, lane));
    else devices.set(lane.device, [leaf(process, lane)]);
  }
  const children: TreeNode[] = [];
  if (threads.length) children.push(group("threads", `p${process.process}t`, "Threads", String(threads.length), process, byUse(threads)));
  for (const [device, queues] of devices) if (queues.length) children.push(deviceGroup(process, device, byUse(queues)));
  const program = process.executable?.split("/").pop();
  const rank = process.rank === null ? "" : `rank ${process.rank} · `;
  return group("process", `p${process.process}`, `${rank}${program || process.name}`, `process ${process.pid}`, process, children);
}

function deviceGroup(process: Process, device: number | null, queues: Leaf[]): Group {
  const known = process.devices.find((d) => d.device === device);
  const title = device === null ? "unknown device" : `Device ${device}`;
  const made = group("device", `p${process.process}d${device ?? ""}`, title, known?.name ?? "", process, queues);
  made.device = device;
  return made;
}

function leaf(process: Process, lane: Lane): Leaf {
  const facts = [lane.out_of_order ? "out of order" : "", lane.threads && lane.threads > 1 ? `${lane.threads} threads, one after the other` : "",
                 Object.keys(lane.traces).length ? "" : "nothing recorded"];
  return { kind: "lane", key: laneKey(process.process, lane.lane), title: lane.title, short: shortTitle(process, lane), detail: facts.filter(Boolean).join(" · "), process, lane };
}

function shortTitle(process: Process, lane: Lane): string {
  const device = process.devices.find((one) => one.device === lane.device), end = device ? ` on ${device.device} ${device.name}` : "";
  return end && lane.title.endsWith(end) && lane.title.length > end.length ? lane.title.slice(0, -end.length) : lane.title;
}

function group(kind: GroupKind, key: string, title: string, detail: string, process: Process | null, children: TreeNode[]): Group {
  const lanes = children.reduce((sum, child) => sum + (child.kind === "lane" ? 1 : child.lanes), 0);
  return { kind, key, title, detail, process, device: null, children, lanes };
}

/** Lanes of which nothing was recorded come last; else the order stays. */
function byUse(lanes: Leaf[]): Leaf[] {
  const used = (leaf: Leaf) => Object.keys(leaf.lane.traces).length > 0;
  return [...lanes.filter(used), ...lanes.filter((leaf) => !used(leaf))];
}

function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** The lane of this key. */
export function leafFor(tree: TreeNode[], key: string): Leaf | null {
  for (const node of tree) {
    if (node.kind === "lane") {
      if (node.key === key) return node;
      continue;
    }
    const found = leafFor(node.children, key);
    if (found) return found;
  }
  return null;
}

export function processOf(tree: TreeNode[], key: string): Process | null {
  return leafFor(tree, key)?.process ?? null;
}

/** Keys of the groups that a lane is in. */
export function ancestors(tree: TreeNode[], key: string): string[] {
  for (const node of tree) {
    if (node.kind === "lane") continue;
    if (leafFor(node.children, key)) return [node.key, ...ancestors(node.children.filter((child): child is Group => child.kind !== "lane"), key)];
  }
  return [];
}

/** Of a process, on the axis of the run: when it was there; and when it was, but nothing was recorded. null: nobody knows. */
export function recordedTimes({ origin_ns, begin_ns, recorded_ns, end_ns, pauses }: Process): { begin: number; end: number; unknown: [number, number][] } | null {
  if (origin_ns === null || begin_ns === null || end_ns === null) return null;
  const unknown = pauses.map((pause): [number, number] => [pause.from_ns - origin_ns, pause.to_ns - origin_ns]);
  if (recorded_ns !== null) unknown.push([begin_ns - origin_ns, recorded_ns - origin_ns]);
  return { begin: begin_ns - origin_ns, end: end_ns - origin_ns, unknown };
}

/* ---- what is closed ------------------------------------------------------------------------------ */

const LANES_SHOWN = 64, LANES_OF_GROUP = 32;

/** At first, so that a run of a thousand lanes begins with its devices' use and not with a thousand lanes: groups of many, and
 * processes once there are as many lanes as a screen holds. */
export function closedAtFirst(tree: TreeNode[]): Set<string> {
  const closed = new Set<string>();
  let shown = 0;
  const visit = (node: TreeNode): void => {
    if (node.kind === "lane") {
      shown++;
      return;
    }
    const many = (node.kind === "threads" || node.kind === "device") && node.lanes > LANES_OF_GROUP;
    if (many || (node.kind === "process" && shown > 0 && shown + node.lanes > LANES_SHOWN)) closed.add(node.key);
    else node.children.forEach(visit);
  };
  tree.forEach(visit);
  return closed;
}

/** Those that were opened or closed by hand are in the address, one by one. */
export function closedNow(atFirst: Set<string>, toggled: string[]): Set<string> {
  const closed = new Set(atFirst);
  for (const key of toggled) if (!closed.delete(key)) closed.add(key);
  return closed;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

export function laneHeight(tracks: number): number {
  return LANE_GAP + TRACK_HEIGHT + (Math.min(tracks, RANGE_TRACKS) - 1) * RANGE_HEIGHT;
}

/** Where a track of a lane is drawn, within its row: ranges above, the outermost first, and what was done at the bottom. */
export function trackBox(row: Row, track: number): { top: number; height: number } | null {
  if (track >= row.tracks) return null;
  if (track === 0) return { top: LANE_GAP / 2 + (row.tracks - 1) * RANGE_HEIGHT, height: TRACK_HEIGHT };
  return { top: LANE_GAP / 2 + (track - 1) * RANGE_HEIGHT, height: RANGE_HEIGHT - 1 };
}

/** The track at `y` of a row; -1: between lanes. */
export function trackAt(row: Row, y: number): number {
  for (let track = 0; track < row.tracks; track++) {
    const box = trackBox(row, track)!;
    if (y >= box.top - 1 && y < box.top + box.height + 1) return track;
  }
  return -1;
}

export interface Rows {
  pinned: Row[];
  rest: Row[];
  pinnedHeight: number;
  restHeight: number;
}

export function rowsOf(tree: TreeNode[], closed: Set<string>, pins: string[], tracksOf: (leaf: Leaf) => number): Rows {
  const pinned: Row[] = [], rest: Row[] = [];
  let pinnedHeight = 0, restHeight = 0;
  const isPinned = new Set(pins), leaves = new Map<string, Leaf>();
  const laneRow = (node: Leaf, depth: number, top: number): Row => {
    const tracks = Math.min(tracksOf(node), RANGE_TRACKS);
    return { node, depth, open: true, top, height: laneHeight(tracks), tracks };
  };
  const visit = (node: TreeNode, depth: number, hidden: boolean): void => {
    if (node.kind === "lane") {
      leaves.set(node.key, node);
      if (hidden || isPinned.has(node.key)) return;
      const row = laneRow(node, depth, restHeight);
      rest.push(row);
      restHeight += row.height;
      return;
    }
    const open = !closed.has(node.key);
    if (!hidden) {
      rest.push({ node, depth, open, top: restHeight, height: GROUP_HEIGHT, tracks: 0 });
      restHeight += GROUP_HEIGHT;
    }
    for (const child of node.children) visit(child, depth + 1, hidden || !open);
  };
  for (const node of tree) visit(node, 0, false);
  for (const key of pins) {
    const node = leaves.get(key);
    if (!node) continue;
    const row = laneRow(node, 0, pinnedHeight);
    pinned.push(row);
    pinnedHeight += row.height;
  }
  return { pinned, rest, pinnedHeight, restHeight };
}

/** The rows that touch [top, bottom): first, and one past the last. */
export function rowsBetween(rows: Row[], top: number, bottom: number): { first: number; end: number } {
  let low = 0, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.top + rows[middle]!.height <= top) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < rows.length && rows[end]!.top < bottom) end++;
  return { first: low, end };
}

export function rowAt(rows: Row[], y: number): Row | null {
  const { first, end } = rowsBetween(rows, y, y + 1);
  return first < end && rows[first]!.top <= y ? rows[first]! : null;
}
