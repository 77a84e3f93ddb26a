/* svg.ts - pictures as text: what those that are saved share. */

/** Names of programs are text: what XML cannot hold (control characters, halves of characters) becomes a space. */
export function escapeMarkup(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return [...text]
    .map((letter) => {
      const code = letter.codePointAt(0)!;
      if (code < 0x20 || code === 0x7f || (code >= 0xd800 && code <= 0xdfff) || code === 0xfffe || code === 0xffff) return " ";
      return entities[letter] ?? letter;
    })
    .join("");
}

export function svgOfParts(width: number, height: number, paper: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    rect(0, 0, width, height, paper),
    ...parts,
    "</svg>\n",
  ].join("\n");
}

const ROUND = 100;

export function round(value: number): string {
  return String(Math.round(value * ROUND) / ROUND);
}

export function rect(x: number, y: number, width: number, height: number, fill: string, opacity = 1): string {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${fill}"${opacity < 1 ? ` fill-opacity="${opacity}"` : ""}/>`;
}

export function text(x: number, y: number, words: string, fill: string, anchor = "start"): string {
  return `<text x="${round(x)}" y="${round(y)}" fill="${fill}" text-anchor="${anchor}">${escapeMarkup(words)}</text>`;
}
