/* elements.tsx - where in a data object kernels read and wrote: as a line, or as rows and columns where the object is a matrix. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { fitCanvas } from "../../draw/canvas.js";
import { drawHeat, heatAt, type Heat } from "../../draw/heat.js";
import { isOfObject, lineOf, partText, shapeOf, timesText, wayText, type Comm, type Elements, type SentObject } from "../../model/comm.js";
import { request } from "../../model/requests.js";
import { formatBytes, formatShare } from "../../model/units.js";
import { useLoaded, useShared } from "../context.js";
import { Failure } from "../failure.jsx";

const LINE_HIGH = 36, MATRIX_HIGH = 320;
/** As much of an object's site as a request names it by. */
const NAMED = 200;

export function ObjectElements({ comm, object }: { comm: Comm; object: SentObject }) {
  const { requests, address, go } = useShared();
  const known = comm.elements.some((row) => isOfObject(row, object)), shape = shapeOf(address.options.shape);
  const path = request("view", "comm", shape ? { shape: `${lineOf(object.site).slice(0, NAMED)}=${shape.rows}x${shape.columns}` } : {});
  const loaded = useLoaded(path, () => requests.json<Comm>(path));
  if (!known) return null;
  return (
    <>
      <h3>Where in it</h3>
      <label class="comm-shape">
        {"Rows × columns "}
        <input type="text" size={12} placeholder="a line" value={address.options.shape ?? ""} aria-invalid={address.options.shape && !shape ? "true" : undefined}
          onChange={({ currentTarget: { value } }) => go({ shape: value.trim().replace("×", "x").replaceAll(" ", "") || null }, { replace: true })} />
      </label>
      {loaded.state === "failed" && <Failure error={loaded.error} />}
      {loaded.state === "ready" && loaded.value.elements.filter((row) => isOfObject(row, object)).map((row, i) => <Picture key={i} row={row} />)}
    </>
  );
}

/** Of one way. */
function Picture({ row }: { row: Elements }) {
  const canvas = useRef<HTMLCanvasElement>(null), box = useRef<HTMLElement>(null), { theme } = useShared();
  const [width, setWidth] = useState(600), [at, setAt] = useState<{ row: number; column: number } | null>(null);
  const heat = useMemo(() => heatOf(row), [row]), height = heat.rows > 1 ? MATRIX_HIGH : LINE_HIGH;
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.max(box.current!.clientWidth, 50)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const style = getComputedStyle(canvas.current!), colour = (name: string) => style.getPropertyValue(name).trim();
    drawHeat(fitCanvas(canvas.current!, width, height), width, height, heat, { paper: colour("--raised"), ink: colour("--kind-busy") });
  }, [heat, width, height, theme]);
  const onMove = (event: MouseEvent) => {
    const place = canvas.current!.getBoundingClientRect();
    setAt(heatAt(heat, width, height, event.clientX - place.left, event.clientY - place.top));
  };
  const callers = row.site?.slice(lineOf(row.site).length) ?? "";
  const words = `${row.part === null ? "" : `${row.part}, `}${row.kind} ${wayText(row)}: ${formatBytes(row.bytes)}, ${formatShare(row.touched_bytes / row.object_bytes)} of ${formatBytes(row.object_bytes)}, ${timesText(row)}${callers}`;
  return (
    <figure ref={box} class="comm-heat">
      <figcaption>{words}</figcaption>
      <canvas ref={canvas} role="img" aria-label={`Where in the object: ${words}`} style={{ width: `${width}px`, height: `${height}px` }} onMouseMove={onMove} onMouseLeave={() => setAt(null)} />
      <p class="quiet">{at ? partText(row, at.row, at.column, heat.values[at.row * heat.columns + at.column]!) : `The stronger the more, up to ${formatBytes(heat.most)} in a part.`}</p>
    </figure>
  );
}

function heatOf(row: Elements): Heat {
  const values = new Float64Array(row.grid_rows * row.grid_columns);
  for (const part of row.grid) values[part.row * row.grid_columns + part.column] = part.bytes;
  return { rows: row.grid_rows, columns: row.grid_columns, values, most: Math.max(0, ...row.grid.map((part) => part.bytes)) };
}
