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

/** The new plan: another spec, or the stored spec with the current calendar and zone rules. */
export type ReplanDecision = {
  spec?: Spec;
  /** First occurrence to plan, even if it lies before the cut. */
  from?: number | undefined;
  detail: Json;
  /** The coming occurrences before the replan, if the stored cadence no longer gives them. */
  before?: Date[];
  /** Further writes in the same transaction. */
  note?: (replanned: Replanned) => Promise<void>;
} | null;

/** Number of coming occurrences shown before and after a replan. */
export const replannedShown = 5;

/**
 * Plans one schedule again because its calendar or the rules of its zone have changed. It is an
 * ordinary edit: jobs that were due stay unchanged. Null if the schedule is gone or nothing
 * changes.
 */
export async function replan(
  deps: EditDeps,
  found: { id: string; shard: number },
  decide: (tx: Tx, context: EditContext) => Promise<ReplanDecision>,
  /** `noteLocked` is called when the locks are held that every schedule of the shard needs. */
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
