import type { Tx } from "../db/connect.ts";
import { upcomingOf } from "../history/upcoming.ts";
import { handOver } from "../parcel/hand-over.ts";
import { holdsAfter, holdsOfOne } from "../schedule/holds.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import { findScheduleById } from "../schedule/stored/stored-schedule.ts";
import type { Spec } from "../schedule/stored/version-rows.ts";
import { applyEdit, type EditContext, lockForEdit } from "./apply-edit.ts";
import type { EditDeps } from "./edit-transaction.ts";

export interface Replanned {
  key: string;
  before: Date[];
  after: Date[];
}

/** What is to be planned anew: another spec of the same requests, or the same spec with what the world makes of it now. */
export type ReplanDecision = {
  spec?: Spec;
  /** From this occurrence on, though it lies behind the cut. */
  from?: number | undefined;
  detail: Json;
  /** What was to come, where the cadence as it is stored tells something else by now. */
  before?: Date[];
  /** What else belongs into the transaction. */
  note?: (replanned: Replanned) => Promise<void>;
} | null;

/** Of the next occurrences, so many before and after. */
export const replannedShown = 5;

/**
 * Plans one schedule anew because what it relies on has changed, a calendar or the rules of its zone. An edit like any other: it
 * touches nothing that was due. Null where there was nothing to do.
 */
export async function replan(
  deps: EditDeps,
  found: { id: string; shard: number },
  decide: (tx: Tx, context: EditContext) => Promise<ReplanDecision>,
  /** `noteLocked` is called when the locks are held that all schedules of the shard need. */
  { author, noteLocked }: { author: Caller; noteLocked: () => void },
): Promise<Replanned | null> {
  const done = await deps.sql.begin(async (tx) => {
    const context = await lockForEdit(tx, found, { noteLocked });
    if (context === null) return null;
    const { current, state } = context;
    const decision = await decide(tx, context);
    if (decision === null) return { replanned: null, parcels: [] };
    const { before = await upcomingOf(tx, current, state.now, replannedShown), note, ...edit } = decision;
    const holds = holdsAfter(await holdsOfOne(tx, current.id), {}, state.now);
    const parcels = await applyEdit(tx, context, { change: "replanned", ...edit }, holds, author);
    const stored = await findScheduleById(tx, current.id);
    const after = stored === null ? [] : await upcomingOf(tx, stored, state.now, replannedShown);
    const replanned = { key: current.key, before, after };
    await note?.(replanned);
    return { replanned, parcels };
  });
  if (done === null) return null;
  await handOver(deps.sql, deps.queue, done.parcels);
  return done.replanned;
}
