/* ask.ts - ask.mjs SONDE.WASM PAGE: as sonde-ask (tests/serve/ask.c), of the measurement within an HTML file of `sonde view --html`,
 * answered by sonde.wasm through the page's own code. */
import { readFileSync, writeSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type Container, unpack } from "../../viewer/src/transport/container.js";
import { decode } from "../../viewer/src/transport/digits.js";
import { Session } from "../../viewer/src/transport/session.js";

function file(path: string): Container {
  const bytes = readFileSync(path);
  const begin = bytes.indexOf('id="sonde-measurement">') + 'id="sonde-measurement">'.length;
  const packed = gunzipSync(new Uint8Array(decode(bytes.toString("latin1", begin, bytes.indexOf("<", begin)))));
  return unpack(packed.buffer.slice(packed.byteOffset, packed.byteOffset + packed.byteLength) as ArrayBuffer);
}

function out(bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += writeSync(1, bytes, done);
}

const [, , wasm, path] = process.argv as string[];
const session = new Session(new WebAssembly.Module(readFileSync(wasm!)), file(path!));
const asked = readFileSync(0);
for (let at = 0; at < asked.length;) {
  const end = asked.indexOf("\n", at);
  const length = Number(asked.toString("latin1", at, end));
  const answer = session.ask(asked.toString("utf8", end + 1, end + 1 + length));
  out(Buffer.from(`${answer.status} ${answer.type} ${answer.bytes.byteLength}\n`));
  out(new Uint8Array(answer.bytes));
  at = end + 1 + length;
}
