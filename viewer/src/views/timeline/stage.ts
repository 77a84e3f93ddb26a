/* stage.ts - the time line on screen: which part of the run and which lanes, drawn whenever something of it changed. It knows canvases and
 * the model; what is around it (views/timeline/page.tsx) tells it what to show and hears what was done to it. */
import { fitCanvas } from "../../draw/canvas.js";
import type { Theme } from "../../draw/colours.js";
import { drawAxis } from "../../draw/timeline/axis.js";
import { fitLayer } from "../../draw/timeline/layer.js";
import { drawOverlay } from "../../draw/timeline/overlay.js";
import { Palette, type Colours } from "../../draw/timeline/palette.js";
import { stepAt, type Steps } from "../../model/path.js";
import type { Requests } from "../../model/requests.js";
import type { Link } from "../../model/timeline/dependencies.js";
import { correlated, hitTest, neighbour, type Interval } from "../../model/timeline/intervals.js";
import { Labels } from "../../model/timeline/labels.js";
import { rowAt, trackAt, type Leaf, type Row, type Rows } from "../../model/timeline/lanes.js";
import { fetchLanes, Loader } from "../../model/timeline/loader.js";
import type { Overview } from "../../model/timeline/overview.js";
import { fetchSeries, pointsOf, type Points, type Series, type SeriesTile } from "../../model/timeline/series.js";
import { Places, Sight, type Over, type Pane } from "../../model/timeline/sight.js";
import type { Place } from "../../model/timeline/place.js";
import { levelOf, TileStore, type Segment, type WantedLane } from "../../model/timeline/tiles.js";
import { axisOf, clamped, fitting, formatPoint, formatRange, moved, revealing, timeAt, zoomed, type Window } from "../../model/timeline/window.js";
import { Band, useOf, type BandElements, type Drawn, type Scene } from "./band.js";
import { attachGestures, type GestureTarget } from "./gestures.js";
import { OverviewStrip } from "./strip.js";
import { Tracks, type TrackElements } from "./tracks.js";

export interface Elements {
  axis: HTMLCanvasElement;
  overview: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
  pinned: BandElements;
  rest: BandElements;
  tracks: HTMLElement;
}

export interface Hover {
  /** null: there is none, but a step of a path. */
  interval: Interval | null;
  step: PathStep | null;
  x: number;
  y: number;
}

/** A step of the critical path. */
export interface PathStep {
  label: string;
  category: string;
  begin: number;
  end: number;
}

export interface Status {
  busy: boolean;
  partial: boolean;
  error: Error | null;
  badTimes: number;
}

/** What was done on the stage. */
export interface Listener {
  window(window: Window): void;
  select(interval: Interval | null): void;
  range(range: Window | null, done: boolean): void;
  hover(hover: Hover | null): void;
  status(status: Status): void;
  /** A lane turned out to have more tracks of ranges. */
  tracks(): void;
}

export interface StagePicture extends Scene {
  pinned: Row[];
  rest: Row[];
  use(row: Row): Float32Array | null;
  over(panes: Pane[], height: number): Over;
  counters: { series: Series; points: Points }[];
}

/** What is drawn for itself: a frame draws only what something changed of. */
enum Part {
  Lanes = 1,
  Counters = 2,
  Axis = 4, /* and the strip above it */
  Over = 8, /* what lies over lanes and counters */
  All = 15,
}

const REACH = 3, AXIS_HEIGHT = 30;
/** What a frame took, as the browser's own measure: benchmarks read it. */
const FRAME = "timeline-frame", FRAMES_KEPT = 1000;

