import type { Json } from "./json.ts";

/** The value of each field that a schedule leaves out. A test compares it with the API's. */
export const scheduleDefaults: Readonly<Record<string, Json>> = {
  timezone: "UTC",
  payload: null,
  group: null,
  serial: false,
  priority: "normal",
  tags: [],
  description: null,
  startsAt: null,
  endsAt: null,
  maxFires: null,
  calendar: null,
  catchUp: { policy: "latest", within: null, limit: 100 },
  deadline: null,
  overlap: "allow",
  spread: "0s",
  slot: null,
  dst: null,
  retry: { attempts: 5, backoff: "exponential", base: "10s", max: "1h", jitter: "full" },
  timeout: "30s",
  holdAfter: null,
  delivery: "ledger",
  deleteOnEnd: false,
};
