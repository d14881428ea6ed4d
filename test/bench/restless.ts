import { systemTiming, type Timing } from "../../lib/clock.ts";

/** What a tick can do is measured, and not how long it chooses to wait. */
export const restless: Timing = { ...systemTiming, sleep: async () => {} };
