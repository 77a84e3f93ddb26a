/* http.ts - requests to `sonde view`. The token comes with the address that the command opened; it is taken out of the
 * address at once, so that an address that is copied from the browser does not carry it. */
import type { Answer, Transport } from "./transport.js";

const KEY = "sonde-token";
const GONE = "Sonde no longer answers: start `sonde view` again, and open the address that it prints.";

/** The token of the address `#token=...`, else the one that this tab has had before. */
export function takeToken(): string {
  const match = /^#token=([0-9A-Za-z]+)(?:&(.*))?$/.exec(location.hash);
  if (!match) return sessionStorage.getItem(KEY) ?? "";
  sessionStorage.setItem(KEY, match[1]!);
  history.replaceState(null, "", location.pathname + (match[2] ? "#" + match[2] : ""));
  return match[1]!;
}

export class HttpTransport implements Transport {
  constructor(private readonly token: string) {}

  async ask(request: string, signal?: AbortSignal): Promise<Answer> {
    try {
      return await this.fetched(request, signal);
    } catch (error) {
      throw error instanceof TypeError ? new Error(GONE) : error; /* what fetch throws where nobody answers */
    }
  }

  private async fetched(request: string, signal?: AbortSignal): Promise<Answer> {
    const response = await fetch("ask/" + request, { headers: { "X-Sonde-Token": this.token }, signal });
    return { status: response.status, type: response.headers.get("Content-Type") ?? "", bytes: await response.arrayBuffer() };
  }
}
