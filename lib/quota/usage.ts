import type { Cadence } from "../cadence/cadence-kinds.ts";
import { firesPerYear } from "../cadence/fires-per-year.ts";

/** The part of a quota that schedules take. */
export interface Usage {
  schedules: number;
  /** Planned occurrences in an average year. */
  perYear: number;
  payloadBytes: number;
}

export const noUsage: Usage = { schedules: 0, perYear: 0, payloadBytes: 0 };

/** The usage of one schedule. Its end lowers nothing: it counts until it is deleted. */
export function usageOf(cadence: Cadence, payloadBytes: number): Usage {
  return { schedules: 1, perYear: firesPerYear(cadence), payloadBytes };
}

/** The length of a payload as JSON; 0 for none. */
export function payloadBytesOf(payload: unknown): number {
  return payload === null || payload === undefined ? 0 : Buffer.byteLength(JSON.stringify(payload));
}

export function added(one: Usage, other: Usage): Usage {
  return {
    schedules: one.schedules + other.schedules,
    perYear: one.perYear + other.perYear,
    payloadBytes: one.payloadBytes + other.payloadBytes,
  };
}

/** The change from the first to the second. */
export function difference(before: Usage, after: Usage): Usage {
  return {
    schedules: after.schedules - before.schedules,
    perYear: after.perYear - before.perYear,
    payloadBytes: after.payloadBytes - before.payloadBytes,
  };
}

export function isNone({ schedules, perYear, payloadBytes }: Usage): boolean {
  return schedules === 0 && perYear === 0 && payloadBytes === 0;
}
