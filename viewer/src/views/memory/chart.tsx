/* chart.tsx - memory over time: call paths that stand on each other, and the instant that is chosen. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { colourOf, type Theme } from "../../draw/colours.js";
import { stackedLines, type MemorySpace } from "../../model/memory.js";
import { formatBytes, formatTime } from "../../model/units.js";

interface ChartProps {
  space: MemorySpace;
  keys: string[];
  theme: Theme;
  /** Since the begin of the process. */
  at_ns: number;
  onChoose(at_ns: number): void;
}

export const OTHERS = { light: "#b4b4be", dark: "#5a5a66" };

export function MemoryChart({ space, keys, theme, at_ns, onChoose }: ChartProps) {
  const box = useRef<HTMLDivElement>(null), chart = useRef<uPlot | null>(null);
  const now = useRef({ at_ns, onChoose });
  now.current = { at_ns, onChoose };
  useEffect(() => {
    const place = box.current!;
    chart.current = makeChart(place, space, keys, theme, now);
    const observer = new ResizeObserver(() => chart.current?.setSize({ width: Math.max(place.clientWidth, 100), height: HEIGHT }));
    observer.observe(place);
    return () => {
      observer.disconnect();
      chart.current?.destroy();
      chart.current = null;
    };
  }, [space, keys, theme.dark]);
  useEffect(() => chart.current?.redraw(false), [at_ns]);
  return (
    <div
      ref={box}
      class="memory-chart"
      tabIndex={0}
      role="slider"
      aria-label="Memory over time; the instant that the table shows"
      aria-valuemin={0}
      aria-valuemax={space.end_ns - space.begin_ns}
      aria-valuenow={at_ns}
      aria-valuetext={formatTime(at_ns)}
      onKeyDown={(event) => {
        const times = space.series.at_ns.map((time) => time - space.begin_ns);
        const next = event.key === "ArrowRight" ? times.find((time) => time > at_ns) : event.key === "ArrowLeft" ? [...times].reverse().find((time) => time < at_ns) : undefined;
        if (next === undefined) return;
        event.preventDefault();
        onChoose(next);
      }}
    />
  );
}

const HEIGHT = 260;

function makeChart(place: HTMLElement, space: MemorySpace, keys: string[], theme: Theme, now: { current: { at_ns: number; onChoose(at_ns: number): void } }): uPlot {
  const style = getComputedStyle(place), ink = style.getPropertyValue("--quiet").trim() || "#62626b", line = style.getPropertyValue("--line").trim() || "#d9d9e0";
  const accent = style.getPropertyValue("--accent").trim() || "#2456c7";
  const lines = stackedLines(space).reverse(), end = space.end_ns - space.begin_ns;
  const times = [...space.series.at_ns.map((at) => at - space.begin_ns), end];
  const steps = uPlot.paths.stepped!({ align: 1 });
  const fill = (site: number) => (site < 0 ? (theme.dark ? OTHERS.dark : OTHERS.light) : colourOf(keys[site] ?? "", theme));
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const options: uPlot.Options = {
    width: Math.max(place.clientWidth, 100),
    height: HEIGHT,
    legend: { show: false },
    scales: { x: { time: false, range: [0, Math.max(end, 1)] }, y: { range: (_chart, _low, high) => [0, Math.max(high * 1.05, 1)] } },
    axes: [
      { ...axis, values: (_chart, values) => values.map((value) => formatTime(value)) },
      { ...axis, size: 76, values: (_chart, values) => values.map((value) => formatBytes(value)) },
    ],
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    series: [{}, ...lines.map(({ site }) => ({ paths: steps, fill: fill(site), stroke: fill(site), width: 1, points: { show: false } }))],
    hooks: {
      ready: [
        (chart) =>
          chart.over.addEventListener("click", () => {
            if (chart.cursor.left !== undefined && chart.cursor.left >= 0) now.current.onChoose(Math.round(chart.posToVal(chart.cursor.left, "x")));
          }),
      ],
      draw: [
        (chart) => {
          const x = chart.valToPos(now.current.at_ns, "x", true), { ctx, bbox } = chart;
          ctx.save();
          ctx.strokeStyle = accent;
          ctx.lineWidth = 2 * devicePixelRatio;
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          ctx.restore();
        },
      ],
    },
  };
  const data = [times, ...lines.map(({ levels }) => [...levels, levels[levels.length - 1] ?? 0])] as uPlot.AlignedData;
  return new uPlot(options, data, place);
}
