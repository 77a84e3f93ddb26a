/* strip.ts - shares over time as columns from below. Where several of them fall on one pixel it is as high as their mean. */

export interface StripColours {
  paper: string;
  ink: string;
}

export function drawStrip(context: CanvasRenderingContext2D, width: number, height: number, shares: Float64Array, colours: StripColours): void {
  context.fillStyle = colours.paper;
  context.fillRect(0, 0, width, height);
  context.fillStyle = colours.ink;
  const columns = Math.max(1, Math.round(width));
  for (let x = 0; x < columns; x++) {
    const share = meanOver(shares, (x / columns) * shares.length, ((x + 1) / columns) * shares.length);
    if (share > 0) {
      const high = Math.max(share * height, 1); /* a little is not nothing */
      context.fillRect(x, height - high, 1, high);
    }
  }
}

/** Of a piecewise constant function; its ends may lie within pieces. */
export function meanOver(values: Float64Array, from: number, to: number): number {
  let sum = 0;
  for (let i = Math.floor(from); i < Math.min(Math.ceil(to), values.length); i++) sum += values[i]! * (Math.min(to, i + 1) - Math.max(from, i));
  return to > from ? sum / (to - from) : 0;
}
