/* bar.tsx - shares as lengths. Numbers beside them are the caller's: a bar shows no number. */

export interface Part {
  key: string;
  /** Of the whole bar, 0 to 1. */
  share: number;
  /** What it says when it is pointed at. */
  tip: string;
  /** A class that colours it, such as `kind-busy`, or a colour. */
  kind?: string;
  colour?: string;
}

export function Bar({ parts, label }: { parts: Part[]; label: string }) {
  return (
    <div class="part-bar" role="img" aria-label={label}>
      {parts.map((part) => (
        <span key={part.key} class={part.kind} data-tip={part.tip} style={{ width: `${clamped(part.share) * 100}%`, ...(part.colour ? { background: part.colour } : {}) }} />
      ))}
    </div>
  );
}

/** A length behind a number; in a colour of its own it is a line below it, so that the number stays readable. */
export function Length({ share, colour }: { share: number; colour?: string }) {
  return <span class={colour ? "part-length coloured" : "part-length"} aria-hidden="true" style={{ width: `${clamped(share) * 100}%`, ...(colour ? { background: colour } : {}) }} />;
}

function clamped(share: number): number {
  return Number.isFinite(share) ? Math.min(Math.max(share, 0), 1) : 0;
}
