/* tracks.ts - counters under the lanes, with uPlot: its plot begins and ends where the lanes do, and its window is theirs. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { lineColourOf, type Theme } from "../../draw/colours.js";
import type { Colours } from "../../draw/timeline/palette.js";
import { binAt, binWords, formatValue, isShare, pointsOf, unitWords, type Series, type SeriesTile } from "../../model/timeline/series.js";
import type { Segment } from "../../model/timeline/tiles.js";
import { timeAt, type Window } from "../../model/timeline/window.js";

export const TRACK_PLOT_HEIGHT = 60;
const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7, 1e8, 1e9];

export interface TrackElements {
  series: Series;
  /** What holds the plot, what the pointer is over, as wide as the lanes, and where the value under it is said. */
  plot: HTMLElement;
  over: HTMLElement;
  said: HTMLElement;
}

interface Track extends TrackElements {
  chart: uPlot | null;
  names: number;
  width: number;
}

export class Tracks {
  private tracks: Track[] = [];

  private readonly detach = new Map<Track, () => void>();

  constructor(readonly scroll: HTMLElement, private readonly attach: (over: HTMLElement) => () => void) {}

  set(elements: TrackElements[]): void {
    const kept = new Map(this.tracks.map((track) => [track.plot, track]));
    this.tracks = elements.map((one) => {
      const known = kept.get(one.plot);
      kept.delete(one.plot);
      if (known) return known;
      const made = { ...one, chart: null, names: 0, width: 0 };
      this.detach.set(made, this.attach(made.over));
      return made;
    });
    for (const track of kept.values()) {
      this.end(track);
      this.detach.get(track)?.();
      this.detach.delete(track);
    }
  }

  stop(): void {
    this.set([]);
  }

  /** Colours changed: pictures are made anew. */
  renew(): void {
    for (const track of this.tracks) this.end(track);
  }

  private end(track: Track): void {
    track.chart?.destroy();
    track.chart = null;
  }

  inSight(): Track[] {
    const { scrollTop: top, clientHeight: height } = this.scroll;
    return this.tracks.filter(({ plot }) => {
      const row = plot.parentElement!;
      return row.offsetTop + row.offsetHeight > top && row.offsetTop < top + height;
    });
  }

  /** Of those in sight. */
  get keys(): string[] {
    return this.inSight().map((track) => track.series.key);
  }

  /** True: of some not all was read. */
  draw(window: Window, width: number, theme: Theme, colours: Colours, segments: (key: string) => Segment<SeriesTile>[]): boolean {
    let partial = false;
    for (const track of this.inSight()) {
      const names = track.plot.clientWidth - width, known = segments(track.series.key);
      partial ||= known.some(({ tile }) => tile.partial);
      if (names < 0) continue;
      if (!track.chart || track.names !== names) {
        this.end(track);
        track.chart = makeChart(track, names, width, theme, colours);
      } else if (track.width !== width) track.chart.setSize({ width: names + width, height: TRACK_PLOT_HEIGHT });
      track.names = names;
      track.width = width;
      const { time, min, max, mean } = pointsOf(known, window), chart = track.chart;
      chart.batch(() => {
        chart.setData(isShare(track.series) ? [time, mean] : [time, max, min], false);
        chart.setScale("x", { min: window.from, max: window.to });
      });
      track.plot.parentElement!.classList.toggle("tl-unread", known.some(({ tile }) => tile.partial && !tile.max.length));
    }
    return partial;
  }

  /** Beside each name the value at the cursor. */
  say(window: Window, width: number, cursor: number | null, segments: (key: string) => Segment<SeriesTile>[]): void {
    for (const track of this.inSight()) {
      const words = cursor === null ? unitWords(track.series) : binWords(track.series, binAt(segments(track.series.key), timeAt(window, width, cursor)));
      if (track.said.textContent !== words) track.said.textContent = words;
    }
  }
}

function makeChart(track: Track, names: number, width: number, theme: Theme, colours: Colours): uPlot {
  const { series } = track, colour = lineColourOf(series.name, theme), share = isShare(series);
  const steps = uPlot.paths.stepped!({ align: 1 }), line = { stroke: colours.line, width: 1 };
  const drawn = { paths: steps, points: { show: false }, width: 1 };
  const options: uPlot.Options = {
    width: names + width,
    height: TRACK_PLOT_HEIGHT,
    padding: [7, 0, 7, 0],
    legend: { show: false },
    cursor: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: { time: false, auto: false },
      y: { range: (_chart, _low, high) => [0, share ? 1 : Math.max((high ?? 0) * 1.08, series.unit === "bytes" ? 1 : 1.08)] },
    },
    axes: [
      { show: false },
      { size: names, gap: 4, space: 18, stroke: colours.quiet, font: "10px system-ui, sans-serif", grid: line, ticks: { ...line, size: 4 },
        ...(series.unit === "operations" ? { incrs: COUNTS } : {}), values: (_chart, values) => values.map((value) => formatValue(series, value)) },
    ],
    series: share
      ? [{}, { ...drawn, stroke: colour, fill: alpha(colour, 0.45) }]
      : [{}, { ...drawn, stroke: colour, fill: alpha(colour, 0.24) }, { ...drawn, width: 0, fill: alpha(colour, 0.28) }], /* the least lies on the most */
  };
  return new uPlot(options, [[], [], []] as unknown as uPlot.AlignedData, track.plot);
}

/** Of the colours that routines have (draw/colours.ts). */
function alpha(colour: string, share: number): string {
  return colour.replace(")", ` / ${share})`);
}
