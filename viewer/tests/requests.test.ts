/* requests.test.ts - requests as they are encoded, kept, and refused. */
import { expect, test, vi } from "vitest";
import { request, RequestError, Requests } from "../src/model/requests.js";
import type { Answer, Transport } from "../src/transport/transport.js";
import { HttpTransport } from "../src/transport/http.js";

const answered = (status: number, text: string): Answer => ({ status, type: "application/json", bytes: new TextEncoder().encode(text).buffer as ArrayBuffer });

function counting(answer: () => Promise<Answer>): Transport & { asked: string[] } {
  const asked: string[] = [];
  return { asked, ask: (text) => (asked.push(text), answer()) };
}

test("encoding", () => {
  expect(request("run")).toBe("run");
  expect(request("view", "profile", { "bottom-up": true, "min-percent": 5, root: "#12", ids: false, sort: null, depth: undefined })).toBe("view/profile?bottom-up&min-percent=5&root=%2312");
  expect(request("find", null, { text: "a+b & c=é/?" })).toBe("find?text=a%2Bb%20%26%20c%3D%C3%A9%2F%3F");
});

test("one question is asked once, unless it failed or may be aborted", async () => {
  const transport = counting(async () => answered(200, "[1]")), requests = new Requests(transport);
  expect(await Promise.all([requests.json("run"), requests.json("run")])).toEqual([[1], [1]]);
  expect(transport.asked).toEqual(["run"]);
  await requests.json("views", new AbortController().signal);
  await requests.json("views", new AbortController().signal);
  expect(transport.asked).toEqual(["run", "views", "views"]);
  const failing = counting(() => Promise.reject(new Error("gone"))), others = new Requests(failing);
  await expect(others.json("run")).rejects.toThrow("gone");
  await expect(others.json("run")).rejects.toThrow("gone");
  expect(failing.asked.length).toBe(2);
});

test("an error says what Sonde said", async () => {
  const problem = { what: "there is no view 'kernel'", where: null, why: null, hint: "did you mean 'kernels'?", option: null, at: null, more: [] };
  const requests = new Requests(counting(async () => answered(404, JSON.stringify({ error: problem }))));
  const error = await requests.json("text/kernel").catch((one: RequestError) => one);
  expect(error).toBeInstanceOf(RequestError);
  expect((error as RequestError).message).toBe("there is no view 'kernel'");
  expect((error as RequestError).problem.hint).toBe("did you mean 'kernels'?");
  const mute = new Requests(counting(async () => answered(500, "<html>")));
  await expect(mute.json("run")).rejects.toThrow("status 500");
});

test("a server that is gone is one sentence, and an aborted request none", async () => {
  const fetched = vi.fn();
  vi.stubGlobal("fetch", fetched);
  fetched.mockRejectedValueOnce(new TypeError("Failed to fetch"));
  await expect(new HttpTransport("t").ask("run")).rejects.toThrow(/^Sonde no longer answers: .*\.$/);
  const aborted = new DOMException("aborted", "AbortError");
  fetched.mockRejectedValueOnce(aborted);
  await expect(new HttpTransport("t").ask("run")).rejects.toBe(aborted);
  vi.unstubAllGlobals();
});
