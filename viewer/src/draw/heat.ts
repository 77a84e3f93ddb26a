/* heat.ts - numbers in rows and columns as one hue, the stronger the more. Knows nothing of profiles. */

export interface Heat {
  rows: number;
  columns: number;
  /** Row after row; 0: nothing there. */
  values: Float64Array;
  most: number;
}

export interface HeatColours {
  paper: string;
  ink: string;
}

/** A little is not nothing. */
const LEAST = 0.15;

export function drawHeat(context: CanvasRenderingContext2D, width: number, height: number, { rows, columns, values, most }: Heat, colours: HeatColours): void {
  context.globalAlpha = 1;
  context.fillStyle = colours.paper;
  context.fillRect(0, 0, width, height);
  context.fillStyle = colours.ink;
  for (let row = 0; row < rows; row++) {
    const y = Math.floor((row / rows) * height), high = Math.max(Math.floor(((row + 1) / rows) * height) - y, 1);
    for (let column = 0; column < columns; column++) {
      const value = values[row * columns + column]!;
      if (!(value > 0)) continue;
      const x = Math.floor((column / columns) * width), wide = Math.max(Math.floor(((column + 1) / columns) * width) - x, 1);
      context.globalAlpha = LEAST + (1 - LEAST) * (value / most);
      context.fillRect(x, y, wide, high);
    }
  }
  context.globalAlpha = 1;
}

/** Which part a point is in. */
export function heatAt({ rows, columns }: Heat, width: number, height: number, x: number, y: number): { row: number; column: number } {
  const within = (at: number, parts: number) => Math.min(Math.max(Math.floor(at * parts), 0), parts - 1);
  return { row: within(y / height, rows), column: within(x / width, columns) };
}
