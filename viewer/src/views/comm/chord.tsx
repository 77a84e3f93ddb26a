/* chord.tsx - who sends to whom as a circle: places on the rim, and between them ribbons as wide as what went there, of the colour of where it came from. */
import { useMemo, useRef } from "preact/hooks";
import { arcPath, hasRoom, labelAt, layOutChord, ribbonPath } from "../../draw/chord.js";
import { DARK_INKS, kindColour, LIGHT_INKS, placeColour, type Theme } from "../../draw/colours.js";
import { shortened } from "../../draw/graph.js";
import { measured, pairText, shortNames, type End, type Measure, type Pair, type Place } from "../../model/comm.js";
import { useShared } from "../context.js";
import { PictureButtons } from "../parts/download.jsx";

const RADIUS = 124, RIM = 12, HEAD = 7, NAMES = 124, ABOVE = 26, LETTERS = 14, LETTER = 7, LINE = 14;

function colourOf(ends: readonly Place[], end: End, theme: Theme): string {
  if (end === "host" || end === null) return kindColour(end === "host" ? "off_cpu" : "unknown", theme);
  return placeColour(ends.filter((one) => one.end !== "host").findIndex((one) => one.end === end), theme);
}

interface Props {
  ends: Place[];
  pairs: Pair[];
  by: Measure;
  /** The others are pale; null: none is chosen. */
  lit: ((pair: Pair) => boolean) | null;
  onPair?(pair: Pair): void;
  onEnd?(end: End): void;
}

/** All that it looks like is in its attributes, so that it is the same when it is saved. The matrix says the same to those who cannot see it. */
export function Chord({ ends, pairs, by, lit, onPair, onEnd }: Props) {
  const { theme } = useShared(), picture = useRef<SVGSVGElement>(null), inks = theme.dark ? DARK_INKS : LIGHT_INKS;
  const shown = useMemo(() => pairs.filter((pair) => measured(pair, by) > 0), [pairs, by]);
  const layout = useMemo(() => {
    const place = (end: End) => ends.findIndex((one) => one.end === end);
    return layOutChord(ends.length, shown.map((pair) => ({ from: place(pair.from), to: place(pair.to), value: measured(pair, by) })));
  }, [ends, shown, by]);
  const short = shortNames(ends), width = 2 * (RADIUS + RIM + NAMES), height = 2 * (RADIUS + RIM + ABOVE);
  if (!shown.length) return <p class="quiet">Nothing of this is known.</p>;
  return (
    <figure class="comm-chord">
      <svg ref={picture} xmlns="http://www.w3.org/2000/svg" width={width} height={height} viewBox={`${-width / 2} ${-height / 2} ${width} ${height}`} role="img"
        aria-label="Who sends to whom, as ribbons between places on a circle; the matrix has the same numbers" font-family="system-ui, sans-serif" font-size="12">
        <rect x={-width / 2} y={-height / 2} width={width} height={height} fill={inks.paper} />
        {shown.map((pair, i) => (
          <path key={i} class="comm-ribbon" d={ribbonPath(layout.ribbons[i]!, RADIUS, HEAD)} fill={colourOf(ends, pair.from, theme)} fill-opacity={!lit ? 0.72 : lit(pair) ? 0.9 : 0.13}
            stroke={inks.ink} stroke-opacity={lit && !lit(pair) ? 0.1 : 0.45} stroke-width="0.7" onClick={onPair && (() => onPair(pair))}>
            <title>{pairText(pair)}</title>
          </path>
        ))}
        {ends.map(({ end, name }, i) => {
          const arc = layout.arcs[i]!, at = labelAt(arc, RADIUS + RIM + 8), words = shortened(short[i]!, LETTERS);
          return (
            <g key={String(end)} class="comm-end" onClick={onEnd && end !== null ? () => onEnd(end) : undefined}>
              <path d={arcPath(arc, RADIUS + 3, RADIUS + RIM)} fill={colourOf(ends, end, theme)} />
              {hasRoom(arc, RADIUS + RIM, words.length * LETTER, LINE) && (
                <text x={at.x.toFixed(1)} y={(at.y + 4).toFixed(1)} text-anchor={at.anchor} fill={inks.ink}>
                  {words}
                </text>
              )}
              <title>{name}</title>
            </g>
          );
        })}
      </svg>
      <figcaption>
        <PictureButtons name="communication" svg={() => picture.current && new XMLSerializer().serializeToString(picture.current)} />
      </figcaption>
    </figure>
  );
}
