/** What the time is, and how to wait for it. Tests bring their own; "now" for any decision about jobs is the database's. */
export interface Clock {
  now(): Date;
  /** Resolves after `ms`, or at once when the signal aborts; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock that also says when a time is up. */
export interface AlarmClock extends Clock {
  /** Rings after `ms`, unless what it gives back is called before: that costs far less than a sleep that is broken off. */
  alarm(ms: number, ring: () => void): () => void;
}

/** How long something has taken, and how to wait. A test's stands still. */
export interface Timing {
  /** Milliseconds that only rise. */
  now(): number;
  sleep: Clock["sleep"];
}

export const systemClock: AlarmClock = {
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
  alarm: (ms, ring) => {
    const timer = setTimeout(ring, ms);
    return () => clearTimeout(timer);
  },
};

export const systemTiming: Timing = { now: () => performance.now(), sleep: systemClock.sleep };
