/* page.tsx - the page Time line: what the address says is shown by a stage (stage.ts), what is done there goes into the address. */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Colours } from "../../draw/timeline/palette.js";
import { rangeOf } from "../../model/address.js";
import { stepsOf, type PathHeader, type Steps } from "../../model/path.js";
import { request, RequestError } from "../../model/requests.js";
import { rowsWithin } from "../../model/run.js";
import { decidedBy, decidingOf, linksOf, placeOfStep, type Dependency } from "../../model/timeline/dependencies.js";
import type { Interval } from "../../model/timeline/intervals.js";
import { closedAtFirst, closedNow, laneTree, rowsOf, type Group, type Rows, type TreeNode } from "../../model/timeline/lanes.js";
import { placeOfCall, placeOfOperation, type Operation } from "../../model/timeline/operation.js";
import { overviewFrom, type OverviewHeader } from "../../model/timeline/overview.js";
import { nextRequest, type NextHit, type Wanted } from "../../model/timeline/next.js";
import { seriesClosedAtFirst, seriesGroups, type SeriesGroup, type SeriesHeader } from "../../model/timeline/series.js";
import { formatPoint, type Window } from "../../model/timeline/window.js";
import type { Hit } from "../../model/types.js";
import { useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { PictureButtons } from "../parts/download.jsx";
import { Costly } from "./costly.jsx";
import { useDependencies } from "./dependencies.jsx";
import { Details } from "./details.jsx";
import { pictureOf } from "./export.js";
import { Gutter } from "./gutter.jsx";
import { isTyping, keyAction, type Action } from "./keys.js";
import { Keys, Legend } from "./legend.jsx";
import { Blame, Statistics } from "./panels.jsx";
import { formatPlace, parsePlace, placeOf, Stage, type Hover, type Place, type Status } from "./stage.js";
import { announced } from "./words.js";
import { Tooltip } from "./tooltip.jsx";
import { TrackList } from "./tracklist.jsx";
import type { TrackElements } from "./tracks.js";
import "./timeline.css";

const OVERVIEW_PIXELS = 4096, ADDRESS_MS = 300, DEPTH_MOST = 32, PATHS_MOST = 16;
const PANELS = ["details", "statistics", "blame"] as const;
type PanelName = (typeof PANELS)[number];

export function TimelinePage() {
  const shared = useShared();
  const { requests, run, address, go, theme } = shared, { options } = address;
  const elements = {
    axis: useRef<HTMLCanvasElement>(null), overview: useRef<HTMLCanvasElement>(null), overlay: useRef<HTMLCanvasElement>(null),
    pinned: useRef<HTMLDivElement>(null), pinnedCanvas: useRef<HTMLCanvasElement>(null),
    rest: useRef<HTMLDivElement>(null), restCanvas: useRef<HTMLCanvasElement>(null),
    tracks: useRef<HTMLDivElement>(null),
  };
  const stage = useRef<Stage | null>(null), written = useRef(""), timer = useRef<ReturnType<typeof setTimeout>>();
  const [visible, setVisible] = useState<Window>({ from: 0, to: Math.max(run.length_ns, 1) });
  const [range, setRange] = useState<Window | null>(null);
  const [selected, setSelected] = useState<Interval | null>(null);
  const showHover = useRef<(hover: Hover | null) => void>(() => undefined);
  const [status, setStatus] = useState<Status>({ busy: true, partial: false, error: null, badTimes: 0 });
  const [tracks, setTracks] = useState(0);
  const [counters, setCounters] = useState<SeriesGroup[]>([]);
  const [exact, setExact] = useState(false);
  const [said, say] = useState("");
  const [failure, setFailure] = useState<Error | null>(null);
  const operation = useRef<Operation | null>(null);

  /* ---- what the address says ---- */
  const tree = useMemo(() => laneTree(run), [run]);
  const folds = options.fold ?? "", pinList = options.pin ?? "", depth = Math.min(Math.max(Math.floor(Number(options.depth) || 0), 0), DEPTH_MOST);
  const pins = useMemo(() => pinList.split(",").filter(Boolean), [pinList]);
  const closed = useMemo(
    () => closedNow(new Set([...closedAtFirst(tree), ...seriesClosedAtFirst(counters)]), folds.split(",").filter(Boolean)),
    [tree, counters, folds],
  );
  const rows = useMemo(() => rowsOf(tree, closed, pins, (leaf) => stage.current?.tracksOf(leaf) ?? (leaf.lane.traces.ranges ? 2 : 1)), [tree, closed, pins, tracks]);
  const panel: PanelName | "none" = (PANELS as readonly string[]).includes(options.panel ?? "") ? (options.panel as PanelName) : options.panel === "none" ? "none" : "statistics";
  const routines = useRoutines(), process = selected && processOf(tree, selected.lane), dependencies = useDependencies(selected, process);
  const showsPath = options.path === "1", paths = usePaths(showsPath, rows);

  /* ---- the stage ---- */
  const latest = useRef({ go, folds, panel, pins });
  latest.current = { go, folds, panel, pins };
  useLayoutEffect(() => {
    const made = new Stage(
      {
        axis: elements.axis.current!, overview: elements.overview.current!, overlay: elements.overlay.current!,
        pinned: { scroll: elements.pinned.current!, canvas: elements.pinnedCanvas.current! },
        rest: { scroll: elements.rest.current!, canvas: elements.restCanvas.current! },
        tracks: elements.tracks.current!,
      },
      requests, run.length_ns,
      {
        window(window) {
          clearTimeout(timer.current);
          timer.current = setTimeout(() => {
            setVisible(window);
            const t0 = Math.floor(window.from), t1 = Math.ceil(window.to);
            written.current = `${t0}/${t1}`;
            latest.current.go({ t0, t1 }, { replace: true });
          }, ADDRESS_MS);
        },
        select(interval) {
          setSelected(interval);
          const opens = interval && latest.current.panel !== "none";
          latest.current.go({ sel: interval ? formatPlace(placeOf(interval)) : null, ...(opens ? { panel: "details" } : {}) }, { replace: true });
        },
        range(chosen, done) {
          setRange(chosen);
          if (done) latest.current.go({ from: chosen?.from ?? null, to: chosen?.to ?? null });
        },
        hover: (hover) => showHover.current(hover),
        status: setStatus,
        tracks: () => setTracks((n) => n + 1),
      },
    );
    stage.current = made;
    return () => {
      clearTimeout(timer.current);
      made.stop();
      stage.current = null;
    };
  }, [requests, run]);

  useLayoutEffect(() => stage.current?.setRows(rows), [rows]);
  useEffect(() => stage.current?.setDepth(depth), [depth]);
  useEffect(() => stage.current?.setExact(exact), [exact]);
  useEffect(() => stage.current?.setRoutines(routines), [routines]);
  useEffect(() => stage.current?.setPaths(paths.steps), [paths.steps]);
  const known = dependencies.state === "ready" ? dependencies.value : null;
  useEffect(() => stage.current?.setLinks(known && process && !known.unknown ? linksOf(known, process) : null), [known, selected]);
  useEffect(() => {
    const later = requestAnimationFrame(() => stage.current?.setColours(theme, pageColours()));
    return () => cancelAnimationFrame(later);
  }, [theme.dark]);
  useEffect(() => {
    const { t0, t1 } = options;
    if (t0 === undefined && t1 === undefined && written.current) { /* an address without a window is of the whole run */
      written.current = "";
      clearTimeout(timer.current);
      stage.current?.look({ from: 0, to: Math.max(run.length_ns, 1) });
    }
    if (t0 === undefined || t1 === undefined || `${t0}/${t1}` === written.current || !(Number(t1) > Number(t0))) return;
    written.current = `${t0}/${t1}`;
    clearTimeout(timer.current); /* where the page was before is not to be written over it */
    stage.current?.look({ from: Number(t0), to: Number(t1) });
  }, [options.t0, options.t1]);
  useEffect(() => {
    const chosen = rangeOf(address);
    setRange(chosen);
    stage.current?.setRange(chosen);
  }, [options.from, options.to]);
  useEffect(() => {
    const place = parsePlace(options.sel);
    stage.current?.await(place);
    if (!place) setSelected(null);
  }, [options.sel]);
  useEffect(() => {
    requests.columns<SeriesHeader>(request("series", null, { series: "" })).then(({ header }) => setCounters(seriesGroups(header.series, run)), setFailure);
  }, [requests, run]);
  useEffect(() => {
    const asked = request("overview", null, { pixels: OVERVIEW_PIXELS, exact });
    requests.columns<OverviewHeader>(asked).then((answer) => stage.current?.setOverview(overviewFrom(answer)), setFailure);
  }, [requests, exact]);
  const lane = selected ? (leafFor(tree, selected.lane)?.title ?? selected.lane) : "";
  const label = selected ? (stage.current?.labels.texts[selected.label] ?? "") : "";
  const routine = selected ? (stage.current?.labels.routines[selected.label] ?? "") : "";
  useEffect(() => {
    if (selected) say(announced(selected, label, lane, visible.to - visible.from));
  }, [selected]);

  /* ---- what is done ---- */
  const toggle = useCallback((key: string) => {
    const now = new Set(latest.current.folds.split(",").filter(Boolean));
    if (!now.delete(key)) now.add(key);
    latest.current.go({ fold: now.size ? [...now].join(",") : null });
  }, []);
  const pin = useCallback((key: string) => {
    const before = latest.current.pins;
    latest.current.go({ pin: (before.includes(key) ? before.filter((one) => one !== key) : [...before, key]).join(",") || null });
  }, []);
  const goTo = (place: Place, end: number) => {
    const shut = ancestors(tree, place.lane).filter((key) => closed.has(key));
    const now = new Set(folds.split(",").filter(Boolean));
    for (const key of shut) if (!now.delete(key)) now.add(key);
    if (shut.length) go({ fold: now.size ? [...now].join(",") : null });
    const at = stage.current!, span = at.window.to - at.window.from;
    if ((end - place.begin) * 400 < span) at.lookAt(place.begin - (end - place.begin) * 20, end + (end - place.begin) * 20);
    else at.reveal(place.begin, end);
    requestAnimationFrame(() => at.revealLane(place.lane));
    at.await(place);
  };
  const jump = () => {
    const other = stage.current?.otherEnd(), known = operation.current, process = selected && processOf(tree, selected.lane);
    if (other) return stage.current!.choose(other);
    if (!known || !process || !selected) return;
    const isCall = selected.kind === "call", place = isCall ? placeOfOperation(known, process) : placeOfCall(known, process);
    const length = isCall ? known.duration_ns : known.call && known.call.leave_ns !== null ? known.call.leave_ns - known.call.enter_ns : 0;
    if (place) goTo(place, place.begin + (length ?? 0));
    else say("The other end is not in the trace.");
  };
  const follow = (to: Dependency) => {
    const place = process && placeOfStep(to, process);
    if (place) goTo(place, place.begin + Math.max(to.end_ns! - to.begin_ns!, 0));
  };
  const followDeciding = (backwards: boolean) => {
    if (!selected) return say("No interval is chosen.");
    if (dependencies.state === "loading") return say("Reading what it waited for …");
    const to = known && (backwards ? decidingOf(known) : decidedBy(known));
    if (to) follow(to);
    else say(backwards ? "Nothing is known to have decided when it went on." : "It is not known to have decided when anything went on.");
  };
  const step = async (direction: 1 | -1) => {
    const at = stage.current, wanted: Wanted | null = options.routine ? { routine: options.routine } : options.find ? { text: options.find } : null;
    if (!at || !wanted) return say("No routine is highlighted: search for one, or click one in Statistics.");
    say("Looking …");
    const from = at.looked ?? at.chosen ?? (direction > 0 ? at.window.from : at.window.to);
    const answer = await requests.json<{ hit: NextHit | null }>(nextRequest(wanted, from, direction, depth)).catch((error: Error) => void setFailure(error));
    if (!answer) return;
    const { hit } = answer;
    if (!hit) return say(`There is none ${direction > 0 ? "after" : "before"} this.`);
    say(`${leafFor(tree, `${hit.process}:${hit.lane}`)?.title ?? ""}: ${formatPoint(hit.begin_ns, at.window.to - at.window.from)}`);
    goTo({ lane: `${hit.process}:${hit.lane}`, track: hit.track, begin: hit.begin_ns, correlation: hit.correlation }, hit.end_ns);
  };
  const showTracks = useCallback((open: TrackElements[]) => stage.current?.setTracks(open), []);
  const pointTracks = useCallback((direction: 1 | -1) => {
    const at = stage.current;
    if (!at) return;
    const time = at.point(direction);
    requestAnimationFrame(() => {
      const value = document.activeElement?.querySelector("output")?.textContent ?? "";
      document.activeElement?.setAttribute("aria-valuenow", String(Math.round(time)));
      document.activeElement?.setAttribute("aria-valuetext", `${value} at ${formatPoint(time, at.window.to - at.window.from)}`);
    });
  }, []);
  const act = (action: Action) => {
    const at = stage.current!;
    switch (action) {
      case "zoom-in": return at.zoomBy(1.6);
      case "zoom-out": return at.zoomBy(1 / 1.6);
      case "left": return at.panBy(-0.2);
      case "right": return at.panBy(0.2);
      case "all": return at.lookAll();
      case "previous":
      case "next": return walk(action === "next" ? 1 : -1);
      case "lane-up":
      case "lane-down": return walkLanes(action === "lane-down" ? 1 : -1);
      case "fit": return selected ? at.lookAt(selected.begin, Math.max(selected.end, selected.begin + 1)) : range ? at.lookAt(range.from, range.to) : undefined;
      case "measure": return selected && selected.end > selected.begin ? go({ from: selected.begin, to: selected.end }) : undefined;
      case "jump": return jump();
      case "cause":
      case "effect": return followDeciding(action === "cause");
      case "path": return go({ path: showsPath ? null : 1 });
      case "hit": return void step(1);
      case "hit-back": return void step(-1);
      case "highlight": return selected ? go({ routine: options.routine === routine ? null : routine }) : undefined;
      case "pin": return selected ? pin(selected.lane) : undefined;
      case "deeper": return go({ depth: Math.min(depth + 1, DEPTH_MOST) });
      case "shallower": return go({ depth: depth > 1 ? depth - 1 : null });
      case "nothing": return selected ? at.choose(null) : range ? go({ from: null, to: null }) : go({ routine: null });
    }
  };
  const walk = (direction: 1 | -1) => {
    const at = stage.current!;
    if (!at.chosen) return at.panBy(direction * 0.2);
    const other = at.next(direction);
    if (!other) return say(direction > 0 ? "There is nothing more on screen." : "There is nothing before it on screen.");
    at.choose(other);
    at.reveal(other.begin, other.end);
  };
  const walkLanes = (direction: 1 | -1) => {
    const at = stage.current!, leaves = at.leaves, here = leaves.findIndex((leaf) => leaf.key === at.chosen?.lane);
    for (let i = here < 0 && direction < 0 ? leaves.length - 1 : here + direction; i >= 0 && i < leaves.length; i += direction) {
      at.revealLane(leaves[i]!.key);
      const found = at.onLane(leaves[i]!);
      if (found) return at.choose(found);
    }
    say("There is no other lane with something on screen.");
  };
  const actions = useRef(act);
  actions.current = act;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const action = keyAction(event, document.activeElement === elements.restCanvas.current || document.activeElement === elements.pinnedCanvas.current);
      if (!action || !stage.current) return;
      event.preventDefault();
      actions.current(action);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);

  const shownRange = range ?? visible, rowsInRange = useMemo(() => rowsWithin(run, shownRange), [run, shownRange.from, shownRange.to]);
  return (
    <div class="tl">
      <h1 class="tl-said">Time line</h1>
      <div class="tl-tools" role="toolbar" aria-label="Time line">
        <label>Call depth <input type="number" min={0} max={DEPTH_MOST} value={depth} title="Of threads: 0 shows the innermost function, 1 the outermost, 2 what it called …"
          onChange={(event) => go({ depth: Number(event.currentTarget.value) || null })} /></label>
        <span class="tl-buttons">
          <button type="button" title="Zoom in (w)" aria-label="Zoom in" onClick={() => act("zoom-in")}>+</button>
          <button type="button" title="Zoom out (s)" aria-label="Zoom out" onClick={() => act("zoom-out")}>−</button>
          <button type="button" title="Show the whole run (0)" onClick={() => act("all")}>Whole run</button>
          {range && <button type="button" title="Zoom to the selected range (f)" onClick={() => stage.current?.lookAt(range.from, range.to)}>Zoom to range</button>}
          {range && <button type="button" onClick={() => go({ from: null, to: null })}>Clear range</button>}
        </span>
        <span class="tl-buttons">
          <button type="button" aria-pressed={showsPath} title="Draws over the lanes what decided how long the run took; pointing at it names the step (c)" onClick={() => act("path")}>Critical path</button>
        </span>
        {routines.size > 0 && (
          <span class="tl-buttons">
            <button type="button" aria-label="Previous of the highlighted routine" title="Previous (N)" onClick={() => void step(-1)}>◂</button>
            <button type="button" aria-label="Next of the highlighted routine" title="Next (n)" onClick={() => void step(1)}>▸</button>
            <span class="tl-routine" title={[...routines].join("\n")}>{options.routine ?? `“${options.find}”, ${routines.size} routines`}</span>
            <button type="button" aria-label="Highlight nothing" title="Highlight nothing (Esc)" onClick={() => go({ routine: null, find: null })}>✕</button>
          </span>
        )}
        <span class="tl-status" role="status">
          {status.partial
            ? <button type="button" aria-pressed={exact} title="What is hatched or coarse was not read, since it would take a while." onClick={() => setExact(!exact)}>{exact ? "Reading all …" : "Read all"}</button>
            : exact && <button type="button" aria-pressed="true" onClick={() => setExact(false)}>All is read</button>}
          {status.badTimes > 0 && <span class="quiet">Not drawn, since their times cannot be: {status.badTimes}</span>}
        </span>
        <span class="tl-busy quiet" aria-hidden="true">{status.busy ? "reading …" : ""}</span>
        <span class="tl-buttons">
          <PictureButtons name="timeline" svg={() => stage.current && pictureOf(stage.current)} />
        </span>
      </div>
      {(failure ?? status.error ?? paths.error) && <Failure error={(failure ?? status.error ?? paths.error)!} />}
      <div class="tl-body">
        <div class="tl-main">
          <div class="tl-head"><span class="tl-corner quiet">whole run</span><div class="tl-wide"><canvas ref={elements.overview} class="tl-overview" role="img" aria-label="How busy the devices were over the whole run, and what of it is on screen" /></div></div>
          <div class="tl-head"><span class="tl-corner quiet">on screen</span><div class="tl-wide"><canvas ref={elements.axis} class="tl-axis" role="img" aria-label="Time axis" /></div></div>
          <div class="tl-lanes">
            <div ref={elements.pinned} class="tl-scroll tl-pinned" hidden={!rows.pinned.length}>
              <div class="tl-tall" style={{ height: `${rows.pinnedHeight}px` }}>
                <Gutter rows={rows.pinned} pinned={true} onToggle={toggle} onPin={pin} />
                <div class="tl-sticky"><canvas ref={elements.pinnedCanvas} tabIndex={0} role="application" aria-roledescription="time line" aria-label="Pinned lanes" /></div>
              </div>
            </div>
            <div ref={elements.rest} class="tl-scroll tl-rest">
              <div class="tl-tall" style={{ height: `${rows.restHeight}px` }}>
                <Gutter rows={rows.rest} pinned={false} onToggle={toggle} onPin={pin} />
                <div class="tl-sticky"><canvas ref={elements.restCanvas} tabIndex={0} role="application" aria-roledescription="time line" aria-label="Lanes: arrows up and down choose a lane, left and right an interval" /></div>
              </div>
            </div>
            <div ref={elements.tracks} class="tl-scroll tl-tracks" role="group" aria-label="Counters over time" hidden={!counters.length}>
              {counters.length > 0 && <TrackList groups={counters} closed={closed} length={run.length_ns} onToggle={toggle} onTracks={showTracks} onStep={pointTracks} />}
            </div>
            <div class="tl-over"><canvas ref={elements.overlay} aria-hidden="true" /></div>
          </div>
          <div class="tl-foot"><Legend /><Keys /></div>
        </div>
        <aside class={panel === "none" ? "tl-side tl-side-closed" : "tl-side"} aria-label="About what is selected">
          <div class="tl-tabs">
            <div role="tablist" aria-label="What is shown beside the lanes">
              {PANELS.map((name) => (
                <button key={name} type="button" role="tab" id={`tl-tab-${name}`} aria-selected={panel === name} aria-controls={panel === name ? "tl-panel" : undefined}
                  onClick={() => go({ panel: name }, { replace: true })}>
                  {name[0]!.toUpperCase() + name.slice(1)}
                </button>
              ))}
            </div>
            <button type="button" class="tl-close" aria-label={panel === "none" ? "Show the panel" : "Hide the panel"} title={panel === "none" ? "Show the panel" : "Hide the panel"}
              onClick={() => go({ panel: panel === "none" ? "statistics" : "none" }, { replace: true })}>{panel === "none" ? "◂" : "▸"}</button>
          </div>
          {panel !== "none" && (
            <div id="tl-panel" role="tabpanel" aria-labelledby={`tl-tab-${panel}`} class="tl-panel-body" tabIndex={0}>
              {panel === "statistics" && <Costly rows={rowsInRange}><Statistics range={shownRange} selected={!!range} depth={depth} /></Costly>}
              {panel === "blame" && <Costly rows={rowsInRange}><Blame range={shownRange} selected={!!range} depth={depth} /></Costly>}
              {panel === "details" && (selected && process
                ? <Details key={options.sel} interval={selected} label={label} routine={routine} lane={lane} process={process} dependencies={dependencies}
                    onOperation={(one) => (operation.current = one)} onJump={jump} onGo={follow} />
                : <p class="quiet">Click an interval, or walk to one with the arrow keys.</p>)}
            </div>
          )}
        </aside>
      </div>
      <p class="tl-said" aria-live="polite">{said}</p>
      <Tooltip show={showHover} label={(interval) => stage.current?.labels.texts[interval.label] ?? ""} lane={(interval) => leafFor(tree, interval.lane)?.title ?? ""}
        span={() => (stage.current ? stage.current.window.to - stage.current.window.from : 1)} />
    </div>
  );
}

