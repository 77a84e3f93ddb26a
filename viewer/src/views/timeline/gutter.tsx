/* gutter.tsx - the names of rows, beside the lanes: opened, closed and pinned here. */
import { memo } from "preact/compat";
import type { Row } from "../../model/timeline/lanes.js";

interface Props {
  rows: Row[];
  pinned: boolean;
  onToggle(key: string): void;
  onPin(key: string): void;
}

export const Gutter = memo(function Gutter({ rows, pinned, onToggle, onPin }: Props) {
  return (
    <div class="tl-gutter">
      {rows.map((row) => (
        <GutterRow key={row.node.key} row={row} pinned={pinned} onToggle={onToggle} onPin={onPin} />
      ))}
    </div>
  );
});

function GutterRow({ row, pinned, onToggle, onPin }: { row: Row } & Omit<Props, "rows">) {
  const { node, depth, open, top, height } = row;
  const box = { top: `${top}px`, height: `${height}px`, paddingLeft: `${4 + depth * 10}px` };
  if (node.kind !== "lane")
    return (
      <div class="tl-row tl-group" style={box}>
        <button type="button" aria-expanded={open} title={[node.title, node.detail].filter(Boolean).join(" · ")} onClick={() => onToggle(node.key)}>
          <span aria-hidden="true" class="tl-fold">{open ? "▾" : "▸"}</span>
          <b>{node.title}</b> <span class="quiet">{!open && node.kind !== "threads" && `${node.lanes} lanes · `}{node.detail}</span>
        </button>
      </div>
    );
  const process = pinned ? `${node.process.executable?.split("/").pop() ?? node.process.name} ${node.process.pid}: ` : "";
  return (
    <div class="tl-row" style={box}>
      <span class="tl-title" title={[process + node.title, node.detail].filter(Boolean).join("\n")}>{pinned ? process + node.title : node.short}</span>
      <button type="button" class="tl-pin" aria-pressed={pinned} aria-label={`${pinned ? "Unpin" : "Pin"} ${node.title}`} title={pinned ? "Unpin" : "Pin to the top"} onClick={() => onPin(node.key)}>
        {pinned ? "◆" : "◇"}
      </button>
    </div>
  );
}
