import type { Clock, Timing } from "../../lib/clock.ts";

/** Goes on with a test's clock alone: nothing is waited for. */
export function standingTiming(clock: Clock): Timing {
  return { now: () => clock.now().getTime(), sleep: async () => {} };
}
