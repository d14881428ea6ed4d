import type { Clock, Timing } from "../../clock.ts";

/** A timing that moves only with the test's clock; its sleeps end at once. */
export function standingTiming(clock: Clock): Timing {
  return { now: () => clock.now().getTime(), sleep: async () => {} };
}
