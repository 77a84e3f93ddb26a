/* icicles.tsx - the tree of calling contexts before and after, beside each other: lengths of both are on one scale, colours say what differs. */
import { useMemo, useRef, useState } from "preact/hooks";
import { BOX_HEIGHT, flameHeight, layoutFlame } from "../../draw/flame.js";
import { DARK_INKS, inkOn, LIGHT_INKS } from "../../draw/colours.js";
import { valueText, type DiffRow, type Metric } from "../../model/compare.js";
import { changeOfNode, contextTree, sideOf, type Side } from "../../model/comparetree.js";
import { useShared } from "../context.js";
import { PictureButtons } from "../parts/download.jsx";

const WIDTH = 560, LETTER = 6.8, GAP = 24, TITLE = 22, SIDES: Side[] = ["before", "after"];

interface Props {
  rows: readonly DiffRow[];
  metric: Metric;
  colour: (change: number | null) => string;
}

/** All that it looks like is in its attributes, so that it is the same when it is saved. The table has the same numbers. */
export function Icicles({ rows, metric, colour }: Props) {
  const { theme } = useShared(), picture = useRef<SVGSVGElement>(null), inks = theme.dark ? DARK_INKS : LIGHT_INKS;
  const nodes = useMemo(() => contextTree(rows), [rows]), [zoom, setZoom] = useState(0), root = zoom < nodes.length ? zoom : 0;
  const most = Math.max(nodes[root]!.before, nodes[root]!.after);
  const boxes = useMemo(() => SIDES.map((side) => (nodes[root]![side] > 0 ? layoutFlame(sideOf(nodes, side), root, most / nodes[root]![side] / WIDTH) : [])), [nodes, root, most]);
  if (!(most > 0)) return null;
  const width = 2 * WIDTH + GAP, height = TITLE + Math.max(...boxes.map(flameHeight));
  return (
    <figure class="compare-icicles">
      <svg ref={picture} xmlns="http://www.w3.org/2000/svg" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img"
        aria-label="Calling contexts before and after, beside each other; the table has the same numbers" font-family="system-ui, sans-serif" font-size="12">
        <rect width={width} height={height} fill={inks.paper} />
        {SIDES.map((side, k) => {
          const left = k * (WIDTH + GAP), scale = (WIDTH * nodes[root]![side]) / most;
          return (
            <g key={side} class="compare-side" data-side={side}>
              <text x={left} y={15} fill={inks.ink}>{`${side}: ${valueText(metric, nodes[root]![side])}`}</text>
              {boxes[k]!.map((box) => {
                const node = box.row < 0 ? null : nodes[box.row]!, wide = Math.max(box.width * scale - 0.5, 0.5), letters = Math.floor((wide - 6) / LETTER);
                const label = node?.label ?? "", shown = label.length <= letters ? label : letters < 3 ? "" : label.slice(0, letters - 1) + "…";
                const x = left + box.from * scale, y = TITLE + box.level * BOX_HEIGHT;
                return (
                  <g key={`${box.row} ${box.parent}`} class="compare-box" data-row={box.row} onClick={() => setZoom(box.row < 0 ? box.parent : box.row)}>
                    <title>{node ? `${label}: ${valueText(metric, node.before)} before, ${valueText(metric, node.after)} after` : "smaller ones"}</title>
                    <rect x={x.toFixed(2)} y={y} width={wide.toFixed(2)} height={BOX_HEIGHT - 1} fill={colour(node && changeOfNode(node))} fill-opacity={node ? 1 : 0.5} />
                    {shown !== "" && <text x={(x + 3).toFixed(2)} y={y + 14} fill={inkOn(theme)}>{shown}</text>}
                  </g>
                );
              })}
            </g>
          );
        })}
      </svg>
      <figcaption>
        <PictureButtons name={`compare contexts ${metric}`} svg={() => picture.current && new XMLSerializer().serializeToString(picture.current)} />
        {root > 0 && <button type="button" onClick={() => setZoom(0)}>Whole</button>}
        <span class="quiet">Lengths of both sides are on one scale. A click on a context has it fill the width.</span>
      </figcaption>
    </figure>
  );
}
