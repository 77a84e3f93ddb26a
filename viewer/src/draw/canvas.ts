/* canvas.ts - a canvas that is as sharp as the screen, and pictures of it. Knows nothing of profiles. */

/** Makes the canvas as large as its box in device pixels; its context then counts in CSS pixels. */
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d", { alpha: false })!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** The text cut in its middle so that it fits `width`; empty if not even three letters do. */
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  const whole = context.measureText(text).width;
  if (whole <= width) return text;
  const room = Math.floor((text.length * width) / whole);
  if (room < 3) return "";
  const left = Math.ceil((room - 1) / 2);
  return text.slice(0, left) + "…" + text.slice(text.length - (room - 1 - left));
}
