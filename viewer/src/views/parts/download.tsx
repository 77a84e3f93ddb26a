/* download.tsx - buttons that save what is shown: a table as CSV, a picture as SVG or PNG. Nothing leaves the machine. */
import { csvOf, save, saveText } from "../../draw/save.js";

/** A name for a file of what the program calls itself. */
export function fileName(...words: string[]): string {
  return words.join("-").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/-{2,}/g, "-").replace(/^[-.]+|-+$/g, "").slice(0, 100) || "sonde";
}

export function CsvButton({ name, rows }: { name: string; rows: () => (string | number | null)[][] }) {
  return (
    <button type="button" data-tip="Save what is shown as CSV: the rows and the order of the table, numbers in full" onClick={() => saveText(`${fileName(name)}.csv`, csvOf(rows()), "text/csv")}>
      CSV
    </button>
  );
}

export function SvgButton({ name, svg }: { name: string; svg: () => string }) {
  return (
    <button type="button" data-tip="Save this picture as SVG" onClick={() => saveText(`${fileName(name)}.svg`, svg(), "image/svg+xml")}>
      SVG
    </button>
  );
}

export function PngButton({ name, canvas }: { name: string; canvas: () => HTMLCanvasElement | null }) {
  return (
    <button type="button" data-tip="Save this picture as PNG" onClick={() => canvas()?.toBlob((blob) => blob && save(`${fileName(name)}.png`, blob), "image/png")}>
      PNG
    </button>
  );
}
