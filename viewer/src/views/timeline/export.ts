/* export.ts - the picture as a file: SVG, and PNG made of it. */
import { shadeOf } from "../../draw/timeline/looks.js";
import { svgOf } from "../../model/timeline/picture.js";
import type { Stage } from "./stage.js";

export async function savePicture(stage: Stage, kind: "svg" | "png"): Promise<void> {
  const picture = stage.picture;
  if (!picture) return;
  const { palette } = picture, { paper, ink, quiet, line } = palette.colours;
  const svg = svgOf({ ...picture, texts: stage.labels.texts, colour: (label, shade) => palette.cssOf(label, shade), shade: shadeOf, paper, ink, quiet, line,
                      inkOn: (label) => palette.inkOn(label) });
  const file = new Blob([svg], { type: "image/svg+xml" });
  save(kind === "svg" ? file : await pngOf(file), `timeline.${kind}`);
}

async function pngOf(svg: Blob): Promise<Blob> {
  const url = URL.createObjectURL(svg), image = new Image();
  try {
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas"), scale = Math.min(2, 16000 / image.width, 16000 / image.height);
    canvas.width = Math.round(image.width * scale);
    canvas.height = Math.round(image.height * scale);
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise<Blob>((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("The picture could not be made."))), "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}

function save(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
