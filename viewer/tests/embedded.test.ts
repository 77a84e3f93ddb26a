import { beforeEach, expect, test } from "vitest";
import { EmbeddedTransport } from "../src/transport/embedded.js";
import type { FromWorker, ToWorker } from "../src/transport/worker.js";

/** A worker that answers when it is told to. */
class Made {
  readonly came: ToWorker[] = [];
  onmessage: (event: { data: FromWorker }) => void = () => undefined;
  onerror: (event: { message: string }) => void = () => undefined;
  postMessage(message: ToWorker): void {
    this.came.push(message);
  }
  /** The answer to the last message. */
  answer(text = ""): void {
    this.onmessage({ data: { id: this.came.at(-1)!.id, status: 200, type: "", bytes: new TextEncoder().encode(text).buffer as ArrayBuffer } });
  }
  get asked(): string[] {
    return this.came.flatMap((message) => ("ask" in message ? [message.ask] : []));
  }
}

let workers: Made[], transport: EmbeddedTransport;
const textOf = async (answer: Promise<{ bytes: ArrayBuffer }>) => new TextDecoder().decode((await answer).bytes);
const turn = () => new Promise((done) => setTimeout(done, 0));

beforeEach(() => {
  workers = [];
  transport = new EmbeddedTransport(() => workers[workers.push(new Made()) - 1] as unknown as Worker, new ArrayBuffer(3), new ArrayBuffer(5));
});

test("each of two workers opens the whole measurement", () => {
  expect(workers.length).toBe(2);
  for (const { came } of workers) {
    expect(came.length).toBe(1);
    const [message] = came;
    expect("open" in message! && [message.open.wasm.byteLength, message.open.measurement.byteLength]).toEqual([3, 5]);
  }
});

test("what is drawn does not wait for what takes long", async () => {
  for (const worker of workers) worker.answer();
  const slow = transport.ask("view/statistics?from=1ns"), drawn = transport.ask("timeline?lanes=0:1"), run = transport.ask("run");
  const [quick, thorough] = workers as [Made, Made];
  expect([quick.asked, thorough.asked]).toEqual([["timeline?lanes=0:1"], ["view/statistics?from=1ns"]]);
  quick.answer("tiles");
  expect(await textOf(drawn)).toBe("tiles");
  quick.answer("the run");
  expect(await textOf(run)).toBe("the run");
  thorough.answer("statistics");
  expect(await textOf(slow)).toBe("statistics");
});

test("one after the other, and none that was aborted before its turn", async () => {
  for (const worker of workers) worker.answer();
  const abort = new AbortController(), quick = workers[0]!;
  const first = transport.ask("timeline?lanes=0:1"), second = transport.ask("timeline?lanes=0:2", abort.signal), third = transport.ask("timeline?lanes=0:3");
  abort.abort();
  await expect(second).rejects.toThrow();
  quick.answer("one");
  expect(await textOf(first)).toBe("one");
  quick.answer("three");
  expect(await textOf(third)).toBe("three");
  expect(quick.asked).toEqual(["timeline?lanes=0:1", "timeline?lanes=0:3"]);
});

test("where a worker cannot begin, its requests fail and those of the other do not", async () => {
  const [quick, thorough] = workers as [Made, Made];
  thorough.onerror({ message: "no memory" });
  quick.answer();
  await expect(transport.ask("view/kernels")).rejects.toThrow("no memory");
  const run = transport.ask("run");
  await turn();
  quick.answer("here");
  expect(await textOf(run)).toBe("here");
});
