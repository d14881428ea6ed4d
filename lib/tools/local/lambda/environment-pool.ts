/** A pool of environments that are created on demand and serve one event at a time each. */
export interface EnvironmentPool<Own> {
  /**
   * A free environment, a new one, or, at the limit, the first that is released. Rejects with the
   * signal's reason if it aborts while none is free.
   */
  take(signal?: AbortSignal): Promise<Own>;
  giveBack(own: Own): void;
  /** Closes an environment that must not be used again. */
  discard(own: Own): void;
  /** Has later events served by new environments. Those under way end in the old ones. */
  renew(): void;
  /** Closes the free environments, and each other one when it is released. */
  close(): Promise<void>;
}

export function environmentPool<Own>(
  max: number,
  make: () => Own,
  end: (own: Own) => Promise<void>,
): EnvironmentPool<Own> {
  const idle: Own[] = [];
  /** Environments that were made since the last renewal. */
  let fresh = new Set<Own>();
  const waiting = new Set<{ resolve(own: Own): void; reject(error: unknown): void }>();
  let made = 0;
  let closed = false;

  const makeOne = () => {
    made++;
    try {
      const own = make();
      fresh.add(own);
      return own;
    } catch (error) {
      made--;
      throw error;
    }
  };
  const firstWaiting = () => {
    const [first] = waiting;
    if (first !== undefined) waiting.delete(first);
    return first;
  };
  const discard = (own: Own) => {
    made--;
    fresh.delete(own);
    void end(own);
    const next = firstWaiting();
    if (next === undefined) return;
    try {
      next.resolve(makeOne());
    } catch (error) {
      next.reject(error);
    }
  };
  return {
    take: async (signal) => {
      signal?.throwIfAborted();
      const free = idle.pop();
      if (free !== undefined) return free;
      if (made < max) return makeOne();
      return untilFree(waiting, signal);
    },
    giveBack: (own) => {
      if (!fresh.has(own)) {
        discard(own);
        return;
      }
      const next = firstWaiting();
      if (next !== undefined) next.resolve(own);
      else if (closed) discard(own);
      else idle.push(own);
    },
    discard,
    renew: () => {
      fresh = new Set();
      for (const own of idle.splice(0)) discard(own);
    },
    close: async () => {
      closed = true;
      await Promise.all(idle.splice(0).map(end));
    },
  };
}

/** Waits among `waiting` until an environment is released to it, or the signal aborts. */
async function untilFree<Own>(
  waiting: Set<{ resolve(own: Own): void; reject(error: unknown): void }>,
  signal: AbortSignal | undefined,
): Promise<Own> {
  const { promise, resolve, reject } = Promise.withResolvers<Own>();
  const place = { resolve, reject };
  const leave = () => {
    waiting.delete(place);
    reject(signal?.reason);
  };
  waiting.add(place);
  signal?.addEventListener("abort", leave, { once: true });
  try {
    return await promise;
  } finally {
    signal?.removeEventListener("abort", leave);
  }
}