export class Stage {
  readonly store = new TileStore();
  readonly labels = new Labels();
  window: Window;
  private width = 0;
  private readonly bands: [Band, Band];
  private readonly loader: Loader;
  private readonly series = new TileStore<SeriesTile>(64e6);
  private readonly seriesLoader: Loader<SeriesTile>;
  private readonly counters: Tracks;
  private readonly tracks = new Map<string, number>();
  private readonly detach: (() => void)[] = [];
  private readonly strip: OverviewStrip;
  private palette: Palette | null = null;
  private places = new Places([]);
  /** Of the chosen interval; null: not known yet. */
  private links: Link[] | null = null;
  /** By process. */
  private paths: Steps[] = [];
  private overview: Overview | null = null;
  private depth = 0;
  private exact = false;
  private range: Window | null = null;
  private selected: Interval | null = null;
  private awaited: Place | null = null;
  private hovered: Interval | null = null;
  private cursor: number | null = null;
  private routines = new Set<string>();
  private frame = 0;
  private stale = 0;
  /** Of what was drawn last. */
  private drawnLanes: Drawn = { partial: false, badTimes: 0 };
  private drawnCounters = { partial: false };
  private lastStatus = "";
  private framesMeasured = 0;

  constructor(private readonly elements: Elements, requests: Requests, private readonly length: number, private readonly listener: Listener) {
    this.window = clamped({ from: 0, to: length }, length);
    this.bands = [new Band(elements.pinned.scroll, elements.pinned.canvas), new Band(elements.rest.scroll, elements.rest.canvas)];
    this.loader = new Loader(this.store, fetchLanes(requests, this.labels), () => this.learned());
    this.seriesLoader = new Loader(this.series, fetchSeries(requests), () => this.draw(Part.Counters));
    this.counters = new Tracks(elements.tracks, (over) => attachGestures(over, this.trackGestures()));
    this.strip = new OverviewStrip(elements.overview, length, (window) => this.look(window));
    for (const band of this.bands) {
      const follow = () => this.viewChanged(Part.Lanes | (this.selected || this.hovered || this.paths.length ? Part.Over : 0));
      band.scroll.addEventListener("scroll", follow, { passive: true });
      this.detach.push(() => band.scroll.removeEventListener("scroll", follow), attachGestures(band.canvas, this.gestures(band)));
    }
    const scrolled = () => this.viewChanged(Part.Counters);
    elements.tracks.addEventListener("scroll", scrolled, { passive: true });
    this.detach.push(attachGestures(elements.axis, this.gestures(null)), () => this.strip.stop(), () => this.counters.stop(),
                     () => elements.tracks.removeEventListener("scroll", scrolled));
    const observer = new ResizeObserver(() => this.resize());
    for (const band of this.bands) observer.observe(band.scroll);
    this.detach.push(() => observer.disconnect());
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.loader.stop();
    this.seriesLoader.stop();
    for (const detach of this.detach) detach();
  }

  /* ---- what to show ---------------------------------------------------------------------------------------- */

  setRows(rows: Rows): void {
    this.bands[0].rows = rows.pinned;
    this.bands[1].rows = rows.rest;
    this.places = new Places([rows.pinned, rows.rest]);
    if (this.awaited) this.settle();
    this.viewChanged();
  }

  setColours(theme: Theme, colours: Colours): void {
    this.palette = new Palette(theme, colours, (label) => this.routines.size > 0 && !this.routines.has(this.labels.routines[label]!));
    this.strip.setColours(colours);
    this.counters.renew();
    this.draw();
  }

  /** Counters that are open. */
  setTracks(tracks: TrackElements[]): void {
    this.counters.set(tracks);
    this.viewChanged();
  }

  setRoutines(routines: Set<string>): void {
    this.routines = routines;
    if (this.palette) this.setColours(this.palette.theme, this.palette.colours);
  }

  setOverview(overview: Overview): void {
    this.overview = overview;
    this.strip.setOverview(overview);
    this.draw(Part.Lanes | Part.Axis);
  }

  setDepth(depth: number): void {
    if (depth === this.depth) return;
    this.depth = depth;
    this.viewChanged();
  }

  setExact(exact: boolean): void {
    if (exact === this.exact) return;
    this.exact = exact;
    this.viewChanged();
  }

