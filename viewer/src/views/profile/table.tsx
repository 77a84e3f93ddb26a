/* table.tsx - the tree as a table (an ARIA tree grid). Only what is on screen is in the page, so that 100,000 rows are as fast as ten. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatColumn, sameColumn, type Metric, type Shown } from "../../model/profile/answer.js";
import { figureCell, figureText } from "../../model/profile/figures.js";
import { isExpandable, type Line, type ProfileTree } from "../../model/profile/tree.js";
import { formatShare } from "../../model/units.js";
import { useSides } from "../parts/scroll.jsx";
import { definitionOf } from "./frame.jsx";

const ROW = 24, HEAD = 30, DEEPEST = 60;

/** The deeper, the less: a tree can be hundreds of levels deep. */
function indentOf(depth: number): number {
  return 4 + Math.min(depth, 12) * 12 + Math.max(Math.min(depth, DEEPEST) - 12, 0) * 4;
}

interface TableProps {
  tree: ProfileTree;
  lines: Line[];
  columns: Shown[];
  metrics: Metric[];
  sort: Shown;
  descending: boolean;
  chosen: number;
  routine: string;
  hits: Uint8Array | null;
  isOpen(row: number): boolean;
  onChoose(row: number): void;
  onToggle(row: number, open?: boolean): void;
  onMore(row: number): void;
  onSort(column: Shown): void;
  onHotPath(): void;
}

export function TreeTable(props: TableProps) {
  const { tree, lines, columns, metrics, sort, descending, chosen } = props;
  const scroller = useRef<HTMLDivElement>(null), sides = useSides(scroller);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  const at = chosen > 0 ? lines.findIndex((line) => line.row === chosen && !line.more) : 0;

  useLayoutEffect(() => {
    const box = scroller.current!;
    const look = () => setSeen({ top: box.scrollTop, height: box.clientHeight });
    const observer = new ResizeObserver(look);
    box.addEventListener("scroll", look, { passive: true });
    observer.observe(box);
    look();
    return () => {
      box.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, []);

  useEffect(() => {
    const box = scroller.current!;
    if (chosen <= 0 || at < 0) return;
    const top = at * ROW, room = box.clientHeight - HEAD - ROW;
    if (top < box.scrollTop) box.scrollTop = Math.max(top - room / 3, 0);
    else if (top > box.scrollTop + room) box.scrollTop = top - (2 * room) / 3;
  }, [chosen, at >= 0]);

  const first = Math.max(Math.floor(seen.top / ROW) - 8, 0), last = Math.min(Math.ceil((seen.top + seen.height) / ROW) + 8, lines.length);
  const template = `minmax(18rem, 60rem) repeat(${columns.length}, 8.6rem)`;
  const least = `${18 + 7.6 * columns.length}rem`;
  return (
    <div class="part-scroll tree-frame" data-left={sides.left || undefined} data-right={sides.right || undefined}>
      <div
        class="tree-table"
        role="treegrid"
        aria-label="Calling contexts"
        aria-rowcount={lines.length + 1}
        aria-colcount={columns.length + 1}
        aria-activedescendant={at >= first && at < last ? `line-${at}` : undefined}
        tabIndex={0}
        ref={scroller}
        onKeyDown={(event) => onKey(event, props, at, seen.height)}
      >
        <div class="tree-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template, minWidth: least }}>
          <div role="columnheader" class="tree-label">
            {tree.shape === "top-down" ? "call path" : tree.shape === "bottom-up" ? "routine, its callers below" : "routine"}
          </div>
          {columns.map((column) => {
            const name = formatColumn(column), sorted = sameColumn(column, sort);
            return (
              <div key={name} role="columnheader" aria-sort={sorted ? (descending ? "descending" : "ascending") : "none"}>
                <button type="button" tabIndex={-1} title={definitionOf(column, metrics, tree)} onClick={() => props.onSort(column)}>
                  {name}
                  {sorted ? (descending ? " ▾" : " ▴") : ""}
                </button>
              </div>
            );
          })}
        </div>
        <div role="presentation" class="tree-space" style={{ height: `${lines.length * ROW}px`, minWidth: least }}>
          {lines.slice(first, last).map((line, i) => (
            <LineOf key={`${line.row}${line.more ? "+" : ""}`} line={line} index={first + i} template={template} {...props} />
          ))}
        </div>
      </div>
    </div>
  );
}

function LineOf(props: TableProps & { line: Line; index: number; template: string }) {
  const { tree, line, index, template, columns, chosen, routine, hits } = props;
  const row = tree.rows[line.row]!, place = { gridTemplateColumns: template, top: `${index * ROW}px` };
  const indent = { paddingLeft: `${indentOf(line.level - 1)}px` };
  if (line.more) return <MoreLine {...props} style={place} indent={indent} />;
  const expandable = isExpandable(tree, line.row), open = expandable && props.isOpen(line.row);
  const classes = ["tree-row"];
  if (line.row === chosen) classes.push("chosen");
  if (hits && hits[line.row]) classes.push("hit");
  if (routine !== "" && (row.label === routine || row.label.startsWith(`${routine}:`))) classes.push("routine");
  return (
    <div
      id={`line-${index}`}
      class={classes.join(" ")}
      role="row"
      aria-rowindex={index + 2}
      aria-level={line.level}
      aria-posinset={line.place}
      aria-setsize={line.siblings}
      aria-expanded={expandable ? open : undefined}
      aria-selected={line.row === chosen}
      style={place}
      onClick={() => props.onChoose(line.row)}
      onDblClick={() => props.onToggle(line.row)}
    >
      <div role="gridcell" class={`tree-label ${row.code === null ? row.kind : row.code}`} style={indent}>
        <span
          class="tree-twist"
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation();
            props.onToggle(line.row);
          }}
        >
          {expandable ? (open ? "▾" : "▸") : ""}
        </span>
        {line.level - 1 > 12 && <span class="tree-depth quiet" title="levels below the whole">{`${line.level - 1} `}</span>}
        <span class="tree-name" title={titleOf(tree, line.row)}>
          {row.label}
        </span>
      </div>
      {columns.map((column) => {
        const share = tree.share(line.row, column), unit = unitOf(tree, column);
        return (
          <div key={formatColumn(column)} role="gridcell" class="tree-figure" title={exactText(tree, line.row, column, unit, share)}>
            {share > 0 && <span class="part-bar" style={{ width: `${(Math.min(share, 1) * 100).toFixed(2)}%` }} />}
            <span>{figureCell(row, column, unit)}</span>
          </div>
        );
      })}
    </div>
  );
}

