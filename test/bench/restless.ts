import { systemTiming, type Timing } from "../../lib/clock.ts";

/** Measures the tick's work, not its chosen waits. */
export const restless: Timing = { ...systemTiming, sleep: async () => {} };
