import type { Json } from "../schedule/shape/json.ts";

/** A filter of jobs as the audit stores it. */
export function sayable(filter: object): { [name: string]: Json } {
  const named = Object.entries(filter).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    named.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]),
  );
}
