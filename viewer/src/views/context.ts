/* context.ts - what every view can use: requests, the run, the address and the theme. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Theme } from "../draw/colours.js";
import type { Address } from "../model/address.js";
import type { Requests } from "../model/requests.js";
import type { Run, View } from "../model/types.js";

export interface Shared {
  requests: Requests;
  run: Run;
  views: View[];
  theme: Theme;
  address: Address;
  /** Shows something else: options that are null are taken out. Another `page` gets the options that pages share (model/address.ts), its own as they
   * were when it was left, and then the changes. `replace`: the back button skips what was there before. */
  go(changes: Record<string, string | number | null>, how?: { page?: string; replace?: boolean }): void;
}

export const SharedContext = createContext<Shared | null>(null);

export function useShared(): Shared {
  return useContext(SharedContext)!;
}

export type Loaded<T> = { state: "loading" } | { state: "failed"; error: Error } | { state: "ready"; value: T };

/** Loads when `key` changes; what was asked before is aborted. The last value stays until the new one is there. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [loaded, set] = useState<Loaded<T>>({ state: "loading" });
  useEffect(() => {
    const controller = new AbortController();
    load(controller.signal).then(
      (value) => !controller.signal.aborted && set({ state: "ready", value }),
      (error: Error) => !controller.signal.aborted && set({ state: "failed", error }),
    );
    return () => controller.abort();
  }, [key]);
  return loaded;
}
