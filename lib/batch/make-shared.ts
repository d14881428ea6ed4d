import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Tx } from "../db/connect.ts";
import type { Lookups } from "../edit/lookups.ts";
import { yieldOften } from "../edit/yield-often.ts";
import { cutOf } from "../plan/shard.ts";
import { Refusal } from "../refusal.ts";
import { resolveCadence } from "../schedule/resolve-spec.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { targetName } from "../schedule/shape/target-name.ts";
import { type CalendarRef, cadenceIds } from "../schedule/stored/cadence-columns.ts";
import type { ManyLocked } from "./lock-many.ts";
import type { Operation } from "./operation.ts";

/** The parts of a spec that several schedules may share. */
export interface Shared {
  body: Pick<ScheduleBody, "target">;
  cadence: Cadence;
  calendar: CalendarRef | null;
}

/**
 * Inserts the new cadences and targets. Another transaction waits for each new row until this one
 * commits, so every batch inserts all cadences first, in one statement, then all targets, then the
 * schedules. A cadence that a batch inserts later can close a deadlock.
 */
export async function makeShared(tx: Tx, specs: readonly Shared[]): Promise<void> {
  if (specs.length < 2) return;
  await cadenceIds(tx, specs);
  const names = [...new Set(specs.map(({ body }) => targetName(body.target)))].sort();
  await tx`select carillon.target_named(n) from unnest(${names}::text[]) n`;
}

/**
 * The shared parts of operations that are decided in later waves, without those that will be
 * refused.
 */
export async function sharedToCome(
  operations: readonly Operation[],
  { bodies, states }: Pick<ManyLocked, "bodies" | "states">,
  known: Lookups,
): Promise<Shared[]> {
  const shared: Shared[] = [];
  const turn = yieldOften();
  for (const operation of operations) {
    await turn();
    const body = bodies.get(operation);
    if (body === undefined) continue;
    const calendar = body.calendar === null ? null : await known.calendar(body.calendar.name);
    if (body.calendar !== null && calendar === null) continue;
    try {
      shared.push({ body, calendar, cadence: resolveCadence(operation.key, body, cutOf(states), calendar) });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  return shared;
}
