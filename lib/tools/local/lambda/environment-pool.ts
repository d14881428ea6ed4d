/** A pool of environments that are created on demand and serve one event at a time each. */
export interface EnvironmentPool<Own> {
  /** A free environment, a new one, or, at the limit, the first that is released. */
  take(): Promise<Own>;
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
  const waiting: { resolve(own: Own): void; reject(error: unknown): void }[] = [];
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
  const discard = (own: Own) => {
    made--;
    fresh.delete(own);
    void end(own);
    const next = waiting.shift();
    if (next === undefined) return;
    try {
      next.resolve(makeOne());
    } catch (error) {
      next.reject(error);
    }
  };
  return {
    take: async () => {
      const free = idle.pop();
      if (free !== undefined) return free;
      if (made < max) return makeOne();
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    giveBack: (own) => {
      if (!fresh.has(own)) {
        discard(own);
        return;
      }
      const next = waiting.shift();
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
