/* actions.ts - what keys, buttons and lists do on the time line: the stage moves, or the address changes. */
import type { Requests } from "../../model/requests.js";
import { isCommunicator, placeOfPartner, type Partner } from "../../model/timeline/partners.js";
import { decidedBy, decidingOf, placeOfStep, type Dependencies, type Dependency } from "../../model/timeline/dependencies.js";
import type { Interval } from "../../model/timeline/intervals.js";
import { ancestors, leafFor, processOf, type TreeNode } from "../../model/timeline/lanes.js";
import { nextRequest, type NextHit, type Wanted } from "../../model/timeline/next.js";
import { placeOfCall, placeOfOperation, type Operation } from "../../model/timeline/operation.js";
import type { Place } from "../../model/timeline/place.js";
import { formatPoint, type Window } from "../../model/timeline/window.js";
import type { Process } from "../../model/types.js";
import type { Loaded, Shared } from "../context.js";
import type { Action } from "./keys.js";
import type { Stage } from "./stage.js";

export const DEPTH_MOST = 32;
const ZOOM = 1.6, PAN = 0.2;

/** What is shown as something is done. */
export interface Now {
  requests: Requests;
  go: Shared["go"];
  /** There once the page is. */
  stage: { current: Stage | null };
  tree: TreeNode[];
  /** Groups that are closed, and those that the address says were opened or closed by hand. */
  closed: Set<string>;
  folds: string;
  pins: string[];
  range: Window | null;
  depth: number;
  showsPath: boolean;
  /** What is highlighted: a routine, else what a search finds. */
  highlighted: Wanted | null;
  selected: Interval | null;
  /** The routine of the chosen interval, what it depends on, and what more is known of it. */
  routine: string;
  dependencies: Loaded<Dependencies | null>;
  processes: Process[];
  operation: { current: Operation | null };
  say(words: string): void;
  fail(error: Error): void;
}

export class Actions {
  constructor(private readonly now: Now) {}

  private get stage(): Stage {
    return this.now.stage.current!;
  }

  do(action: Action): void {
    const { stage } = this, { go, selected, range, depth, routine, showsPath, highlighted } = this.now;
    switch (action) {
      case "zoom-in": return stage.zoomBy(ZOOM);
      case "zoom-out": return stage.zoomBy(1 / ZOOM);
      case "left": return stage.panBy(-PAN);
      case "right": return stage.panBy(PAN);
      case "all": return stage.lookAll();
      case "previous":
      case "next": return this.walk(action === "next" ? 1 : -1);
      case "lane-up":
      case "lane-down": return this.walkLanes(action === "lane-down" ? 1 : -1);
      case "fit": return selected ? stage.lookAt(selected.begin, Math.max(selected.end, selected.begin + 1)) : range ? stage.lookAt(range.from, range.to) : undefined;
      case "measure": return selected && selected.end > selected.begin ? go({ from: selected.begin, to: selected.end }) : undefined;
      case "jump": return this.jump();
      case "cause":
      case "effect": return this.followDeciding(action === "cause");
      case "path": return go({ path: showsPath ? null : 1 });
      case "hit": return void this.step(1);
      case "hit-back": return void this.step(-1);
      case "highlight": return selected ? go({ routine: highlighted && "routine" in highlighted && highlighted.routine === routine ? null : routine }) : undefined;
      case "pin": return selected ? this.pin(selected.lane) : undefined;
      case "deeper": return go({ depth: Math.min(depth + 1, DEPTH_MOST) });
      case "shallower": return go({ depth: depth > 1 ? depth - 1 : null });
      case "nothing": return selected ? stage.choose(null) : range ? go({ from: null, to: null }) : go({ routine: null });
    }
  }

  /** Opens or closes groups. */
  toggle(keys: string[]): void {
    const now = new Set(this.now.folds.split(",").filter(Boolean));
    for (const key of keys) if (!now.delete(key)) now.add(key);
    this.now.go({ fold: now.size ? [...now].join(",") : null });
  }

  pin(key: string): void {
    const { pins, go } = this.now;
    go({ pin: (pins.includes(key) ? pins.filter((one) => one !== key) : [...pins, key]).join(",") || null });
  }

  /** Shows a place, also one in a closed group, and chooses what is there once it is read. */
  private goTo(place: Place, end: number): void {
    const { stage } = this, { tree, closed } = this.now, span = stage.window.to - stage.window.from;
    const shut = ancestors(tree, place.lane).filter((key) => closed.has(key));
    if (shut.length) this.toggle(shut);
    if ((end - place.begin) * 400 < span) stage.lookAt(place.begin - (end - place.begin) * 20, end + (end - place.begin) * 20);
    else stage.reveal(place.begin, end);
    requestAnimationFrame(() => stage.revealLane(place.lane));
    stage.await(place);
  }

