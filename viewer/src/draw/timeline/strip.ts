/* strip.ts - how busy something was, as a strip: the height of a column is the share. In CSS pixels. */

export interface Strip {
  columns: Float32Array;
  y: number;
  height: number;
  colour: string;
}

export function drawStrip(context: CanvasRenderingContext2D, strip: Strip): void {
  const { columns, y, height } = strip;
  context.fillStyle = strip.colour;
  context.beginPath();
  for (let x = 0; x < columns.length; x++) {
    const first = x, size = Math.max(columns[x]! * height, columns[x]! > 0 ? 0.5 : 0);
    if (!size) continue;
    while (x + 1 < columns.length && columns[x + 1] === columns[first]) x++;
    context.rect(first, y + height - size, x + 1 - first, size);
  }
  context.fill();
}
