/* session.ts - sonde.wasm with an open measurement: requests and answers, one after the other. src/wasm/exports.h has what it exports.
 * Runs in a worker of the page, and in Node.js for tests. */
import type { Container } from "./container.js";
import type { Answer } from "./transport.js";
import { Wasi } from "./wasi.js";

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  sonde_wasm_reserve(bytes: number): number;
  sonde_wasm_open(): number;
  sonde_wasm_ask(bytes: number): number;
  sonde_wasm_type(): number;
  sonde_wasm_bytes(): number;
  sonde_wasm_size(): number;
}

export class Session {
  private exports: Exports | null;

  /** An error that is thrown is one sentence. */
  constructor(private readonly module: WebAssembly.Module, private readonly container: Container) {
    this.exports = this.start();
  }

  ask(request: string): Answer {
    const sonde = (this.exports ??= this.start());
    try {
      const status = sonde.sonde_wasm_ask(this.write(sonde, request));
      return { status, type: this.type(sonde), bytes: this.answer(sonde) };
    } catch (error) {
      this.exports = null; // what stopped in the middle may hold anything: the next request finds a new one
      throw this.reason(error);
    }
  }

  private start(): Exports {
    const wasi = new Wasi(this.container);
    const sonde = new WebAssembly.Instance(this.module, wasi.importsOf(this.module)).exports as unknown as Exports;
    wasi.memory = sonde.memory;
    let failed: number;
    try {
      sonde._initialize();
      this.write(sonde, this.container.path);
      failed = sonde.sonde_wasm_open();
    } catch (error) {
      throw this.reason(error);
    }
    if (failed) throw new Error(new TextDecoder().decode(this.answer(sonde)));
    return sonde;
  }

  private reason(error: unknown): Error {
    const why = error instanceof Error ? error.message : String(error);
    return new Error(`there is no answer: memory may be exhausted (${why})`);
  }

  private write(sonde: Exports, text: string): number {
    const bytes = new TextEncoder().encode(text);
    const to = sonde.sonde_wasm_reserve(bytes.length);
    if (!to) throw new Error("out of memory");
    new Uint8Array(sonde.memory.buffer, to, bytes.length).set(bytes);
    return bytes.length;
  }

  private type(sonde: Exports): string {
    const memory = new Uint8Array(sonde.memory.buffer);
    const at = sonde.sonde_wasm_type();
    return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
  }

  private answer(sonde: Exports): ArrayBuffer {
    const at = sonde.sonde_wasm_bytes();
    return (sonde.memory.buffer as ArrayBuffer).slice(at, at + sonde.sonde_wasm_size());
  }
}