  /** From the API call to its operation, and back. */
  jump(): void {
    const { tree, selected, operation: { current: operation }, say } = this.now, other = this.stage.otherEnd(), process = selected && processOf(tree, selected.lane);
    if (other) return this.stage.choose(other);
    if (!operation || !process || !selected) return;
    const isCall = selected.kind === "call", place = isCall ? placeOfOperation(operation, process) : placeOfCall(operation, process);
    const length = isCall ? operation.duration_ns : operation.call && operation.call.leave_ns !== null ? operation.call.leave_ns - operation.call.enter_ns : 0;
    if (place) this.goTo(place, place.begin + (length ?? 0));
    else say("The other end is not in the trace.");
  }

  /** To the other end of a dependency of the chosen interval. */
  follow(to: Dependency): void {
    const { tree, selected } = this.now, process = selected && processOf(tree, selected.lane), place = process && placeOfStep(to, process);
    if (place) this.goTo(place, place.begin + Math.max(to.end_ns! - to.begin_ns!, 0));
  }

  /** To another rank's collective, or to its call, on whichever track of its thread's ranges that is. */
  async meet(to: Partner): Promise<void> {
    const { requests, processes, depth, say, fail } = this.now, place = placeOfPartner(to, processes), process = processes.find((one) => one.process === to.process);
    if (!place || !process) return;
    if (isCommunicator(process, to.lane)) return this.goTo({ lane: place.lane, track: 0, begin: place.begin, correlation: 0 }, place.end);
    const answer = await requests.json<{ hit: NextHit | null }>(nextRequest({ routine: `[${to.name}]` }, place.begin, 1, depth)).catch((error: Error) => fail(error));
    const hit = answer?.hit;
    if (hit && `${hit.process}:${hit.lane}` === place.lane && hit.begin_ns === place.begin) this.goTo({ lane: place.lane, track: hit.track, begin: place.begin, correlation: 0 }, place.end);
    else if (answer) say("Its call is not on the time line.");
  }

  private followDeciding(backwards: boolean): void {
    const { selected, dependencies, say } = this.now;
    if (!selected) return say("No interval is chosen.");
    if (dependencies.state === "loading") return say("Reading what it waited for …");
    const known = dependencies.state === "ready" ? dependencies.value : null, to = known && (backwards ? decidingOf(known) : decidedBy(known));
    if (to) this.follow(to);
    else say(backwards ? "Nothing is known to have decided when it went on." : "It is not known to have decided when anything went on.");
  }

  /** To the next interval of what is highlighted, or the one before. */
  async step(direction: 1 | -1): Promise<void> {
    const stage = this.now.stage.current, { requests, tree, highlighted, depth, say, fail } = this.now;
    if (!stage || !highlighted) return say("No routine is highlighted: search for one, or click one in Statistics.");
    say("Looking …");
    const from = stage.looked ?? stage.chosen ?? (direction > 0 ? stage.window.from : stage.window.to);
    const answer = await requests.json<{ hit: NextHit | null }>(nextRequest(highlighted, from, direction, depth)).catch((error: Error) => fail(error));
    if (!answer) return;
    const { hit } = answer, lane = hit ? `${hit.process}:${hit.lane}` : "";
    if (!hit) return say(`There is none ${direction > 0 ? "after" : "before"} this.`);
    say(`${leafFor(tree, lane)?.title ?? ""}: ${formatPoint(hit.begin_ns, stage.window.to - stage.window.from)}`);
    this.goTo({ lane, track: hit.track, begin: hit.begin_ns, correlation: hit.correlation }, hit.end_ns);
  }

  /** Along the lane of the chosen interval. */
  private walk(direction: 1 | -1): void {
    const { stage } = this;
    if (!stage.chosen) return stage.panBy(direction * PAN);
    const other = stage.next(direction);
    if (!other) return this.now.say(direction > 0 ? "There is nothing more on screen." : "There is nothing before it on screen.");
    stage.choose(other);
    stage.reveal(other.begin, other.end);
  }

  /** To the next lane that has something on screen. */
  private walkLanes(direction: 1 | -1): void {
    const { stage } = this, { leaves } = stage, here = leaves.findIndex((leaf) => leaf.key === stage.chosen?.lane);
    for (let i = here < 0 && direction < 0 ? leaves.length - 1 : here + direction; i >= 0 && i < leaves.length; i += direction) {
      stage.revealLane(leaves[i]!.key);
      const found = stage.onLane(leaves[i]!);
      if (found) return stage.choose(found);
    }
    this.now.say("There is no other lane with something on screen.");
  }
}
