/**
 * The time, and waiting. Tests bring a clock of their own. Decisions about jobs use the database's
 * clock.
 */
export interface Clock {
  now(): Date;
  /** Resolves after `ms`, or at once when the signal aborts; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock with alarms. */
export interface AlarmClock extends Clock {
  /**
   * Calls `ring` after `ms`, unless the returned function is called before. Cancelling it costs far
   * less than aborting a sleep.
   */
  alarm(ms: number, ring: () => void): () => void;
}

/** Measures durations, and waits. That of a test stands still. */
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
