import type { Json } from "../../client/main.ts";

export type JsonObject = { [name: string]: Json };

/** A schedule of a source, in the fields of the API. */
export interface Found {
  /** Where it is in the source, for people: `crontab:7`, `orders/daily.yaml`. */
  from: string;
  /** Null where it has no key and none can be made. */
  key: string | null;
  body: JsonObject;
  /** How the schedule will differ from its source. */
  differences: string[];
  /** Why the schedule cannot be imported; empty where it can. */
  faults: string[];
}

/** The schedules of a source, and notes about the whole source. */
export interface Reading {
  found: Found[];
  notes: string[];
}

export function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
