import type { Consumer } from "../../lib/quarantine/quarantine.ts";
import type { RowPoisonName } from "./row-poisons.ts";
import type { ScenarioName } from "./row-scenarios.ts";

/** What else acts on rows that others wrote, and has no list of its own of those that it fails on. */
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

/** What a row, or what belongs to it, may be that its consumer did not reckon with. */
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

/** A test that shows what becomes of the poison and of its neighbours: its file below `test/`, and its title as it is written there. */
export interface ShownBy {
  file: string;
  title: string;
}

/** Why the poison cannot reach the consumer, or makes no difference to it. */
export interface OutOfReach {
  because: string;
}

/** Shown by rows.test.ts: one of five rows is bad, and its neighbours are done by the same tick. `waits`: without a place in quarantine. */
export interface ShownByRows {
  row: "is set aside" | "is done" | "waits";
}

export type Cell<Row, Poison> =
  | ShownBy
  | OutOfReach
  | (Row extends ScenarioName ? (Poison extends RowPoisonName ? ShownByRows : never) : never);

/** A consumer without its row is an error of types, and so is a row without one of its cells. */
export type Matrix = {
  readonly [Row in MatrixRow]: { readonly [Poison in PoisonName]: Cell<Row, Poison> };
};
