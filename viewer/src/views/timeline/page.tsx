/* page.tsx - the page Time line: what the address says is shown by a stage (stage.ts), what is done there goes into the address. */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Colours } from "../../draw/timeline/palette.js";
import { parseAddress, rangeOf, type Address } from "../../model/address.js";
import { request } from "../../model/requests.js";
import { linksOf } from "../../model/timeline/dependencies.js";
import { linksOfPartners } from "../../model/timeline/partners.js";
import type { Interval } from "../../model/timeline/intervals.js";
import { closedAtFirst, closedNow, laneTree, leafFor, processOf, rowsOf } from "../../model/timeline/lanes.js";
import type { Operation } from "../../model/timeline/operation.js";
import { overviewFrom, type OverviewHeader } from "../../model/timeline/overview.js";
import { formatPlace, parsePlace, placeOf } from "../../model/timeline/place.js";
import { seriesClosedAtFirst, seriesGroups, type SeriesGroup, type SeriesHeader } from "../../model/timeline/series.js";
import { formatPoint, type Window } from "../../model/timeline/window.js";
import { useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { Actions, DEPTH_MOST } from "./actions.js";
import { useDependencies } from "./dependencies.jsx";
import { usePartners } from "./partners.jsx";
import { Details } from "./details.jsx";
import { Gutter } from "./gutter.jsx";
import { isTyping, keyAction } from "./keys.js";
import { Keys, Legend } from "./legend.jsx";
import { usePaths, useRoutines } from "./loads.js";
import { panelOf, Side } from "./side.jsx";
import { Stage, type Hover, type Status } from "./stage.js";
import { Tools } from "./tools.jsx";
import { Tooltip } from "./tooltip.jsx";
import { TrackList } from "./tracklist.jsx";
import type { TrackElements } from "./tracks.js";
import { announced } from "./words.js";
import "./timeline.css";

const OVERVIEW_PIXELS = 4096, ADDRESS_MS = 300;

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
  const rows = useMemo(() => rowsOf(tree, closed, pins, (leaf) => stage.current?.tracksOf(leaf) ?? (leaf.lane.traces.ranges || leaf.lane.traces.messages ? 2 : 1)), [tree, closed, pins, tracks]);
  const panel = panelOf(options);
  const routines = useRoutines(), process = selected && processOf(tree, selected.lane), dependencies = useDependencies(selected, process), partners = usePartners(selected, process);
  const showsPath = options.path === "1", paths = usePaths(showsPath, rows);

  /* ---- the stage ---- */
  const latest = useRef({ go, panel });
  latest.current = { go, panel };
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
            if (windowIn(parseAddress(location.hash)) !== written.current) return; /* another address came meanwhile, and is about to be shown */
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
  const ranks = partners.state === "ready" ? partners.value : null;
  useEffect(() => {
    const own = known && process && !known.unknown ? linksOf(known, process) : null, others = ranks && linksOfPartners(ranks, run.processes);
    stage.current?.setLinks(own || others ? [...(own ?? []), ...(others ?? [])] : null);
  }, [known, ranks, selected]);
  useEffect(() => {
    const later = requestAnimationFrame(() => stage.current?.setColours(theme, pageColours()));
    return () => cancelAnimationFrame(later);
  }, [theme.dark]);
  useEffect(() => {
    const { t0, t1 } = options, asked = windowIn(address);
    if (t0 === undefined && t1 === undefined && written.current) { /* an address without a window is of the whole run */
      written.current = "";
      clearTimeout(timer.current);
      stage.current?.look({ from: 0, to: Math.max(run.length_ns, 1) });
    }
    if (!asked || asked === written.current) return;
    written.current = asked;
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
  const actions = new Actions({
    requests, go, stage, tree, closed, folds, pins, range, depth, showsPath, selected, routine, dependencies, processes: run.processes, operation, say, fail: setFailure,
    highlighted: options.routine ? { routine: options.routine } : options.find ? { text: options.find } : null,
  });
  const acting = useRef(actions);
  acting.current = actions;
  const toggle = useCallback((key: string) => acting.current.toggle([key]), []);
  const pin = useCallback((key: string) => acting.current.pin(key), []);
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
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const action = keyAction(event, document.activeElement === elements.restCanvas.current || document.activeElement === elements.pinnedCanvas.current);
      if (!action || !stage.current) return;
      event.preventDefault();
      acting.current.do(action);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);

  return (
    <div class="tl">
      <h1 class="tl-said">Time line</h1>
      <Tools stage={stage} actions={actions} status={status} range={range} depth={depth} showsPath={showsPath} routines={routines} exact={exact} onExact={setExact} />
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
        <Side panel={panel} range={range ?? visible} selected={!!range} depth={depth} details={
          selected && process
            ? <Details key={options.sel} interval={selected} label={label} routine={routine} lane={lane} process={process} dependencies={dependencies} partners={partners} onPartner={(to) => acting.current.meet(to)}
                onOperation={(one) => (operation.current = one)} onJump={() => acting.current.jump()} onGo={(to) => acting.current.follow(to)} />
            : <p class="quiet">Click an interval, or walk to one with the arrow keys.</p>
        } />
      </div>
      <p class="tl-said" aria-live="polite">{said}</p>
      <Tooltip show={showHover} label={(interval) => stage.current?.labels.texts[interval.label] ?? ""} lane={(interval) => leafFor(tree, interval.lane)?.title ?? ""}
        span={() => (stage.current ? stage.current.window.to - stage.current.window.from : 1)} />
    </div>
  );
}

/** The window that an address names, as it is written there; "": none. */
function windowIn({ options: { t0, t1 } }: Address): string {
  return t0 !== undefined && t1 !== undefined && Number(t1) > Number(t0) ? `${t0}/${t1}` : "";
}

function pageColours(): Colours {
  const style = getComputedStyle(document.documentElement), of = (name: string) => style.getPropertyValue(`--${name}`).trim() || "#808080";
  return { paper: of("paper"), ink: of("ink"), quiet: of("quiet"), line: of("line"), raised: of("raised"), accent: of("accent") };
}
