/* table.tsx - a table of the report: sorted, filtered, a tree opened and closed. Of a long one only the rows on screen are in the page. */
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isNumber, shownRows, sortedBy, speaksOf, treeColumn, type ShownRow, type Sort } from "../../model/report/table.js";
import type { Column, TextTable } from "../../model/types.js";
import { Length } from "./bar.jsx";
import { Cut } from "./cut.jsx";
import { Scroll } from "./scroll.jsx";

/** Of one row, in pixels; viewer.css has the same. */
const HEIGHT = 26;
/** A longer table has a scroll bar of its own. */
const LONG = 300;
const AHEAD = 12;

export interface TableProps {
  table: TextTable;
  sort?: Sort | null;
  onSort?: (sort: Sort | null) => void;
  filter?: string;
  /** The label that is highlighted. */
  routine?: string;
  caption: string;
  /** What is shown, whenever it changes: for an export. */
  onShown?: (shown: ShownRow[]) => void;
}

export function Table({ table, sort = null, onSort, filter = "", routine = "", caption, onShown }: TableProps) {
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  const shown = useMemo(() => shownRows(table, { sort, filter, closed }), [table, sort?.column, sort?.descending, filter, closed]);
  const widths = useMemo(() => widthsOf(table), [table]);
  const most = useMemo(() => largestShares(table), [table]);
  const scroller = useRef<HTMLDivElement>(null), tree = treeColumn(table);
  const [first, last] = useWindow(scroller, shown.length);
  useEffect(() => setClosed((before) => (before.size ? new Set() : before)), [table]); /* rows of another answer are others */
  useEffect(() => onShown?.(shown), [shown]);
  const toggle = (row: number) =>
    setClosed((before) => {
      const next = new Set(before);
      if (!next.delete(row)) next.add(row);
      return next;
    });
  const kept = useMemo(() => new Map<number, VNode>(), [shown, closed, routine]); /* a row that stays on screen is not made again */
  const drawn = (row: ShownRow, at: number): VNode => {
    const made = kept.get(row.row) ?? <Row key={row.row} row={row} at={at} table={table} tree={tree} most={most} routine={routine} open={!closed.has(row.row)} onToggle={toggle} />;
    kept.set(row.row, made);
    return made;
  };
  return (
    <Scroll box={scroller} frame={widths.each.includes(null) ? undefined : "narrow"} class={shown.length > LONG ? "part-table long" : "part-table"} label={caption}>
      <table role={tree >= 0 ? "treegrid" : undefined} aria-rowcount={shown.length + 1} style={boxOf(widths)}>
        <ColumnWidths each={widths.each} />
        <thead>
          <tr aria-rowindex={1}>
            {table.columns.map((column, i) => (
              <Head key={i} column={column} sort={sort?.column === i ? sort : null} onSort={onSort && (() => onSort(sortedBy(sort, i, column)))} />
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Spacer rows={first} columns={table.columns.length} />}
          {shown.slice(first, last).map((row, i) => drawn(row, first + i))}
          {last < shown.length && <Spacer rows={shown.length - last} columns={table.columns.length} />}
        </tbody>
      </table>
    </Scroll>
  );
}

function Head({ column, sort, onSort }: { column: Column; sort: Sort | null; onSort?: () => void }) {
  const title = column.title ?? "", side = isNumber(column) ? "number" : undefined;
  if (!title) return <td class={side} />;
  if (!onSort) {
    return (
      <th scope="col" class={side}>
        <span data-tip={column.definition ?? undefined} tabIndex={column.definition ? 0 : undefined}>
          {title}
        </span>
      </th>
    );
  }
  return (
    <th scope="col" class={side} aria-sort={sort ? (sort.descending ? "descending" : "ascending") : undefined}>
      <button type="button" data-tip={column.definition ?? undefined} onClick={onSort}>
        {title}
        <span aria-hidden="true" class="part-arrow">{sort ? (sort.descending ? " ▾" : " ▴") : ""}</span>
      </button>
    </th>
  );
}

interface RowProps {
  row: ShownRow;
  at: number;
  table: TextTable;
  tree: number;
  most: number[];
  routine: string;
  open: boolean;
  onToggle: (row: number) => void;
}

function Row({ row, at, table, tree, most, routine, open, onToggle }: RowProps) {
  const values = table.rows[row.row]!.values, marked = routine !== "" && row.cells.some((cell) => speaksOf(cell, routine));
  return (
    <tr aria-rowindex={at + 2} aria-level={tree >= 0 ? row.depth + 1 : undefined} aria-expanded={tree >= 0 && row.children ? open : undefined} class={marked ? "marked" : undefined}>
      {table.columns.map((column, i) => (
        <td key={i} class={isNumber(column) ? "number" : undefined}>
          {column.kind === "share" && values[i] !== null && values[i] !== undefined && <Length share={most[i]! > 1 ? values[i]! / most[i]! : values[i]!} />}
          {i === tree ? (
            <span class="part-branch" style={{ paddingLeft: `${Math.min(row.depth, 40) * 1.1}em` }}>
              {row.children ? (
                <button type="button" class="part-fold" aria-expanded={open} aria-label={open ? "Close" : "Open"} onClick={() => onToggle(row.row)}>
                  {open ? "▾" : "▸"}
                </button>
              ) : (
                <span class="part-fold" />
              )}
              <Cut text={row.cells[i] ?? ""} />
            </span>
          ) : isNumber(column) ? (
            <span class="part-figure">{row.cells[i] ?? ""}</span>
          ) : (
            <Cut text={row.cells[i] ?? ""} />
          )}
        </td>
      ))}
    </tr>
  );
}

function Spacer({ rows, columns }: { rows: number; columns: number }) {
  return (
    <tr aria-hidden="true" class="part-spacer" style={{ height: `${rows * HEIGHT}px` }}>
      <td colSpan={columns} />
    </tr>
  );
}

/** The rows on screen, and some more on both sides. */
function useWindow(scroller: { current: HTMLDivElement | null }, rows: number): [number, number] {
  const [range, set] = useState<[number, number]>([0, LONG]);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box || rows <= LONG) return;
    const look = () => {
      const first = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - AHEAD), last = Math.ceil((box.scrollTop + box.clientHeight) / HEIGHT) + AHEAD;
      set((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    };
    look();
    box.addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      box.removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [rows]);
  return rows <= LONG ? [0, rows] : [Math.min(range[0], rows), Math.min(range[1], rows)];
}

interface Widths {
  /** In letters; null: it takes what is left. */
  each: (number | null)[];
  /** Of the whole; below it the table has a scroll bar. */
  least: number;
}

export function widthsOf(table: TextTable): Widths {
  const tree = treeColumn(table), least: number[] = [];
  const each = table.columns.map((column, i) => {
    const longest = table.rows.reduce((most, row) => Math.max(most, row.cells[i]?.length ?? 0), 0), titled = (column.title?.length ?? 0) + 3.5;
    if (isNumber(column)) return Math.max(longest * 0.97 + 2.4, titled, column.kind === "share" ? 12 : 6);
    least[i] = i === tree ? 44 : Math.max(Math.min(30, longest * 0.95 + 4), titled);
    return longest > 32 || i === tree ? null : Math.max(Math.ceil(longest * 0.95) + 4, titled);
  });
  return { each, least: each.reduce<number>((sum, width, i) => sum + (width ?? least[i]!), 0) };
}

/** A table in which no name is long stays as narrow as it is, so that numbers do not drift apart on a wide screen. */
export function boxOf({ each, least }: Widths): { minWidth: string } | { width: string } {
  return each.includes(null) ? { minWidth: `${least}ch` } : { width: `${least}ch` };
}

function ColumnWidths({ each }: { each: (number | null)[] }) {
  return (
    <colgroup>
      {each.map((width, i) => (
        <col key={i} style={width === null ? {} : { width: `${width}ch` }} />
      ))}
    </colgroup>
  );
}

/** The head of a short table: titles that say what they mean, and cannot be sorted by. */
export function BriefHead({ columns, widths }: { columns: Column[]; widths: (number | null)[] }) {
  return (
    <>
      <ColumnWidths each={widths} />
      <thead>
        <tr>
          {columns.map((column, i) => (
            <th key={i} scope="col" class={isNumber(column) ? "number" : undefined}>
              <span data-tip={column.definition ?? undefined} tabIndex={0}>
                {column.title}
              </span>
            </th>
          ))}
        </tr>
      </thead>
    </>
  );
}

/** Some shares are of something else than the rows' sum, and beyond 1. */
function largestShares(table: TextTable): number[] {
  return table.columns.map((_, i) => table.rows.reduce((most, row) => Math.max(most, row.values[i] ?? 0), 0));
}