  setRange(range: Window | null): void {
    this.range = range;
    this.strip.setRange(range);
    this.draw(Part.Axis | Part.Over);
  }

  /** What the chosen interval waited for, and what waited for it. */
  setLinks(links: Link[] | null): void {
    this.links = links;
    this.draw(Part.Over);
  }

  /** Critical paths that are drawn over the lanes. */
  setPaths(paths: Steps[]): void {
    this.paths = paths;
    this.draw(Part.Over);
  }

  /** Of which as yet only its place is known: it is chosen once it is read. */
  await(place: Place | null): void {
    if (!place) {
      if (this.selected || this.awaited) this.choose(null, false);
      return;
    }
    const { selected } = this;
    if (selected && selected.lane === place.lane && selected.track === place.track && selected.begin === place.begin) return;
    this.awaited = place;
    this.settle();
  }

  look(window: Window): void {
    this.window = clamped(window, this.length);
    this.listener.window(this.window);
    this.viewChanged();
  }

  choose(interval: Interval | null, tell = true): void {
    this.selected = interval;
    this.links = null;
    this.awaited = null;
    if (tell) this.listener.select(interval);
    this.draw(Part.Over);
  }

  /** What was looked for and is not chosen yet: a place that has no interval of its own never is. */
  get looked(): Place | null {
    return this.awaited;
  }

  get chosen(): Interval | null {
    return this.selected;
  }

  tracksOf = (leaf: Leaf): number => this.tracks.get(leaf.key) ?? (leaf.lane.traces.ranges || leaf.lane.traces.messages ? 2 : 1);

  /* ---- moving --------------------------------------------------------------------------------------------------- */

  zoomBy(factor: number, x: number | null = null): void {
    const at = x ?? (this.cursor !== null ? this.cursor : this.width / 2);
    this.look(zoomed(this.window, this.length, timeAt(this.window, this.width, at), factor));
  }

  panBy(share: number): void {
    this.look(moved(this.window, this.length, (this.window.to - this.window.from) * share));
  }

  lookAll(): void {
    this.look({ from: 0, to: this.length });
  }

  lookAt(begin: number, end: number): void {
    this.look(fitting(this.length, begin, end));
  }

  reveal(begin: number, end: number): void {
    this.look(revealing(this.window, this.length, begin, end));
  }

