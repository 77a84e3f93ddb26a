/* worker.ts - the worker of a page that has its measurement within: sonde.wasm answers here, so that the page never waits.
 * docs/developers/viewer.md has the messages. */
import { unpack } from "./container.js";
import { Session } from "./session.js";

export type ToWorker = { id: number } & ({ open: { wasm: ArrayBuffer; measurement: ArrayBuffer } } | { ask: string });
export type FromWorker = { id: number } & ({ status: number; type: string; bytes: ArrayBuffer } | { failed: string });

let session: Session | null = null;

function answer(message: ToWorker): FromWorker {
  const { id } = message;
  try {
    if ("open" in message) {
      session = new Session(new WebAssembly.Module(message.open.wasm), unpack(message.open.measurement));
      return { id, status: 200, type: "", bytes: new ArrayBuffer(0) };
    }
    if (!session) return { id, failed: "no measurement is open" };
    return { id, ...session.ask(message.ask) };
  } catch (error) {
    return { id, failed: error instanceof Error ? error.message : String(error) };
  }
}

const scope = self as unknown as DedicatedWorkerGlobalScope;
scope.onmessage = (event: MessageEvent<ToWorker>) => {
  const reply = answer(event.data);
  scope.postMessage(reply, "bytes" in reply ? [reply.bytes] : []);
};
