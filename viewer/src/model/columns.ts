/* columns.ts - answers in columns (docs/developers/requests.md, "Columns"): a JSON header, and arrays that are views into the answer. */

export type Numbers = Float64Array | BigUint64Array | Uint32Array | Uint16Array | Uint8Array;

export interface Columns<Header> {
  header: Header;
  columns: Record<string, Numbers>;
}

const MAGIC = "SNDCOLS1";
const ARRAYS = { f64: Float64Array, u64: BigUint64Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array } as const;

type Described = { name: string; type: keyof typeof ARRAYS; count: number };

export function decodeColumns<Header extends object>(bytes: ArrayBuffer): Columns<Header> {
  const text = new TextDecoder();
  if (bytes.byteLength < 16 || text.decode(new Uint8Array(bytes, 0, 8)) !== MAGIC) throw new Error("the answer is not in columns");
  const length = new DataView(bytes).getUint32(8, true);
  const header = JSON.parse(text.decode(new Uint8Array(bytes, 16, length))) as Header & { columns: Described[] };
  const columns: Record<string, Numbers> = {};
  let at = align(16 + length);
  for (const { name, type, count } of header.columns) {
    const array = ARRAYS[type];
    columns[name] = new array(bytes, at, count);
    at = align(at + count * array.BYTES_PER_ELEMENT);
  }
  return { header, columns };
}

/** Times fit a double without loss up to 104 days. */
export function toNumbers(column: Numbers): Float64Array {
  if (column instanceof Float64Array) return column;
  const numbers = new Float64Array(column.length);
  if (column instanceof BigUint64Array) {
    const halves = new Uint32Array(column.buffer, column.byteOffset, 2 * column.length); /* without a BigInt for each */
    for (let i = 0; i < numbers.length; i++) numbers[i] = halves[2 * i]! + halves[2 * i + 1]! * 0x1_0000_0000;
  } else {
    for (let i = 0; i < numbers.length; i++) numbers[i] = column[i]!;
  }
  return numbers;
}

function align(at: number): number {
  return (at + 7) & ~7;
}
