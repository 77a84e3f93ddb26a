/* tracklist.tsx - counters under the lanes, in groups that are opened and closed as those of lanes: their names, and the places in which
 * tracks.ts draws them. */
import { memo } from "preact/compat";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ALL_SERIES, type Series, type SeriesGroup } from "../../model/timeline/series.js";
import type { TrackElements } from "./tracks.js";

interface Props {
  groups: SeriesGroup[];
  closed: Set<string>;
  length: number;
  onToggle(key: string): void;
  /** What is open, whenever that changed. */
  onTracks(tracks: TrackElements[]): void;
  /** With an arrow key: the value to the left or right of it is said. */
  onStep(direction: 1 | -1): void;
}

export const TrackList = memo(function TrackList({ groups, closed, length, onToggle, onTracks, onStep }: Props) {
  const box = useRef<HTMLDivElement>(null), all = !closed.has(ALL_SERIES);
  const shown = all ? groups.filter((group) => !closed.has(group.key)) : [];
  useLayoutEffect(() => {
    const series = new Map(shown.flatMap((group) => group.series).map((one) => [one.key, one]));
    onTracks(
      [...box.current!.querySelectorAll<HTMLElement>("[data-series]")].map((plot) => ({
        series: series.get(plot.dataset.series!)!, plot, over: plot.parentElement!.querySelector<HTMLElement>(".tl-track-over")!, said: plot.parentElement!.querySelector<HTMLElement>("output")!,
      })),
    );
  });
  return (
    <div ref={box}>
      <Head title="Counters" detail="memory, operations, use" open={all} depth={0} name={ALL_SERIES} onToggle={onToggle} />
      {all && groups.map((group) => (
        <div key={group.key}>
          <Head title={group.title} detail={group.detail} open={!closed.has(group.key)} depth={1} name={group.key} onToggle={onToggle} />
          {!closed.has(group.key) && group.series.map((series) => <Track key={series.key} series={series} group={group.title} length={length} onStep={onStep} />)}
        </div>
      ))}
    </div>
  );
});

function Head({ title, detail, open, depth, name, onToggle }: { title: string; detail: string; open: boolean; depth: number; name: string; onToggle(key: string): void }) {
  return (
    <div class="tl-group tl-track-group" style={{ paddingLeft: `${4 + depth * 10}px` }}>
      <button type="button" aria-expanded={open} title={[title, detail].filter(Boolean).join(" · ")} onClick={() => onToggle(name)}>
        <span aria-hidden="true" class="tl-fold">{open ? "▾" : "▸"}</span>
        <b>{title}</b> <span class="quiet">{detail}</span>
      </button>
    </div>
  );
}

function Track({ series, group, length, onStep }: { series: Series; group: string; length: number; onStep(direction: 1 | -1): void }) {
  const said = useRef<HTMLOutputElement>(null);
  return (
    <div class="tl-track">
      <div class="tl-track-plot" data-series={series.key} />
      <div class="tl-track-over" />
      <div class="tl-track-name" tabIndex={0} role="slider" aria-label={`${series.name}, ${group}: value at a time`} aria-valuemin={0} aria-valuemax={length} aria-valuenow={0}
        title={`${series.name}\nPoint at it for the value; with the arrow keys, from the name.`}
        onKeyDown={(event) => {
          const direction = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
          if (!direction) return;
          event.preventDefault();
          onStep(direction);
        }}>
        <span>{series.name}</span>
        <output ref={said} class="quiet" />
      </div>
    </div>
  );
}
