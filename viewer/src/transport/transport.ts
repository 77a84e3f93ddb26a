/* transport.ts - how a request reaches Sonde: a server behind the page, or WebAssembly within it.
 *
 * A request is the text of docs/developers/requests.md, encoded as there. The answer's status is that of HTTP; one of 400 and above
 * is JSON that says why. A promise is rejected only when there is no answer at all: the server is gone, or the request was aborted. */

export interface Answer {
  status: number;
  type: string;
  bytes: ArrayBuffer;
}

export interface Transport {
  ask(request: string, signal?: AbortSignal): Promise<Answer>;
}
