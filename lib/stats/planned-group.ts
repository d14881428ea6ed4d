import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Timetable } from "../schedule/stored/timetable.ts";

/**
 * Plan rows that fire alike: their next due times are in the same interval of grouping, and one
 * rule gives their further occurrences.
 */
export interface PlannedGroup {
  /** When the first row is due. */
  due: number;
  /** Number of schedules; fractional if it is an estimate. */
  schedules: number;
  /** The rule of a shared cadence as text, with the occurrence planned next. */
  cadence: {
    id: number | string;
    of: Cadence;
    expression: string;
    timezone: string;
    occurrence: number;
  } | null;
  /** Null also for an interval among very many rows that fires once at most before the end. */
  everyMs: number | null;
  isInterval: boolean;
  /**
   * Set if due times are rounded up to a slot, and so follow from the occurrence. Null if each due
   * time lags as much as the first.
   */
  slot: (Pick<Timetable, "lagMs" | "slotMs"> & { occurrence: number }) | null;
  /** Neither a spread nor a slot has moved the due time. */
  unmoved: boolean;
  /** Set if this is the end of a hold, with the hold's owner. */
  release: { owner: string | null } | null;
  /** The contributors that the fires count for, where they were asked for. */
  names: readonly string[];
}
