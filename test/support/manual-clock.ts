import type { AlarmClock } from "../../lib/clock.ts";

export interface ManualClock extends AlarmClock {
  /** Moves the clock, and ends sleeps and alarms on the way, in order. */
  advance(ms: number): Promise<void>;
}

/** A clock that stands still until it is moved. */
export function manualClock(start: string): ManualClock {
  let now = Date.parse(start);
  let sleepers: { until: number; wake(): void }[] = [];
  const alarm = (ms: number, ring: () => void) => {
    const sleeper = { until: now + ms, wake: ring };
    sleepers.push(sleeper);
    return () => {
      sleepers = sleepers.filter((other) => other !== sleeper);
    };
  };
  return {
    now: () => new Date(now),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const leave = alarm(ms, resolve);
        signal?.addEventListener("abort", () => {
          leave();
          resolve();
        });
      }),
    alarm,
    advance: async (ms) => {
      await settled();
      const end = now + ms;
      for (;;) {
        const next = sleepers.filter(({ until }) => until <= end).sort((a, b) => a.until - b.until)[0];
        if (next === undefined) break;
        sleepers = sleepers.filter((other) => other !== next);
        now = Math.max(now, next.until);
        next.wake();
        await settled();
      }
      now = end;
      await settled();
    },
  };
}

/** Lets all work continue that waits only for promises. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
