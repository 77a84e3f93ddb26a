/* embedded.ts - requests to the workers of a page that has everything within: their script, sonde.wasm and the measurement are texts of
 * the page (docs/developers/viewer.md). There are two, each with the measurement open: what is drawn does not wait for what reads the whole trace. A
 * worker answers one request after the other; what is aborted while it waits is never asked. */
import { decode } from "./digits.js";
import type { Answer, Transport } from "./transport.js";
import type { FromWorker, ToWorker } from "./worker.js";

interface Waiting {
  message: ToWorker;
  move: Transferable[];
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

type Message<T> = T extends { id: number } ? Omit<T, "id"> : never;

/** One worker, and what waits for it. */
class Line {
  private readonly queue: Waiting[] = [];
  private asked: Waiting | null = null;
  private last = 0;
  private broken: Error | null = null;

  constructor(private readonly worker: Worker, wasm: ArrayBuffer, measurement: ArrayBuffer) {
    worker.onmessage = (event: MessageEvent<FromWorker>) => this.answered(event.data);
    worker.onerror = (event) => this.failed(new Error(event.message || "the worker of this page cannot be started"));
    this.send({ open: { wasm, measurement } }, [wasm, measurement]).catch((error: Error) => this.failed(error));
  }

  ask(request: string, signal?: AbortSignal): Promise<Answer> {
    return this.send({ ask: request }, [], signal);
  }

  private send(message: Message<ToWorker>, move: Transferable[], signal?: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      if (this.broken) return reject(this.broken);
      const waiting: Waiting = { message: { id: ++this.last, ...message } as ToWorker, move, resolve, reject };
      signal?.addEventListener("abort", () => {
        const at = this.queue.indexOf(waiting);
        if (at >= 0) this.queue.splice(at, 1);
        reject(signal.reason as Error);
      }, { once: true });
      this.queue.push(waiting);
      this.next();
    });
  }

  private next(): void {
    if (this.asked) return;
    const waiting = this.queue.shift();
    if (!waiting) return;
    this.asked = waiting;
    this.worker.postMessage(waiting.message, waiting.move);
  }

  private answered(reply: FromWorker): void {
    const asked = this.asked;
    if (!asked || asked.message.id !== reply.id) return;
    this.asked = null;
    if ("failed" in reply) asked.reject(new Error(reply.failed));
    else asked.resolve({ status: reply.status, type: reply.type, bytes: reply.bytes });
    this.next();
  }

  /** Nothing can be answered any more. */
  private failed(error: Error): void {
    this.broken = error;
    for (const waiting of [...(this.asked ? [this.asked] : []), ...this.queue.splice(0)]) waiting.reject(error);
    this.asked = null;
  }
}

/** What is answered at once, and is drawn: all else may take seconds. */
const QUICK = /^(run|views|timeline|overview|operation)\b/;

export class EmbeddedTransport implements Transport {
  private readonly quick: Line;
  private readonly thorough: Line;

  constructor(worker: () => Worker, wasm: ArrayBuffer, measurement: ArrayBuffer) {
    this.quick = new Line(worker(), wasm.slice(0), measurement.slice(0));
    this.thorough = new Line(worker(), wasm, measurement);
  }

  ask(request: string, signal?: AbortSignal): Promise<Answer> {
    return (QUICK.test(request) ? this.quick : this.thorough).ask(request, signal);
  }
}

/** The page's text with this id; it is taken out of the page, since a decoded copy is kept. */
function take(id: string): string {
  const element = document.getElementById(id);
  const text = (element?.textContent ?? "").trim();
  element?.remove();
  return text;
}

function unzip(bytes: ArrayBuffer): Promise<ArrayBuffer> {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** Null: the page has no measurement within, and is behind a server. */
export async function openEmbedded(): Promise<EmbeddedTransport | null> {
  if (!document.getElementById("sonde-measurement")) return null;
  const script = URL.createObjectURL(new Blob([take("sonde-worker")], { type: "text/javascript" }));
  return new EmbeddedTransport(() => new Worker(script), await unzip(decode(take("sonde-wasm"))), await unzip(decode(take("sonde-measurement"))));
}
