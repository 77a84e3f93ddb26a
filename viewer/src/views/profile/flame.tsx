/* flame.tsx - the tree as an icicle or a flame: click goes into a frame, Backspace and the boxes above it lead out. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { boxAt, drawFlame, flameHeight, flameSvg, layoutFlame, type Box, type FlameLook, type FlameTree } from "../../draw/flame.js";
import { formatColumn, type Shown } from "../../model/profile/answer.js";
import { figureCell, figureText, routineOf } from "../../model/profile/figures.js";
import type { ProfileTree } from "../../model/profile/tree.js";
import { formatShare } from "../../model/units.js";
import { useShared } from "../context.js";
import { PictureButtons } from "../parts/download.jsx";

interface FlameProps {
  tree: ProfileTree;
  version: number;
  columns: Shown[];
  sort: Shown;
  descending: boolean;
  upwards: boolean;
  zoom: number;
  chosen: number;
  routine: string;
  hits: Uint8Array | null;
  onChoose(row: number): void;
  onZoom(row: number): void;
}

/** The column whose parts add up: inclusive from above to below, exclusive from a routine to its callers; a formula's do not. */
function pictureColumn(tree: ProfileTree, sort: Shown): Shown {
  const formula = tree.columns.find((column) => column.name === sort.name)?.formula;
  const name = formula === null ? sort.name : (tree.columns.find((column) => column.formula === null)?.name ?? sort.name);
  return { name, side: tree.shape === "top-down" ? "inclusive" : "exclusive" };
}

