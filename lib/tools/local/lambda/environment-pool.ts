/** Something that serves one event at a time and is made when it is first needed. */
export interface EnvironmentPool<Own> {
  /** One that is free, a new one, or the first to be given back when there are as many as may be. */
  take(): Promise<Own>;
  giveBack(own: Own): void;
  /** Closes one that is not to be used again. */
  discard(own: Own): void;
  /** Closes those that are free, and from now on each as it is given back. */
  close(): Promise<void>;
}

export function environmentPool<Own>(
  max: number,
  make: () => Own,
  end: (own: Own) => Promise<void>,
): EnvironmentPool<Own> {
  const idle: Own[] = [];
  const waiting: { resolve(own: Own): void; reject(error: unknown): void }[] = [];
  let made = 0;
  let closed = false;

  const makeOne = () => {
    made++;
    try {
      return make();
    } catch (error) {
      made--;
      throw error;
    }
  };
  const discard = (own: Own) => {
    made--;
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
      const next = waiting.shift();
      if (next !== undefined) next.resolve(own);
      else if (closed) discard(own);
      else idle.push(own);
    },
    discard,
    close: async () => {
      closed = true;
      await Promise.all(idle.splice(0).map(end));
    },
  };
}
