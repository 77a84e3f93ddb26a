/* export.ts - the picture of the time line as it is on screen, as SVG. */
import { lineColourOf } from "../../draw/colours.js";
import { shadeOf } from "../../draw/timeline/looks.js";
import { svgOf } from "../../model/timeline/picture.js";
import type { Stage } from "./stage.js";

/** null: nothing is drawn yet. */
export function pictureOf(stage: Stage): string | null {
  const picture = stage.picture;
  if (!picture) return null;
  const { palette } = picture, { paper, ink, quiet, line, accent } = palette.colours;
  return svgOf({ ...picture, texts: picture.labels.texts, colour: (label, shade) => palette.cssOf(label, shade), counterColour: (name) => lineColourOf(name, palette.theme),
                 shade: shadeOf, paper, ink, quiet, line, accent, inkOn: (label) => palette.inkOn(label) });
}