export function FlamePicture(props: FlameProps) {
  const { tree, version, columns, sort, descending, upwards, zoom, chosen, routine, hits } = props;
  const { theme } = useShared();
  const canvas = useRef<HTMLCanvasElement>(null), frame = useRef<HTMLDivElement>(null), scroller = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 800, height: 400, top: 0 });
  const [hover, setHover] = useState<{ box: Box; x: number; y: number; below: number } | null>(null);
  const column = pictureColumn(tree, sort);
  const flame: FlameTree = useMemo(
    () => ({
      childrenOf: (row) => tree.childrenOf(row),
      valueOf: (row) => tree.value(row, row === 0 ? { name: column.name, side: "inclusive" } : column) || 0,
      labelOf: (row) => tree.rows[row]!.label,
      parentOf: (row) => tree.parentOf(row),
    }),
    [tree, column.name, column.side],
  );
  const boxes = useMemo(() => layoutFlame(flame, zoom, 1 / size.width), [flame, zoom, size.width, version, sort.name, sort.side, descending]);
  const height = flameHeight(boxes);
  /* Flames stand on the bottom, also where they do not fill the place. */
  const top = size.top - (upwards ? Math.max(size.height - height, 0) : 0);

  useLayoutEffect(() => {
    const box = scroller.current!;
    const look = () => setSize({ width: Math.max(box.clientWidth, 50), height: Math.max(box.clientHeight, 50), top: box.scrollTop });
    const observer = new ResizeObserver(look);
    box.addEventListener("scroll", look, { passive: true });
    observer.observe(box);
    look();
    return () => {
      box.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, []);
  useLayoutEffect(() => {
    if (upwards) scroller.current!.scrollTop = height;
  }, [upwards, height, zoom]);

  const lit = useMemo(() => (hits ? (row: number) => hits[row] === 1 : null), [hits]);
  const marked = useMemo(() => (routine === "" ? null : (row: number) => routineOf(tree.rows[row]!) === routine), [tree, routine]);
  const look = (from: number, shown: number): FlameLook => {
    const style = getComputedStyle(frame.current!), colour = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
    return {
      width: size.width, height: shown, top: from, upwards, theme, lit, marked, chosen,
      hover: hover?.box ?? null,
      paper: colour("--paper", "#ffffff"), quiet: colour("--quiet", "#62626b"), accent: colour("--accent", "#2456c7"),
      font: `12px ${style.fontFamily || "sans-serif"}`,
    };
  };
  useEffect(() => drawFlame(canvas.current!, flame, boxes, look(top, size.height)));

  const find = (event: MouseEvent): Box | null => {
    const place = canvas.current!.getBoundingClientRect();
    const y = event.clientY - place.top + top;
    return y < 0 || y >= height ? null : boxAt(boxes, event.clientX - place.left, y, size.width, upwards);
  };
  const onMove = (event: MouseEvent) => {
    const box = find(event), place = frame.current!.getBoundingClientRect();
    setHover(box && { box, x: event.clientX - place.left, y: event.clientY - place.top, below: place.bottom - event.clientY });
  };
  const onClick = (event: MouseEvent) => {
    const box = find(event);
    if (!box) return;
    if (box.row < 0) {
      props.onZoom(box.parent);
      return;
    }
    props.onChoose(box.row);
    props.onZoom(box.row);
  };
  const onKey = (event: KeyboardEvent) => {
    const at = chosen > 0 ? chosen : zoom, parent = tree.parentOf(at), siblings = parent >= 0 ? tree.childrenOf(parent) : [at], place = siblings.indexOf(at);
    const keys: Record<string, () => unknown> = {
      ArrowLeft: () => place > 0 && props.onChoose(siblings[place - 1]!),
      ArrowRight: () => place + 1 < siblings.length && props.onChoose(siblings[place + 1]!),
      [upwards ? "ArrowDown" : "ArrowUp"]: () => parent > 0 && props.onChoose(parent),
      [upwards ? "ArrowUp" : "ArrowDown"]: () => tree.childrenOf(at).length > 0 && props.onChoose(tree.childrenOf(at)[0]!),
      Enter: () => props.onZoom(at),
      Backspace: () => props.onZoom(Math.max(tree.parentOf(zoom), 0)),
      Escape: () => props.onZoom(0),
    };
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); /* the page has keys of its own */
    act();
  };

  const svg = () => {
    const unit = tree.columns.find((one) => one.name === column.name)?.unit ?? null;
    return flameSvg(flame, boxes, size.width, upwards, theme, (row) => figureText(tree.figure(row, column), unit));
  };
  const above = zoom > 0 ? tree.path(zoom).slice(0, -1) : [];
  return (
    <div class="flame" ref={frame}>
      <div class="flame-bar">
        <span class="quiet">{`width: ${formatColumn(column)}`}</span>
        {above.length > 0 && (
          <>
            <button type="button" onClick={() => props.onZoom(Math.max(tree.parentOf(zoom), 0))}>
              Back to the caller
            </button>
            <button type="button" onClick={() => props.onZoom(0)}>
              Whole
            </button>
          </>
        )}
        <span class="profile-space" />
        <PictureButtons name="profile" svg={svg} />
      </div>
      <div class="flame-scroll" ref={scroller}>
        <div class="flame-space" style={{ height: `${Math.max(height, size.height)}px` }}>
          <canvas
            ref={canvas}
            class="flame-canvas"
            tabIndex={0}
            role="img"
            aria-label={`${upwards ? "Flame" : "Icicle"} picture of ${formatColumn(column)}. The table shows the same.`}
            style={{ width: `${size.width}px`, height: `${size.height}px` }}
            onMouseMove={onMove}
            onMouseLeave={() => setHover(null)}
            onClick={onClick}
            onKeyDown={onKey}
          />
        </div>
      </div>
      {hover && <Tip tree={tree} flame={flame} box={hover.box} zoom={zoom} columns={columns} column={column} x={hover.x} y={hover.y} below={hover.below} width={size.width} />}
    </div>
  );
}

interface TipProps {
  tree: ProfileTree;
  flame: FlameTree;
  box: Box;
  zoom: number;
  columns: Shown[];
  column: Shown;
  x: number;
  y: number;
  below: number;
  width: number;
}

function Tip({ tree, flame, box, zoom, columns, column, x, y, below, width }: TipProps) {
  const side = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  const place = { ...side, ...(below < y ? { bottom: `${below + 12}px` } : { top: `${y + 16}px` }) };
  const unit = (name: string) => tree.columns.find((one) => one.name === name)?.unit ?? null;
  if (box.row < 0)
    return (
      <div class="flame-tip" style={place}>
        <p>{`narrower ones: ${figureText(box.width * flame.valueOf(zoom), unit(column.name))}`}</p>
      </div>
    );
  const row = tree.rows[box.row]!, part = flame.valueOf(box.row) / flame.valueOf(0);
  return (
    <div class="flame-tip" style={place}>
      <p class="flame-tip-name">{row.label}</p>
      <p>{`${formatShare(part)} of all${zoom > 0 ? `, ${formatShare(flame.valueOf(box.row) / flame.valueOf(zoom))} of what fills the width` : ""}`}</p>
      <dl>
        {columns.map((one) => (
          <div key={formatColumn(one)}>
            <dt>{formatColumn(one)}</dt>
            <dd>{figureCell(row, one, unit(one.name))}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
