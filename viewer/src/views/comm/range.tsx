/* range.tsx - the run over the page Communication, by how busy its devices were: of a range that is selected there is the page. */
import { useMemo } from "preact/hooks";
import { drawStrip } from "../../draw/timeline/strip.js";
import { rangeOf } from "../../model/address.js";
import { request } from "../../model/requests.js";
import { columnsOf, meanOf, overviewFrom, type OverviewHeader } from "../../model/timeline/overview.js";
import { formatTime } from "../../model/units.js";
import { useLoaded, useShared } from "../context.js";
import { RangeStrip } from "../parts/rangestrip.jsx";

const PIXELS = 4096, HEIGHT = 36;

export function RunRange() {
  const { requests, run, address, go } = useShared();
  const asked = request("overview", null, { pixels: PIXELS }), answer = useLoaded(asked, () => requests.columns<OverviewHeader>(asked));
  const overview = useMemo(() => (answer.state === "ready" ? overviewFrom(answer.value) : null), [answer]);
  const busy = useMemo(() => overview && meanOf([...overview.busy].filter(([key]) => key.includes("/")).map(([, strip]) => strip)), [overview]);
  if (run.length_ns <= 0) return null;
  const draw = (context: CanvasRenderingContext2D, width: number, style: CSSStyleDeclaration) => {
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim(), columns = new Float32Array(Math.floor(width));
    context.fillStyle = colour("raised");
    context.fillRect(0, 0, width, HEIGHT);
    if (!busy) return;
    columnsOf(busy, overview!.length, { from: 0, to: Math.max(run.length_ns, 1) }, columns.length, columns);
    drawStrip(context, { columns, y: 2, height: HEIGHT - 4, colour: colour("kind-busy") });
  };
  return (
    <RangeStrip label="How busy the devices were over the run" height={HEIGHT} length_ns={run.length_ns} range={rangeOf(address)} draw={draw}
      onRange={(range) => go({ from: range?.from ?? null, to: range?.to ?? null })} said={(at) => `${formatTime(at)}. Drag to select a range`} />
  );
}
