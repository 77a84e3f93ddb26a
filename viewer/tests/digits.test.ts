import { expect, test } from "vitest";
import { decode } from "../src/transport/digits.js";

/** As src/cmds/view/digits.c writes them: by arithmetic of any length. */
function encode(bytes: Uint8Array): string {
  const whole = [...bytes].reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n), bits = 8 * bytes.length;
  const digit = (value: bigint) => String.fromCharCode(35 + Number(value)).replace("<", "!");
  let text = "", at = 0;
  for (; bits - at > 6; at += 13) {
    const value = (whole >> BigInt(at)) & 8191n;
    text += digit(value % 91n) + digit(value / 91n);
  }
  return bits > at ? text + digit(whole >> BigInt(at)) : text;
}

test("bytes of every length come back, whatever they are", () => {
  for (let length = 0; length < 60; length++)
    for (const fill of [() => 0, () => 255, (i: number) => (i * 151 + length * 31) & 255]) {
      const bytes = Uint8Array.from({ length }, (_, i) => fill(i));
      expect([...new Uint8Array(decode(encode(bytes)))], `${length}`).toEqual([...bytes]);
    }
});

test("the texts are those that the page of the container has", () => {
  expect(encode(new TextEncoder().encode("Sonde"))).toBe("-Nc,?j#");
  expect(new TextDecoder().decode(decode("-Nc,?j#"))).toBe("Sonde");
  expect(/^[!#-;=-}]*$/.test(encode(Uint8Array.from({ length: 5000 }, (_, i) => (i * i) & 255)))).toBe(true);
});
