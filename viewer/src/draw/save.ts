/* save.ts - hands a picture or a table to the browser as a file. */

export function save(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob), link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function saveText(name: string, text: string, type: string): void {
  save(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** A picture, as it is or as PNG made of it, twice as fine. */
export async function savePicture(name: string, svg: string, kind: "svg" | "png"): Promise<void> {
  const file = new Blob([svg], { type: "image/svg+xml;charset=utf-8" });
  save(`${name}.${kind}`, kind === "svg" ? file : await pngOf(file));
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

/** Rows as CSV (RFC 4180). A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvOf(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function csvCell(cell: string | number | null): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? "'" + cell : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
