/* download.tsx - buttons that save what is shown: a table as CSV, a picture as SVG or PNG. Nothing leaves the machine. */
import { useState } from "preact/hooks";
import { csvOf, savePicture, saveText } from "../../draw/save.js";
import { Failure } from "../failure.jsx";

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

/** `svg`: the picture as it is now; null: there is none yet. */
export function PictureButtons({ name, svg }: { name: string; svg: () => string | null }) {
  const [problem, setProblem] = useState<Error | null>(null);
  const saveAs = (kind: "svg" | "png") => {
    const picture = svg();
    setProblem(null);
    if (picture) savePicture(name, picture, kind).catch(setProblem);
  };
  return (
    <>
      {(["svg", "png"] as const).map((kind) => (
        <button key={kind} type="button" data-tip={`Save this picture as ${kind.toUpperCase()}`} onClick={() => saveAs(kind)}>
          {kind.toUpperCase()}
        </button>
      ))}
      {problem && <Failure error={problem} />}
    </>
  );
}
