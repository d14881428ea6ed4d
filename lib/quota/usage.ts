import type { Cadence } from "../cadence/cadence-kinds.ts";
import { firesPerYear } from "../cadence/fires-per-year.ts";

/** The parts of quotas that schedules take, and those that edits take. */
export interface Usage {
  schedules: number;
  /** Planned occurrences in an average year. */
  perYear: number;
  payloadBytes: number;
  /**
   * The bytes of payloads and targets that were stored today, in UTC. Deleting or replacing them
   * frees nothing.
   */
  writtenBytes: number;
}

export const noUsage: Usage = { schedules: 0, perYear: 0, payloadBytes: 0, writtenBytes: 0 };

/** The usage of one schedule. Its end lowers nothing: it counts until it is deleted. */
export function usageOf(cadence: Cadence, payloadBytes: number): Usage {
  return { ...noUsage, schedules: 1, perYear: firesPerYear(cadence), payloadBytes };
}

/**
 * The change by a version with a spec. Such a version stores its payload and its target, also
 * unchanged ones.
 */
export function changeBySpec(
  before: Usage,
  { cadence, body: { payload, target } }: { cadence: Cadence; body: { payload: unknown; target: object } },
): Usage {
  const bytes = payloadBytesOf(payload);
  const writtenBytes = bytes + Buffer.byteLength(JSON.stringify(target));
  return { ...difference(before, usageOf(cadence, bytes)), writtenBytes };
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
    writtenBytes: one.writtenBytes + other.writtenBytes,
  };
}

/** The change from the first to the second. */
export function difference(before: Usage, after: Usage): Usage {
  return {
    schedules: after.schedules - before.schedules,
    perYear: after.perYear - before.perYear,
    payloadBytes: after.payloadBytes - before.payloadBytes,
    writtenBytes: after.writtenBytes - before.writtenBytes,
  };
}

export function isNone({ schedules, perYear, payloadBytes, writtenBytes }: Usage): boolean {
  return schedules === 0 && perYear === 0 && payloadBytes === 0 && writtenBytes === 0;
}