/** Behind the last child: how much is in those that are left out. */
function MoreLine(props: TableProps & { line: Line; index: number; style: Record<string, string>; indent: Record<string, string> }) {
  const { tree, line, index, columns, style, indent } = props, all = tree.incomplete(line.row);
  return (
    <div id={`line-${index}`} class="tree-row tree-more" role="row" aria-rowindex={index + 2} aria-level={line.level} style={style}>
      <div role="gridcell" class="tree-label" style={indent}>
        <span class="tree-twist" aria-hidden="true" />
        <button type="button" tabIndex={-1} onClick={() => props.onMore(line.row)}>
          {tree.canAskForMore ? "show what is smaller" : "show all that is smaller, everywhere"}
        </button>
      </div>
      {columns.map((column) => {
        const additive = column.side === "inclusive" && tree.columns.find((one) => one.name === column.name)?.formula === null;
        const rest = additive ? all.reduce((sum, row) => sum + tree.missing(row, column.name), 0) : null;
        return (
          <div key={formatColumn(column)} role="gridcell" class="tree-figure quiet">
            <span>{rest === null ? "" : figureText(Math.abs(rest) < 0.5 ? 0 : rest, unitOf(tree, column))}</span>
          </div>
        );
      })}
    </div>
  );
}

function onKey(event: KeyboardEvent, props: TableProps, at: number, height: number): void {
  const { lines, tree } = props, line = lines[at], page = Math.max(Math.floor((height - HEAD) / ROW) - 1, 1);
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const to = (index: number) => {
    let next = Math.min(Math.max(index, 0), lines.length - 1);
    if (lines[next]?.more && next < at) next--;
    else if (lines[next]?.more) next = Math.min(next + 1, lines.length - 1);
    if (lines[next] && !lines[next]!.more) props.onChoose(lines[next]!.row);
  };
  const keys: Record<string, () => unknown> = {
    ArrowDown: () => to(at + 1),
    ArrowUp: () => to(at - 1),
    PageDown: () => to(at + page),
    PageUp: () => to(at - page),
    Home: () => to(0),
    End: () => to(lines.length - 1),
    ArrowRight: () => {
      if (!line) return;
      if (!props.isOpen(line.row)) props.onToggle(line.row, true);
      else if (tree.childrenOf(line.row).length) to(at + 1);
    },
    ArrowLeft: () => {
      if (!line) return;
      if (props.isOpen(line.row)) props.onToggle(line.row, false);
      else if (tree.parentOf(line.row) >= 0) to(lines.findIndex((other) => other.row === tree.parentOf(line.row) && !other.more));
    },
    Enter: () => line && props.onToggle(line.row),
    "+": () => line && tree.hasMore(line.row) && props.onMore(line.row),
    h: () => props.onHotPath(),
  };
  const act = keys[event.key];
  if (!act || (event.target as HTMLElement).tagName === "INPUT") return;
  event.preventDefault();
  event.stopPropagation(); /* the page has keys of its own */
  act();
}

function unitOf(tree: ProfileTree, column: Shown): string | null {
  return tree.columns.find((one) => one.name === column.name)?.unit ?? null;
}

function titleOf(tree: ProfileTree, row: number): string {
  const { label, name, file, line, module } = tree.rows[row]!;
  const place = file === null ? module : line === null ? file : `${file}:${line}`;
  return [name !== null && name !== label ? `${label}\n${name}` : label, place].filter(Boolean).join("\n");
}

function exactText(tree: ProfileTree, row: number, column: Shown, unit: string | null, share: number): string {
  const figure = tree.figure(row, column);
  const number = typeof figure === "number" ? `${figure.toLocaleString("en-US", { maximumFractionDigits: 6 })}${unit === null || unit === "count" ? "" : ` ${unit}`}` : figureText(figure, unit);
  return `${formatColumn(column)}: ${number}${Number.isNaN(share) ? "" : `, ${formatShare(share)} of all`}`;
}
