/* looks.ts - how each look is made of shades, step by step from the bottom: the same on screen, in files and in the legend. */
import { Look, STEPS } from "../../model/timeline/strokes.js";
import { Shade } from "./palette.js";

export function shadeOf(look: Look, height: number, step: number): Shade {
  switch (look) {
    case Look.Sampled: return step >= height ? Shade.None : step === 0 ? Shade.Full : Shade.Pale;
    case Look.Striped: return step >= height ? Shade.None : step % 2 === 0 ? Shade.Full : Shade.Pale;
    case Look.Low: return step < Math.min(height, 2) ? Shade.Full : Shade.None;
    case Look.Half: return step < Math.min(height, 3) ? Shade.Full : Shade.None;
    case Look.Mark: return step < 5 ? Shade.Mark : Shade.None;
    case Look.Hatched: return Shade.None;
    default: return step < height ? Shade.Full : Shade.None;
  }
}

export const LOOKS = 7;

/** Where something begins: a darker line, but no more than its own colour where it is not known for certain. */
function edgeOf(look: Look, shade: Shade): Shade {
  if (shade === Shade.Mark || shade === Shade.None) return shade;
  return look === Look.Solid || look === Look.Half ? Shade.Edge : Shade.Full;
}

/** [((edge * LOOKS + look) * (STEPS + 1) + height) * STEPS + step] */
export const SHADE_TABLE = (() => {
  const table = new Uint8Array(2 * LOOKS * (STEPS + 1) * STEPS);
  for (let look = 0; look < LOOKS; look++)
    for (let height = 0; height <= STEPS; height++)
      for (let step = 0; step < STEPS; step++) {
        const shade = shadeOf(look as Look, height, step);
        for (let edge = 0; edge < 2; edge++) table[((edge * LOOKS + look) * (STEPS + 1) + height) * STEPS + step] = edge ? edgeOf(look as Look, shade) : shade;
      }
  return table;
})();
