/* cut.tsx - a name that is too long for its place is cut in the middle, whatever the width: its end stays, its begin gives way. The whole is its tip. */

const SHORT = 24, END = 12;

export function Cut({ text }: { text: string }) {
  const letters = Array.from(visible(text));
  if (letters.length <= SHORT) return <span class="part-whole">{letters.join("")}</span>;
  return (
    <span class="part-cut" data-tip={text}>
      <span>{letters.slice(0, -END).join("")}</span>
      <span>{letters.slice(-END).join("")}</span>
    </span>
  );
}

/** A name may have a line end or worse in it: it is shown as its picture. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f]/g, (letter) => (letter === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + letter.charCodeAt(0))));
}
