/* arrows.tsx - messages between ranks as a circle of arrows: each as wide as the bytes it stands for, of the colour of the rank that sent them. */
import { useMemo, useRef, useState } from "preact/hooks";
import { arcPath, hasRoom, labelAt, layOutChord, ribbonPath } from "../../draw/chord.js";
import { DARK_INKS, LIGHT_INKS, placeColour } from "../../draw/colours.js";
import { arrowsOf, sentText, type Messages } from "../../model/ranks.js";
import { useShared } from "../context.js";
import { PictureButtons } from "../parts/download.jsx";

const RADIUS = 150, RIM = 12, HEAD = 8, AROUND = 84, LETTER = 7, LINE = 14;
/** Of more, those with the most bytes. */
const MOST = 500;

/** All that it looks like is in its attributes, so that it is the same when it is saved. The table says the same to those who cannot see it. */
export function RankArrows({ messages }: { messages: Messages }) {
  const { theme } = useShared(), picture = useRef<SVGSVGElement>(null), inks = theme.dark ? DARK_INKS : LIGHT_INKS;
  const [lit, setLit] = useState<number | null>(null); /* a rank: arrows of others are pale */
  const arrows = useMemo(() => arrowsOf(messages, MOST), [messages]);
  const layout = useMemo(() => {
    if (!arrows) return null;
    const at = new Map(arrows.ranks.map((rank, i) => [rank, i]));
    return layOutChord(arrows.ranks.length, arrows.pairs.map(({ from, to, bytes }) => ({ from: at.get(from)!, to: at.get(to)!, value: bytes })));
  }, [arrows]);
  if (!arrows || !layout) return null;
  const size = 2 * (RADIUS + RIM + AROUND), colour = (rank: number) => placeColour(arrows.ranks.indexOf(rank), theme);
  return (
    <figure class="ranks-arrows">
      <svg ref={picture} xmlns="http://www.w3.org/2000/svg" width={size} height={size} viewBox={`${-size / 2} ${-size / 2} ${size} ${size}`} role="img"
        aria-label="Messages as arrows from rank to rank; the table has the same numbers" font-family="system-ui, sans-serif" font-size="12">
        <rect x={-size / 2} y={-size / 2} width={size} height={size} fill={inks.paper} />
        {arrows.pairs.map((pair, i) => {
          const pale = lit !== null && pair.from !== lit && pair.to !== lit;
          return (
            <path key={`${pair.from} ${pair.to}`} class="ranks-arrow" data-from={pair.from} data-to={pair.to} d={ribbonPath(layout.ribbons[i]!, RADIUS, HEAD)} fill={colour(pair.from)} fill-opacity={pale ? 0.12 : 0.75}
              stroke={inks.ink} stroke-opacity={pale ? 0.1 : 0.45} stroke-width="0.7">
              <title>{sentText(pair)}</title>
            </path>
          );
        })}
        {arrows.ranks.map((rank, i) => {
          const arc = layout.arcs[i]!, at = labelAt(arc, RADIUS + RIM + 8), words = `rank ${rank}`;
          return (
            <g key={rank} class="ranks-end" onMouseEnter={() => setLit(rank)} onMouseLeave={() => setLit(null)}>
              <path d={arcPath(arc, RADIUS + 3, RADIUS + RIM)} fill={colour(rank)} />
              {hasRoom(arc, RADIUS + RIM, words.length * LETTER, LINE) && (
                <text x={at.x.toFixed(1)} y={(at.y + 4).toFixed(1)} text-anchor={at.anchor} fill={inks.ink}>
                  {words}
                </text>
              )}
              <title>{words}</title>
            </g>
          );
        })}
      </svg>
      <figcaption>
        <PictureButtons name="messages" svg={() => picture.current && new XMLSerializer().serializeToString(picture.current)} />
        {arrows.leftOut > 0 && <span class="quiet">{`The ${MOST} pairs with the most bytes; ${arrows.leftOut} others are in the table.`}</span>}
      </figcaption>
    </figure>
  );
}
