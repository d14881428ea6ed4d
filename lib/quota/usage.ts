import type { Cadence } from "../cadence/cadence-kinds.ts";
import { durationMs } from "../cadence/duration.ts";
import { firesPerYear } from "../cadence/fires-per-year.ts";

/** The parts of quotas that schedules take, and those that edits take. */
export interface Usage {
  schedules: number;
  /** Planned occurrences in a year, or those of the densest minute in each minute of it. */
  perYear: number;
  payloadBytes: number;
  /**
   * The bytes of payloads and targets that were stored today, in UTC. Deleting or replacing them
   * frees nothing.
   */
  writtenBytes: number;
}

export const noUsage: Usage = { schedules: 0, perYear: 0, payloadBytes: 0, writtenBytes: 0 };

/** The parts of a schedule that say when it fires. */
interface Timed {
  cadence: Cadence;
  body: { slot: string | null };
}

/** The usage of one schedule. Its end lowers nothing: it counts until it is deleted. */
export function usageOf(timed: Timed, payloadBytes: number): Usage {
  return { ...noUsage, schedules: 1, perYear: perYearOf(timed), payloadBytes };
}

export function perYearOf({ cadence, body: { slot } }: Timed): number {
  return firesPerYear(cadence, slot === null ? 0 : (durationMs(slot) ?? 0));
}

/**
 * The change by a version with a spec. Such a version stores its payload and its target, also
 * unchanged ones.
 */
export function changeBySpec(
  before: Usage,
  spec: Timed & { body: { payload: unknown; target: object } },
): Usage {
  const { payload, target } = spec.body;
  const bytes = payloadBytesOf(payload);
  const writtenBytes = bytes + Buffer.byteLength(JSON.stringify(target));
  return { ...difference(before, usageOf(spec, bytes)), writtenBytes };
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
