/* turns.ts - one question at a time, and always the newest: who answers cannot stop in the middle, and what a drag asks would else pile up
 * there. What is no longer wanted when its turn comes is not asked. */

export function turns(): <T>(load: () => Promise<T>, signal: AbortSignal) => Promise<T> {
  let running: Promise<unknown> | null = null;
  return async (load, signal) => {
    while (running) await running.catch(() => undefined);
    signal.throwIfAborted();
    const mine = load();
    running = mine;
    try {
      return await mine;
    } finally {
      running = null;
    }
  };
}