  /** Scrolls so that the lane can be seen; false: it has no row. */
  revealLane(key: string): boolean {
    const found = this.places.rows.get(key);
    if (!found) return false;
    const { row } = found, { scroll } = this.bands[found.pane]!;
    if (row.top < scroll.scrollTop) scroll.scrollTop = row.top - 8;
    else if (row.top + row.height > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = row.top + row.height - scroll.clientHeight + 8;
    return true;
  }

  /* ---- intervals ----------------------------------------------------------------------------------------------------- */

  private depthOf(leaf: Leaf): number {
    return leaf.lane.kind === "thread" ? this.depth : 0;
  }

  private segments(leaf: Leaf): Segment[] {
    return this.store.segments(leaf.key, this.depthOf(leaf), levelOf(this.window, this.width), this.window);
  }

  /** Lanes that have a row, in their order on the page. */
  get leaves(): Leaf[] {
    return this.places.leaves;
  }

  next(direction: 1 | -1): Interval | null {
    const from = this.selected, leaf = from && this.places.leaf(from.lane);
    return from && leaf ? neighbour(from.lane, this.segments(leaf), from, direction) : null;
  }

  /** The interval nearest to the middle of the window, or to the chosen one, on another lane. */
  onLane(leaf: Leaf): Interval | null {
    const time = this.selected ? Math.min(Math.max((this.selected.begin + this.selected.end) / 2, this.window.from), this.window.to) : (this.window.from + this.window.to) / 2;
    return hitTest(leaf.key, this.segments(leaf), 0, time, this.window.to - this.window.from);
  }

  private settle(): void {
    const place = this.awaited, leaf = place && this.places.leaf(place.lane);
    if (!place || !leaf) return;
    const found = hitTest(place.lane, this.segments(leaf), place.track, place.begin, 0);
    if (!found || found.merged || found.begin > place.begin || found.end < place.begin) return;
    const isPiece = found.kind === "call" || found.kind === "wait" || found.kind === "sample" || found.kind === "off_cpu";
    if (found.begin === place.begin || isPiece || (place.correlation > 0 && found.correlation === place.correlation)) this.choose(found);
  }

  /* ---- what is done to it ------------------------------------------------------------------------------------------------ */

  private gestures(band: Band | null): GestureTarget {
    return {
      selects: !band,
      pan: (dx, dy) => {
        if (band) band.scroll.scrollTop -= dy;
        this.look(moved(this.window, this.length, (-dx * (this.window.to - this.window.from)) / this.width));
      },
      zoom: (x, factor) => this.zoomBy(factor, x),
      range: (x0, x1, done) => {
        const ends = [x0, x1].map((x) => Math.min(Math.max(timeAt(this.window, this.width, x), 0), this.length)).sort((a, b) => a - b);
        const range = x0 === x1 ? null : { from: Math.round(ends[0]!), to: Math.round(ends[1]!) };
        this.setRange(range && range.to > range.from ? range : null);
        this.listener.range(this.range, done);
      },
      choose: (x, y) => {
        band?.canvas.focus({ preventScroll: true });
        if (band) this.choose(this.at(band, x, y));
      },
      open: (x, y) => {
        const interval = band && this.at(band, x, y);
        if (interval) this.lookAt(interval.begin, Math.max(interval.end, interval.begin + 1));
        else if (!band) this.lookAll();
      },
      hover: (x, y) => this.hover(band, x, y),
      leave: () => this.hover(null, null, 0),
      scrolls: () => !!band && band.scroll.scrollHeight > band.scroll.clientHeight + 1,
    };
  }

  /** As on the lanes; but there is nothing to choose. */
  private trackGestures(): GestureTarget {
    const { scroll } = this.counters, target = this.gestures(null);
    return {
      ...target,
      selects: false,
      pan: (dx, dy) => {
        scroll.scrollTop -= dy;
        target.pan(dx, dy);
      },
      choose: () => undefined,
      open: () => undefined,
      scrolls: () => scroll.scrollHeight > scroll.clientHeight + 1,
    };
  }

  /** Moves the place whose values are said; the time that it is at now. */
  point(direction: 1 | -1): number {
    const step = Math.max(Math.round(this.width / 100), 1), from = this.cursor ?? (direction > 0 ? -step : this.width);
    this.cursor = Math.min(Math.max(from + direction * step, 0), this.width - 1);
    this.draw(Part.Over);
    return timeAt(this.window, this.width, this.cursor);
  }

  private at(band: Band, x: number, y: number): Interval | null {
    const inRows = y + band.scroll.scrollTop, row = rowAt(band.rows, inRows);
    if (!row || row.node.kind !== "lane") return null;
    const track = trackAt(row, inRows - row.top);
    if (track < 0) return null;
    const reach = (REACH * (this.window.to - this.window.from)) / this.width;
    return hitTest(row.node.key, this.segments(row.node), track, timeAt(this.window, this.width, x), reach);
  }

  private hover(band: Band | null, x: number | null, y: number): void {
    const interval = band && x !== null ? this.at(band, x, y) : null, step = band && x !== null ? this.stepUnder(band, x, y) : null;
    this.cursor = x;
    this.hovered = interval;
    const box = band?.canvas.getBoundingClientRect();
    this.listener.hover((interval || step) && box && x !== null ? { interval, step, x: box.left + x, y: box.top + y } : null);
    this.draw(Part.Over);
  }

  /** The step of the critical path on this lane at this time. */
  private stepUnder(band: Band, x: number, y: number): PathStep | null {
    const node = rowAt(band.rows, y + band.scroll.scrollTop)?.node;
    if (node?.kind !== "lane") return null;
    for (const steps of this.paths) {
      const { header } = steps, step = stepAt(steps, timeAt(this.window, this.width, x));
      if (step >= 0 && steps.process[step] === node.process.process && steps.lane[step] === node.lane.lane)
        return { label: header.strings[steps.label[step]!] ?? "", category: header.categories[steps.category[step]!] ?? "", begin: steps.begin[step]!, end: steps.end[step]! };
    }
    return null;
  }

  /* ---- drawing ---------------------------------------------------------------------------------------------------------------- */

  private resize(): void {
    this.width = this.elements.rest.canvas.parentElement!.clientWidth;
    for (const canvas of [this.elements.axis, this.elements.overview]) canvas.parentElement!.style.maxWidth = `${this.width}px`; /* as wide as the lanes, which have a scroll bar */
    this.viewChanged();
  }

  private viewChanged(parts: number = Part.All): void {
    this.draw(parts);
    if (!this.width) return;
    this.loader.show({ lanes: this.onScreen(), window: this.window, width: this.width, exact: this.exact });
    this.seriesLoader.show({ lanes: this.counters.keys.map((key) => ({ key, depth: 0 })), window: this.window, width: this.width, exact: this.exact });
  }

  private onScreen(): WantedLane[] {
    const lanes: WantedLane[] = [];
    for (const band of this.bands)
      for (const { node } of band.inSight)
        if (node.kind === "lane" && Object.keys(node.lane.traces).length) lanes.push({ key: node.key, depth: this.depthOf(node) });
    return lanes;
  }

  private learned(): void {
    let grew = false;
    for (const leaf of this.leaves)
      for (const { tile } of this.segments(leaf)) {
        if (tile.tracks <= this.tracksOf(leaf)) continue;
        this.tracks.set(leaf.key, tile.tracks);
        grew = true;
      }
    if (this.awaited) this.settle();
    if (grew) this.listener.tracks();
    this.draw(Part.Lanes | Part.Over);
  }

  draw(parts: number = Part.All): void {
    this.stale |= parts;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const begin = performance.now();
      this.drawNow();
      if (++this.framesMeasured % FRAMES_KEPT === 0) performance.clearMeasures(FRAME);
      performance.measure(FRAME, { start: begin });
    });
  }

  /** null: it is not known yet how large it is, or in which colours. */
  private scene(): Scene | null {
    const { window, width, palette, labels, overview } = this;
    return palette && width ? { window, width, palette, labels, overview, segments: (leaf) => this.segments(leaf) } : null;
  }

  private drawNow(): void {
    const scene = this.scene(), parts = this.stale;
    if (!scene) return;
    const { colours } = scene.palette;
    this.stale = 0;
    if (parts & Part.Lanes) this.drawLanes(scene);
    if (parts & Part.Counters) this.drawCounters(scene.palette);
    this.counters.say(this.window, this.width, this.cursor, (key) => this.counterSegments(key));
    if (parts & Part.Axis) {
      this.drawAxis(colours);
      this.strip.draw(this.window);
    }
    if (parts & Part.Over) this.drawOverlay(colours);
    this.tellStatus();
  }

  private tellStatus(): void {
    const { loader, seriesLoader, drawnLanes } = this;
    const status: Status = {
      busy: loader.busy || seriesLoader.busy, partial: drawnLanes.partial || this.drawnCounters.partial,
      error: loader.error ?? seriesLoader.error, badTimes: drawnLanes.badTimes,
    };
    const said = JSON.stringify([status.busy, status.partial, status.badTimes, status.error?.message]);
    if (said !== this.lastStatus) this.listener.status(status);
    this.lastStatus = said;
  }

  private drawLanes(scene: Scene): void {
    this.drawnLanes = { partial: false, badTimes: 0 };
    for (const band of this.bands) {
      const { partial, badTimes } = band.draw(scene);
      this.drawnLanes.partial ||= partial;
      this.drawnLanes.badTimes += badTimes;
    }
  }

  private drawCounters(palette: Palette): void {
    this.drawnCounters.partial = this.counters.draw(this.window, this.width, palette.theme, palette.colours, (key) => this.counterSegments(key));
  }

  private counterSegments(key: string): Segment<SeriesTile>[] {
    return this.series.segments(key, 0, levelOf(this.window, this.width), this.window);
  }

  private drawAxis(colours: Colours): void {
    const context = fitCanvas(this.elements.axis, this.width, AXIS_HEIGHT), axis = axisOf(this.window, this.width);
    const base = axis.base === null ? null : formatPoint(axis.base, this.window.to - this.window.from);
    const range = this.range && { ...this.range, label: formatRange(this.range.from, this.range.to) };
    drawAxis(context, this.width, AXIS_HEIGHT, this.window, axis, base, range, colours);
  }

  private drawOverlay(colours: Colours): void {
    const box = this.elements.overlay.parentElement!.getBoundingClientRect(), height = Math.round(box.height);
    const over = this.over(this.bands.map((band) => band.pane(box.top)), height, this.hovered);
    drawOverlay(fitLayer(this.elements.overlay, this.width, height), { ...over, cursor: this.cursor }, colours);
  }

  private over(panes: Pane[], height: number, hovered: Interval | null): Over {
    const sight = new Sight(this.places, panes, this.window, this.width), { selected, range } = this;
    return {
      width: this.width, height, cursor: null,
      lines: axisOf(this.window, this.width).ticks.map((tick) => sight.x(tick.time)),
      range: range && { x0: sight.x(range.from), x1: sight.x(range.to) },
      paths: this.paths.map((steps) => sight.path(steps)),
      outlines: [...(hovered ? sight.outline(hovered, false) : []), ...(selected ? sight.outline(selected, true) : [])],
      arrows: selected ? sight.arrows(this.links ?? this.correlation(selected)) : [],
    };
  }

  /** The other ends of a correlation: of an API call what it enqueued, of an operation its API call; where they are in sight. */
  private otherEnds(interval: Interval): Interval[] {
    const leaf = this.places.leaf(interval.lane);
    if (!leaf || !interval.correlation) return [];
    const others = this.leaves.filter((other) => other.process === leaf.process && (other.lane.kind === "queue") !== (leaf.lane.kind === "queue"));
    return others.flatMap((other) => correlated(other.key, this.segments(other), this.window, interval.correlation));
  }

  otherEnd(): Interval | null {
    return (this.selected && this.otherEnds(this.selected)[0]) ?? null;
  }

  /** From the API call to what it enqueued, as long as nothing more is known. */
  private correlation(interval: Interval): Link[] {
    const isQueue = this.places.leaf(interval.lane)?.lane.kind === "queue";
    return (interval.merged ? [] : this.otherEnds(interval)).map((end) => {
      const [call, op] = isQueue ? [end, interval] : [interval, end];
      return { from: { lane: call.lane, time: Math.min(call.end, op.begin) }, to: { lane: op.lane, time: op.begin }, strong: true, other: isQueue ? "from" : "to" };
    });
  }

  /** What is on screen, for a file: null: nothing is drawn yet. */
  get picture(): StagePicture | null {
    const scene = this.scene(), [pinned, rest] = this.bands;
    if (!scene) return null;
    return {
      ...scene, pinned: pinned.rows, rest: rest.inSight,
      use: (row) => useOf(scene.overview, row, scene.window, scene.width),
      over: (panes, height) => this.over(panes, height, null),
      counters: this.counters.inSight().map(({ series }) => ({ series, points: pointsOf(this.counterSegments(series.key), this.window) })),
    };
  }
}
