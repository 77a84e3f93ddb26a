/* requests.ts - typed requests over a transport. Answers that cannot change are kept: a measurement does not change while it is shown. */
import type { Answer, Transport } from "../transport/transport.js";
import { decodeColumns, type Columns } from "./columns.js";
import type { Problem } from "./types.js";

/** What Sonde answered in place of what was asked: one sentence, the reason and what to do. */
export class RequestError extends Error {
  constructor(readonly status: number, readonly problem: Problem) {
    super([problem.what, problem.where].filter(Boolean).join(" "));
  }
}

export type Options = Record<string, string | number | boolean | null | undefined>;

/** `NAME`, `NAME/ARGUMENT`, with options; one that is false, null or undefined is left out, true is a flag. */
export function request(name: string, argument: string | null = null, options: Options = {}): string {
  const encode = encodeURIComponent;
  const words = Object.entries(options)
    .filter(([, value]) => value !== false && value !== null && value !== undefined)
    .map(([key, value]) => (value === true ? encode(key) : `${encode(key)}=${encode(String(value))}`));
  return encode(name) + (argument === null ? "" : "/" + encode(argument)) + (words.length ? "?" + words.join("&") : "");
}

const KEPT = 200;

export class Requests {
  private readonly kept = new Map<string, Promise<Answer>>();

  constructor(private readonly transport: Transport) {}

  async json<T>(asked: string, signal?: AbortSignal): Promise<T> {
    return JSON.parse(new TextDecoder().decode((await this.answer(asked, signal)).bytes)) as T;
  }

  async text(asked: string, signal?: AbortSignal): Promise<string> {
    return new TextDecoder().decode((await this.answer(asked, signal)).bytes);
  }

  async columns<Header extends object>(asked: string, signal?: AbortSignal): Promise<Columns<Header>> {
    return decodeColumns<Header>((await this.answer(asked, signal)).bytes);
  }

  /** One that can be aborted is not kept, so that nobody else waits for what is no longer wanted. */
  private async answer(asked: string, signal?: AbortSignal): Promise<Answer> {
    let answer = this.kept.get(asked);
    if (!answer) {
      answer = this.transport.ask(asked, signal);
      if (!signal) {
        this.kept.set(asked, answer);
        answer.catch(() => this.kept.delete(asked));
        if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value!);
      }
    }
    return checked(await answer);
  }
}

function checked(answer: Answer): Answer {
  if (answer.status < 400) return answer;
  let problem: Problem;
  try {
    problem = (JSON.parse(new TextDecoder().decode(answer.bytes)) as { error: Problem }).error;
  } catch {
    problem = { what: `the request failed with status ${answer.status}`, where: null, why: null, hint: null, option: null, at: null, more: [] };
  }
  throw new RequestError(answer.status, problem);
}
