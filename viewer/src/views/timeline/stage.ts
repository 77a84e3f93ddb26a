/* stage.ts - the time line on screen: which part of the run and which lanes, drawn whenever something of it changed. It knows canvases and
 * the model; what is around it (views/timeline/page.tsx) tells it what to show and hears what was done to it. */
import { fitCanvas } from "../../draw/canvas.js";
import { drawAxis } from "../../draw/timeline/axis.js";
import { fitLayer } from "../../draw/timeline/layer.js";
import { drawOverlay, type Outline, type Stretch } from "../../draw/timeline/overlay.js";
import { Painter } from "../../draw/timeline/painter.js";
import { packed, Palette, type Colours } from "../../draw/timeline/palette.js";
import { drawStrip } from "../../draw/timeline/strip.js";
import type { Theme } from "../../draw/colours.js";
import { marksOf, stepAt, type Steps } from "../../model/path.js";
import type { Requests } from "../../model/requests.js";
import { arrowsOf, type Link } from "../../model/timeline/dependencies.js";
import { correlated, hitTest, neighbour, type Interval } from "../../model/timeline/intervals.js";
import { Labels } from "../../model/timeline/labels.js";
import { laneKey, rowAt, rowsBetween, trackAt, trackBox, type Leaf, type Row, type Rows, type TreeNode } from "../../model/timeline/lanes.js";
import { fetchLanes, Loader } from "../../model/timeline/loader.js";
import { columnsOf, deviceKey, meanOf, type Overview } from "../../model/timeline/overview.js";
import { fetchSeries, type SeriesTile } from "../../model/timeline/series.js";
import { stroke, Strokes } from "../../model/timeline/strokes.js";
import { levelOf, TileStore, type Segment, type WantedLane } from "../../model/timeline/tiles.js";
import { axisOf, clamped, fitting, formatPoint, formatRange, moved, revealing, timeAt, xAt, zoomed, type Window } from "../../model/timeline/window.js";
import type { Process } from "../../model/types.js";
import { attachGestures, type GestureTarget } from "./gestures.js";
import { OverviewStrip } from "./strip.js";
import { Tracks, type TrackElements } from "./tracks.js";

export interface BandElements {
  scroll: HTMLElement;
  canvas: HTMLCanvasElement;
}

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

export interface Place {
  lane: string;
  track: number;
  begin: number;
  correlation: number;
}

interface Band extends BandElements {
  rows: Row[];
  painter: Painter | null;
  strokes: Strokes | null;
}

