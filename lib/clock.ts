/** What the time is, and how to wait for it. Tests bring their own; "now" for any decision about jobs is the database's. */
export interface Clock {
  now(): Date;
  /** Resolves after `ms`, or at once when the signal aborts; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** How long something has taken, and how to wait. A test's stands still. */
export interface Timing {
  /** Milliseconds that only rise. */
  now(): number;
  sleep: Clock["sleep"];
}

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done, { once: true });
    }),
};

export const systemTiming: Timing = { now: () => performance.now(), sleep: systemClock.sleep };
