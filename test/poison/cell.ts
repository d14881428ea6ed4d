import type { Consumer } from "../../lib/quarantine/quarantine.ts";
import type { RowPoisonName } from "./row-poisons.ts";
import type { ScenarioName } from "./row-scenarios.ts";

/**
 * Parts that also act on rows of callers or other parts, and have no quarantine consumer of their
 * own.
 */
export const others = [
  "batch",
  "catch-up",
  "ingest",
  "near",
  "outbox",
  "pulses",
  "release",
  "settle",
] as const;

export type MatrixRow = Consumer | (typeof others)[number];

/** Faults of a row, or of data that belongs to it. */
export const poisons = [
  "unwritable",
  "locked",
  "slow",
  "unknownZone",
  "unreadableCadence",
  "endlessTarget",
  "throwingSchema",
  "rejectingSchema",
  "slowSchema",
  "mutatingHandler",
  "largeCalendar",
  "longHold",
  "missingDay",
] as const;

export type PoisonName = (typeof poisons)[number];

/**
 * A test that shows the effect of the poison on its row and its neighbours: file below `test/`, and
 * exact title.
 */
export interface ShownBy {
  file: string;
  title: string;
}

/** Why the poison cannot reach the consumer, or makes no difference to it. */
export interface OutOfReach {
  because: string;
}

/**
 * Shown by rows.test.ts: one of five rows is bad, and the others are done by the same tick.
 * `waits`: without a quarantine entry.
 */
export interface ShownByRows {
  row: "is set aside" | "is done" | "waits";
}

export type Cell<Row, Poison> =
  | ShownBy
  | OutOfReach
  | (Row extends ScenarioName ? (Poison extends RowPoisonName ? ShownByRows : never) : never);

/** A consumer without a row is a type error, and so is a row without one of its cells. */
export type Matrix = {
  readonly [Row in MatrixRow]: { readonly [Poison in PoisonName]: Cell<Row, Poison> };
};
