/* digits.ts - the bytes that src/cmds/view/digits.c wrote as text: 13 bits are two of 91 characters (docs/developers/viewer.md, "Bytes as text"). */

const BASE = 91, FIRST = 35, BEFORE = 33, LESS = 60 - FIRST; /* from # on, with ! in the place of < */
const PAIR_BITS = 13, ALONE_BITS = 6;

export function decode(text: string): ArrayBuffer {
  const pairs = text.length >> 1, alone = text.length & 1;
  const bytes = new Uint8Array(Math.floor((PAIR_BITS * pairs + ALONE_BITS * alone) / 8)), digit = (at: number) => {
    const code = text.charCodeAt(at);
    return code === BEFORE ? LESS : code - FIRST;
  };
  let bits = 0, count = 0, to = 0;
  for (let at = 0; at < 2 * pairs; at += 2) {
    bits |= (digit(at) + BASE * digit(at + 1)) << count;
    for (count += PAIR_BITS; count >= 8; count -= 8) {
      bytes[to++] = bits & 255;
      bits >>= 8;
    }
  }
  if (to < bytes.length) bytes[to] = (bits | (digit(2 * pairs) << count)) & 255;
  return bytes.buffer;
}