const NAME_ROOM = 34, REACH = 3, AXIS_HEIGHT = 30;
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
  /** By key, and lanes in their order on the page. */
  private readonly rowOf = new Map<string, { band: Band; row: Row }>();
  private shown: Leaf[] = [];
  /** Lanes that have no row, by key: the closed group that they are in. */
  private readonly groupOf = new Map<string, string>();
  /** Of the chosen interval; null: not known yet. */
  private links: Link[] | null = null;
  /** By process. */
  private paths = new Map<number, Steps>();
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
  private lastStatus = "";
  private framesMeasured = 0;

  constructor(private readonly elements: Elements, requests: Requests, private readonly length: number, private readonly listener: Listener) {
    this.window = clamped({ from: 0, to: length }, length);
    this.bands = [{ ...elements.pinned, rows: [], painter: null, strokes: null }, { ...elements.rest, rows: [], painter: null, strokes: null }];
    this.loader = new Loader(this.store, fetchLanes(requests, this.labels), () => this.learned());
    this.seriesLoader = new Loader(this.series, fetchSeries(requests), () => this.draw());
    this.counters = new Tracks(elements.tracks, (over) => attachGestures(over, this.trackGestures()));
    this.strip = new OverviewStrip(elements.overview, length, (window) => this.look(window));
    for (const band of this.bands) {
      const follow = () => this.viewChanged();
      band.scroll.addEventListener("scroll", follow, { passive: true });
      this.detach.push(() => band.scroll.removeEventListener("scroll", follow), attachGestures(band.canvas, this.gestures(band)));
    }
    const scrolled = () => this.viewChanged();
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
    this.rowOf.clear();
    this.groupOf.clear();
    this.shown = [];
    for (const band of this.bands)
      for (const row of band.rows) {
        this.rowOf.set(row.node.key, { band, row });
        if (row.node.kind === "lane") this.shown.push(row.node);
        else if (!row.open) for (const leaf of leavesOf(row.node)) this.groupOf.set(leaf.key, row.node.key);
      }
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
    this.draw();
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
    this.draw();
  }

  /** What the chosen interval waited for, and what waited for it. */
  setLinks(links: Link[] | null): void {
    this.links = links;
    this.draw();
  }

  /** Critical paths that are drawn over the lanes, by process. */
  setPaths(paths: Map<number, Steps>): void {
    this.paths = paths;
    this.draw();
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
    this.draw();
  }

  /** What was looked for and is not chosen yet: a place that has no interval of its own never is. */
  get looked(): Place | null {
    return this.awaited;
  }

  get chosen(): Interval | null {
    return this.selected;
  }

  tracksOf = (leaf: Leaf): number => this.tracks.get(leaf.key) ?? (leaf.lane.traces.ranges ? 2 : 1);

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
    const found = this.rowOf.get(key);
    if (!found) return false;
    const { row, band: { scroll } } = found;
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

  private leafOf(key: string): Leaf | null {
    const node = this.rowOf.get(key)?.row.node;
    return node?.kind === "lane" ? node : null;
  }

  /** Lanes that have a row, in their order on the page. */
  get leaves(): Leaf[] {
    return this.shown;
  }

  next(direction: 1 | -1): Interval | null {
    const from = this.selected, leaf = from && this.leafOf(from.lane);
    return from && leaf ? neighbour(from.lane, this.segments(leaf), from, direction) : null;
  }

  /** The interval nearest to the middle of the window, or to the chosen one, on another lane. */
  onLane(leaf: Leaf): Interval | null {
    const time = this.selected ? Math.min(Math.max((this.selected.begin + this.selected.end) / 2, this.window.from), this.window.to) : (this.window.from + this.window.to) / 2;
    return hitTest(leaf.key, this.segments(leaf), 0, time, this.window.to - this.window.from);
  }

  private settle(): void {
    const place = this.awaited, leaf = place && this.leafOf(place.lane);
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
    this.draw();
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
    this.draw();
  }

  /** The step of the critical path on this lane at this time. */
  private stepUnder(band: Band, x: number, y: number): PathStep | null {
    const node = rowAt(band.rows, y + band.scroll.scrollTop)?.node, steps = node?.kind === "lane" ? this.paths.get(node.process.process) : undefined;
    if (!steps || node?.kind !== "lane") return null;
    const { header } = steps, step = stepAt(steps, timeAt(this.window, this.width, x));
    if (step < 0 || steps.lane[step] !== node.lane.lane) return null;
    return { label: header.strings[steps.label[step]!] ?? "", category: header.categories[steps.category[step]!] ?? "", begin: steps.begin[step]!, end: steps.end[step]! };
  }

  /* ---- drawing ---------------------------------------------------------------------------------------------------------------- */

  private resize(): void {
    this.width = this.elements.rest.canvas.parentElement!.clientWidth;
    for (const canvas of [this.elements.axis, this.elements.overview]) canvas.parentElement!.style.maxWidth = `${this.width}px`; /* as wide as the lanes, which have a scroll bar */
    this.viewChanged();
  }

  private viewChanged(): void {
    this.draw();
    if (!this.width) return;
    this.loader.show({ lanes: this.onScreen(), window: this.window, width: this.width, exact: this.exact });
    this.seriesLoader.show({ lanes: this.counters.keys.map((key) => ({ key, depth: 0 })), window: this.window, width: this.width, exact: this.exact });
  }

  private onScreen(): WantedLane[] {
    const lanes: WantedLane[] = [];
    for (const band of this.bands) {
      const { first, end } = rowsBetween(band.rows, band.scroll.scrollTop, band.scroll.scrollTop + band.scroll.clientHeight);
      for (const { node } of band.rows.slice(first, end))
        if (node.kind === "lane" && Object.keys(node.lane.traces).length) lanes.push({ key: node.key, depth: this.depthOf(node) });
    }
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
    this.draw();
  }

  draw(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const begin = performance.now();
      this.drawNow();
      if (++this.framesMeasured % FRAMES_KEPT === 0) performance.clearMeasures(FRAME);
      performance.measure(FRAME, { start: begin });
    });
  }

  private drawNow(): void {
    if (!this.palette || !this.width) return;
    const status: Status = { busy: this.loader.busy || this.seriesLoader.busy, partial: false, error: this.loader.error ?? this.seriesLoader.error, badTimes: 0 };
    for (const band of this.bands) this.drawBand(band, this.palette, status);
    this.drawTracks(this.palette, status);
    this.drawAxis(this.palette.colours);
    this.drawOverlay(this.palette.colours);
    this.strip.draw(this.window);
    const said = JSON.stringify([status.busy, status.partial, status.badTimes, status.error?.message]);
    if (said !== this.lastStatus) this.listener.status(status);
    this.lastStatus = said;
  }

  private drawBand(band: Band, palette: Palette, status: Status): void {
    const height = band.scroll.clientHeight, ratio = window.devicePixelRatio || 1;
    if (!height) return;
    const context = fitCanvas(band.canvas, this.width, height), { width: across, height: down } = band.canvas;
    if (!band.painter || band.painter.width !== across || band.painter.height !== down) {
      band.painter = new Painter(context, across, down, ratio);
      band.strokes = new Strokes(across);
    }
    const { painter, strokes } = band, top = band.scroll.scrollTop, { first, end } = rowsBetween(band.rows, top, top + height);
    const line = packed(palette.rgbOf(palette.colours.line)), raised = packed(palette.rgbOf(palette.colours.raised));
    painter.begin(palette);
    for (let i = first; i < end; i++) {
      const row = band.rows[i]!, y = Math.round((row.top - top) * ratio), size = Math.round(row.height * ratio);
      if (row.node.kind === "lane") this.drawLane(row, row.node, y, size, painter, strokes!, palette, raised, status);
      else painter.fill(0, y, across, size, raised);
      painter.fill(0, y + size - 1, across, 1, line);
    }
    painter.end(palette, this.labels.texts);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (let i = first; i < end; i++) this.drawClosed(context, band.rows[i]!, band.rows[i]!.top - top, palette);
  }

  private drawTracks(palette: Palette, status: Status): void {
    const level = levelOf(this.window, this.width);
    this.counters.draw(this.window, this.width, this.cursor, palette.theme, palette.colours, (key) => {
      const segments = this.series.segments(key, 0, level, this.window);
      for (const { tile } of segments) status.partial ||= tile.partial;
      return segments;
    });
  }

  private drawLane(row: Row, leaf: Leaf, y: number, size: number, painter: Painter, strokes: Strokes, palette: Palette, raised: number, status: Status): void {
    const ratio = window.devicePixelRatio || 1, segments = this.segments(leaf);
    this.drawUnrecorded(leaf.process, y, size, painter, raised);
    for (const { tile } of segments) status.partial ||= tile.partial;
    status.badTimes += segments[0]?.tile.badTimes ?? 0;
    const shades = palette.shades(this.labels.routines, this.labels.frames);
    for (let track = 0; track < row.tracks; track++) {
      const box = trackBox(row, track)!;
      stroke(strokes, segments, track, this.window, NAME_ROOM * ratio);
      painter.track(strokes, y + Math.round(box.top * ratio), Math.round(box.height * ratio), shades);
    }
  }

  /** Before it began and after it ended there is no process; and it was not recorded all the time. */
  private drawUnrecorded(process: Process, y: number, size: number, painter: Painter, raised: number): void {
    const x = (time: number) => Math.round(Math.min(Math.max(xAt(this.window, painter.width, time - process.origin_ns), 0), painter.width));
    if (process.origin_ns === null || process.begin_ns === null || process.end_ns === null) return;
    painter.fill(0, y, x(process.begin_ns), size, raised);
    painter.fill(x(process.end_ns), y, painter.width - x(process.end_ns), size, raised);
    const unknown: [number, number][] = process.pauses.map((pause) => [pause.from_ns, pause.to_ns]);
    if (process.recorded_ns !== null) unknown.push([process.begin_ns, process.recorded_ns]);
    for (const [from, to] of unknown) if (x(to) - x(from) >= 2) painter.unknown(x(from), y + 2, x(to) - x(from), size - 4);
  }

  /** What is closed shows how busy its devices were. */
  private drawClosed(context: CanvasRenderingContext2D, row: Row, y: number, palette: Palette): void {
    const { node } = row;
    if (node.kind === "lane" || row.open || !this.overview) return;
    const strip = this.busyOf(node);
    if (!strip) return;
    const columns = new Float32Array(this.width);
    columnsOf(strip, this.overview.length, this.window, this.width, columns);
    drawStrip(context, { columns, y: y + 2, height: row.height - 4, colour: palette.colours.accent });
  }

  private busyOf(node: TreeNode): Float32Array | null {
    if (!this.overview || node.kind === "lane" || node.kind === "threads") return null;
    if (node.kind === "device") return this.overview.busy.get(deviceKey(node.process!.process, node.device)) ?? null;
    if (node.kind === "process") return this.overview.busy.get(String(node.process!.process)) ?? null;
    return meanOf(node.children.map((child) => this.busyOf(child)).filter((strip) => strip !== null));
  }

  private drawAxis(colours: Colours): void {
    const context = fitCanvas(this.elements.axis, this.width, AXIS_HEIGHT), axis = axisOf(this.window, this.width);
    const base = axis.base === null ? null : formatPoint(axis.base, this.window.to - this.window.from);
    const range = this.range && { ...this.range, label: formatRange(this.range.from, this.range.to) };
    drawAxis(context, this.width, AXIS_HEIGHT, this.window, axis, base, range, colours);
  }

  private drawOverlay(colours: Colours): void {
    const box = this.elements.overlay.parentElement!.getBoundingClientRect(), height = Math.round(box.height);
    const context = fitLayer(this.elements.overlay, this.width, height), x = (time: number) => xAt(this.window, this.width, time);
    const outlines: Outline[] = [], links: Link[] = [];
    if (this.hovered) outlines.push(...this.outline(this.hovered, box.top, false));
    if (this.selected) {
      outlines.push(...this.outline(this.selected, box.top, true));
      links.push(...(this.links ?? this.correlation(this.selected)));
    }
    const arrows = arrowsOf(links, { width: this.width, x, y: (lane) => this.heightOf(lane, box.top)?.middle ?? null });
    const paths = [...this.paths].map(([process, steps]) => this.stretches(process, steps, box.top));
    drawOverlay(context, {
      width: this.width, height, outlines, arrows, paths, cursor: this.cursor,
      lines: axisOf(this.window, this.width).ticks.map((tick) => x(tick.time)),
      range: this.range && { x0: x(this.range.from), x1: x(this.range.to) },
    }, colours);
  }

  /** Where the track of a lane is on the overlay; null: it is not in sight. */
  private boxOf(lane: string, track: number, top: number): { y0: number; y1: number } | null {
    const found = this.rowOf.get(lane), box = found && trackBox(found.row, Math.min(track, found.row.tracks - 1));
    if (!found || !box) return null;
    const { scroll } = found.band, y0 = found.row.top + box.top - scroll.scrollTop;
    if (y0 + box.height < 0 || y0 > scroll.clientHeight) return null;
    const above = scroll.getBoundingClientRect().top - top;
    return { y0: y0 + above, y1: y0 + box.height + above };
  }

  private outline(interval: Interval, top: number, strong: boolean): Outline[] {
    const box = this.boxOf(interval.lane, interval.track, top);
    const x = (time: number) => xAt(this.window, this.width, time);
    return box ? [{ ...box, x0: x(interval.begin), x1: x(interval.end), strong }] : [];
  }

  /** Where a lane is on the overlay: what it did, else its closed group, else the edge towards which it lies. */
  private heightOf(lane: string, top: number): { middle: number; bottom: number; seen: boolean } | null {
    const found = this.rowOf.get(lane) ?? this.rowOf.get(this.groupOf.get(lane) ?? "");
    if (!found) return null;
    const { row, band: { scroll } } = found, box = trackBox(row, 0) ?? { top: 0, height: row.height }, above = scroll.getBoundingClientRect().top - top;
    const y = row.top + box.top - scroll.scrollTop, middle = y + box.height / 2, edge = Math.min(Math.max(middle, 4), scroll.clientHeight - 4);
    const seen = edge === middle;
    return { middle: edge + above, bottom: (seen ? y + box.height : edge) + above, seen: seen && row.node.kind === "lane" };
  }

  private stretches(process: number, steps: Steps, top: number): Stretch[] {
    const out: Stretch[] = [], places = new Map<number, ReturnType<Stage["heightOf"]>>([[0, null]]);
    for (const { lane, from, to } of marksOf(steps, this.window, this.width)) {
      if (!places.has(lane)) places.set(lane, this.heightOf(laneKey(process, lane), top));
      const place = places.get(lane);
      const x0 = Math.max(xAt(this.window, this.width, from), -10), x1 = Math.min(xAt(this.window, this.width, to), this.width + 10);
      if (place) out.push({ x0, x1, y: place.bottom, seen: place.seen });
    }
    return out;
  }

  /** From the API call to what it enqueued, as long as nothing more is known: where both are drawn. */
  private correlation(interval: Interval): Link[] {
    const leaf = this.leafOf(interval.lane);
    if (!leaf || !interval.correlation || interval.merged) return [];
    const isQueue = leaf.lane.kind === "queue", links: Link[] = [];
    for (const other of this.leaves) {
      if (other.process !== leaf.process || (other.lane.kind === "queue") === isQueue) continue;
      for (const end of correlated(other.key, this.segments(other), this.window, interval.correlation)) {
        const [call, op] = isQueue ? [end, interval] : [interval, end];
        links.push({ from: { lane: call.lane, time: Math.min(call.end, op.begin) }, to: { lane: op.lane, time: op.begin }, strong: true, other: isQueue ? "from" : "to" });
      }
    }
    return links;
  }

  /** The other end of a correlation, where it is in sight. */
  otherEnd(): Interval | null {
    const interval = this.selected, leaf = interval && this.leafOf(interval.lane);
    if (!interval || !leaf || !interval.correlation) return null;
    for (const other of this.leaves)
      if (other.process === leaf.process && (other.lane.kind === "queue") !== (leaf.lane.kind === "queue")) {
        const [found] = correlated(other.key, this.segments(other), this.window, interval.correlation);
        if (found) return found;
      }
    return null;
  }

  get picture(): { rows: Row[]; width: number; window: Window; palette: Palette; segments: (leaf: Leaf) => Segment[] } | null {
    if (!this.palette) return null;
    const band = this.bands[1], top = band.scroll.scrollTop, { first, end } = rowsBetween(band.rows, top, top + band.scroll.clientHeight);
    return { rows: [...this.bands[0].rows, ...band.rows.slice(first, end)], width: this.width, window: this.window, palette: this.palette,
             segments: (leaf) => this.segments(leaf) };
  }
}

function leavesOf(node: TreeNode): Leaf[] {
  return node.kind === "lane" ? [node] : node.children.flatMap(leavesOf);
}

export function placeOf(interval: Interval): Place {
  return { lane: interval.lane, track: interval.track, begin: interval.begin, correlation: interval.correlation };
}

export function formatPlace(place: Place): string {
  return `${place.lane}:${place.track}:${place.begin}:${place.correlation}`;
}

export function parsePlace(text: string | undefined): Place | null {
  const numbers = text?.split(":").map(Number);
  if (!numbers || numbers.length !== 5 || numbers.some((n) => !Number.isFinite(n) || n < 0)) return null;
  const [process, lane, track, begin, correlation] = numbers as [number, number, number, number, number];
  return { lane: laneKey(process, lane), track, begin, correlation };
}
