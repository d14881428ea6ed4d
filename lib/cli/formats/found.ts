import type { Json } from "../../client/main.ts";

export type JsonObject = { [name: string]: Json };

/** One schedule as a source has it, in the fields of the API as far as they can say it. */
export interface Found {
  /** Where it stands, for people: `crontab:7`, `orders/daily.yaml`. */
  from: string;
  /** Null where it has none and none can be made. */
  key: string | null;
  body: JsonObject;
  /** What will be otherwise than where it comes from. */
  differences: string[];
  /** Why it cannot be brought over; empty where it can. */
  faults: string[];
}

/** What was read of a source, and what is to be said of the whole of it. */
export interface Reading {
  found: Found[];
  notes: string[];
}

export function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