/** The routine that is highlighted; where there is none, all that the search finds. */
function useRoutines(): Set<string> {
  const { requests, address } = useShared(), { routine, find } = address.options;
  const [found, setFound] = useState<string[]>([]);
  useEffect(() => {
    setFound([]);
    if (routine || !find) return;
    let wanted = true;
    requests.json<{ hits: Hit[] }>(request("find", null, { text: find, limit: 10000 })).then(({ hits }) => wanted && setFound(hits.map((hit) => hit.label)), () => undefined);
    return () => {
      wanted = false;
    };
  }, [routine, find]);
  return useMemo(() => new Set(routine ? [routine] : found), [routine, found]);
}

/** The critical paths of the processes that have open rows. */
function usePaths(wanted: boolean, rows: Rows): { steps: Map<number, Steps>; error: Error | null } {
  const { requests } = useShared(), [steps, setSteps] = useState(new Map<number, Steps>()), [error, setError] = useState<Error | null>(null);
  const shown = [...new Set([...rows.pinned, ...rows.rest].flatMap(({ node }) => (node.kind !== "host" && node.process?.traced ? [node.process.process] : [])))].slice(0, PATHS_MOST);
  useEffect(() => {
    let current = true;
    if (!wanted) setSteps(new Map());
    setError(null);
    for (const process of wanted ? shown : [])
      requests.columns<PathHeader>(request("path", null, { process })).then(
        (answer) => current && setSteps((before) => (before.has(process) ? before : new Map(before).set(process, stepsOf(answer)))),
        (failed: Error) => current && !(failed instanceof RequestError && failed.status === 404) && setError(failed), /* 404: it has no trace */
      );
    return () => {
      current = false;
    };
  }, [requests, wanted, shown.join()]);
  return { steps, error };
}

function pageColours(): Colours {
  const style = getComputedStyle(document.documentElement), of = (name: string) => style.getPropertyValue(`--${name}`).trim() || "#808080";
  return { paper: of("paper"), ink: of("ink"), quiet: of("quiet"), line: of("line"), raised: of("raised"), accent: of("accent") };
}

function leafFor(tree: TreeNode[], key: string): Extract<TreeNode, { kind: "lane" }> | null {
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

function processOf(tree: TreeNode[], key: string) {
  return leafFor(tree, key)?.process ?? null;
}

/** Keys of the groups that a lane is in. */
function ancestors(tree: TreeNode[], key: string): string[] {
  for (const node of tree) {
    if (node.kind === "lane") continue;
    if (leafFor(node.children, key)) return [node.key, ...ancestors(node.children.filter((child): child is Group => child.kind !== "lane"), key)];
  }
  return [];
}
