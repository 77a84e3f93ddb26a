/* partners.ts - the answer to `partners` (docs/developers/requests.md): with whom a call of MPI, or a collective of NCCL, exchanged something; which one
 * to ask for, and the arrows that are drawn of it. */
import { request } from "../requests.js";
import type { Process } from "../types.js";
import { formatBytes, formatTime } from "../units.js";
import type { Link } from "./dependencies.js";
import type { Interval } from "./intervals.js";

export interface Partner {
  process: number;
  rank: number;
  lane: number;
  name: string;
  begin_ns: number;
  end_ns: number;
  kind: string;
  bytes: number;
  tag: number | null;
  /** What was asked for waited for it, or it for that. */
  decided: boolean;
  waited: boolean;
}

export interface Partners {
  process: number;
  lane: number;
  name: string;
  begin_ns: number;
  end_ns: number;
  wait_ns: number;
  partners: Partner[];
  left_out: number;
}

/** Is it that of a communicator of NCCL, where each collective is an operation? Calls of MPI are among the ranges of threads. */
export function isCommunicator(process: Process, lane: number): boolean {
  return process.lanes.some((one) => one.lane === lane && one.kind === "queue" && one.name?.startsWith("NCCL "));
}

/** What asks for the partners of this interval; null: it is no call of MPI and no collective, or several. */
export function partnersOf(interval: Interval, process: Process): string | null {
  const lane = Number(interval.lane.split(":")[1]), messages = process.lanes.find((one) => one.lane === lane)?.traces.messages;
  const isCall = messages && interval.track > 0 && interval.kind === "range", isCollective = interval.kind === "order" && isCommunicator(process, lane);
  if (interval.merged || (!isCall && !isCollective)) return null;
  return request("partners", null, { process: process.process, lane, begin: interval.begin + process.origin_ns });
}

/** Where it begins on the axis of the run; null: its process is not there. */
export function placeOfPartner(one: Partner, processes: Process[]): { lane: string; begin: number; end: number } | null {
  const process = processes.find((other) => other.process === one.process);
  return process ? { lane: `${one.process}:${one.lane}`, begin: one.begin_ns - process.origin_ns, end: one.end_ns - process.origin_ns } : null;
}

/** "sent it 4.00 kB; it waited for that". */
export function partnerWords(one: Partner, wait_ns: number): string {
  const tag = one.tag === null ? "" : `, tag ${one.tag}`;
  const what = one.kind === "send" ? `sends it ${formatBytes(one.bytes)}${tag}` : one.kind === "receive" ? `receives ${formatBytes(one.bytes)} of it${tag}` : one.kind;
  return [what, one.decided ? `waited ${formatTime(wait_ns)} for it` : "", one.waited ? "it waited for this" : ""].filter(Boolean).join("; ");
}

/** A message goes from where it is sent to where it was received; of what all do together only who waited for whom is drawn. */
export function linksOfPartners(of: Partners, processes: Process[]): Link[] {
  const own = processes.find((one) => one.process === of.process), out: Link[] = [];
  if (!own) return out;
  const here = { lane: `${of.process}:${of.lane}`, begin: of.begin_ns - own.origin_ns, end: of.end_ns - own.origin_ns };
  for (const one of of.partners) {
    const there = placeOfPartner(one, processes), single = one.kind === "send" || one.kind === "receive", strong = one.decided || one.waited;
    if (!there || (!single && !strong)) continue;
    const sends = single ? one.kind === "send" : one.waited, [from, to] = sends ? [here, there] : [there, here];
    out.push({ from: { lane: from.lane, time: from.begin }, to: { lane: to.lane, time: single ? to.end : from.begin }, strong, other: sends ? "to" : "from" });
  }
  return out;
}
