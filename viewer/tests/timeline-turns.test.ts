import { describe, expect, it } from "vitest";
import { turns } from "../src/model/timeline/turns.js";

describe("turns", () => {
  it("ask one at a time, and of those that wait only what is still wanted", async () => {
    const turn = turns(), begun: string[] = [], ends: (() => void)[] = [];
    const ask = (name: string, signal: AbortSignal) => turn(() => new Promise<string>((done) => (begun.push(name), ends.push(() => done(name)))), signal);
    const gone = new AbortController(), wanted = new AbortController();
    const first = ask("first", gone.signal), second = ask("second", gone.signal).catch(() => "not asked"), third = ask("third", wanted.signal);
    await Promise.resolve();
    expect(begun).toEqual(["first"]);
    gone.abort();
    ends[0]!();
    expect([await first, await second]).toEqual(["first", "not asked"]);
    await Promise.resolve();
    expect(begun).toEqual(["first", "third"]);
    ends[1]!();
    expect(await third).toBe("third");
  });

  it("go on after one that failed", async () => {
    const turn = turns(), { signal } = new AbortController();
    await expect(turn(() => Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
    expect(await turn(() => Promise.resolve(1), signal)).toBe(1);
  });
});
