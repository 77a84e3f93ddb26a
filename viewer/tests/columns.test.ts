/* columns.test.ts - answers in columns, byte for byte as docs/developers/requests.md lays them out. */
import { expect, test } from "vitest";
import { decodeColumns, toNumbers } from "../src/model/columns.js";

/** Written by hand from the document, not with what is tested. */
function answer(header: object, columns: [string, string, number[]][]): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify({ ...header, columns: columns.map(([name, type, values]) => ({ name, type, count: values.length })) }));
  const sizes: Record<string, number> = { f64: 8, u64: 8, u32: 4, u16: 2, u8: 1 }, up = (n: number) => Math.ceil(n / 8) * 8;
  const total = columns.reduce((sum, [, type, values]) => sum + up(values.length * sizes[type]!), up(16 + text.length));
  const bytes = new Uint8Array(total).fill(0), data = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("SNDCOLS1"));
  data.setUint32(8, text.length, true);
  bytes.fill(0x20, 16, up(16 + text.length));
  bytes.set(text, 16);
  let at = up(16 + text.length);
  for (const [, type, values] of columns) {
    values.forEach((value, i) => {
      const place = at + i * sizes[type]!;
      if (type === "f64") data.setFloat64(place, value, true);
      else if (type === "u64") data.setBigUint64(place, BigInt(value), true);
      else if (type === "u32") data.setUint32(place, value, true);
      else if (type === "u16") data.setUint16(place, value, true);
      else data.setUint8(place, value);
    });
    at = up(at + values.length * sizes[type]!);
  }
  return bytes.buffer;
}

test("each type, of lengths that need padding", () => {
  for (let padding = 0; padding < 8; padding++) {
    const { header, columns } = decodeColumns<{ name: string }>(
      answer({ name: "é".padEnd(padding, "x") }, [["a", "u8", [1, 2, 255]], ["b", "u16", [65535]], ["c", "u32", [1, 4294967295, 3]], ["d", "u64", [2 ** 53, 7]], ["e", "f64", [0.5, -1e300]], ["none", "u32", []]]),
    );
    expect(header.name.startsWith("é")).toBe(true);
    expect([...columns.a!]).toEqual([1, 2, 255]);
    expect([...columns.b!]).toEqual([65535]);
    expect([...columns.c!]).toEqual([1, 4294967295, 3]);
    expect([...toNumbers(columns.d!)]).toEqual([2 ** 53, 7]);
    expect([...columns.e!]).toEqual([0.5, -1e300]);
    expect(columns.none!.length).toBe(0);
  }
});

test("what is no such answer is refused", () => {
  expect(() => decodeColumns(new ArrayBuffer(0))).toThrow("not in columns");
  expect(() => decodeColumns(new TextEncoder().encode('{"error": {"what": "x"}}').buffer as ArrayBuffer)).toThrow("not in columns");
});
