import type { Tx } from "../db/connect.ts";
import { handOver } from "../parcel/hand-over.ts";
import { holdsAfter, holdsOfOne } from "../schedule/holds.ts";
import type { Json } from "../schedule/json.ts";
import { findScheduleById } from "../schedule/stored-schedule.ts";
import type { Spec } from "../schedule/write-schedule.ts";
import { comingOf } from "./coming.ts";
import { applyEdit, type EditContext, lockForEdit } from "./edit.ts";
import type { EditDeps } from "./edit-transaction.ts";

export interface Replanned {
  key: string;
  before: Date[];
  after: Date[];
}

/** What is to be planned anew: another spec of the same wishes, or the same spec with what the world makes of it now. */
export type ReplanDecision = { spec?: Spec; detail: Json } | null;

const shown = 5;

/**
 * Plans one schedule anew because what it relies on has changed, a calendar or the rules of its zone. An edit like any other: it
 * touches nothing that was due. Null where there was nothing to do.
 */
export async function replan(
  deps: EditDeps,
  found: { id: string; shard: number },
  decide: (tx: Tx, context: EditContext) => Promise<ReplanDecision>,
  author: string,
): Promise<Replanned | null> {
  const done = await deps.sql.begin(async (tx) => {
    const context = await lockForEdit(tx, found);
    if (context === null) return null;
    const { current, state } = context;
    const decision = await decide(tx, context);
    if (decision === null) return { replanned: null, parcels: context.parcels };
    const before = comingOf(current, state.now, shown);
    const holds = holdsAfter(await holdsOfOne(tx, current.id), {}, state.now);
    const parcels = await applyEdit(tx, context, { change: "replanned", ...decision }, holds, author);
    const stored = await findScheduleById(tx, current.id);
    const after = stored === null ? [] : comingOf(stored, state.now, shown);
    return { replanned: { key: current.key, before, after }, parcels };
  });
  if (done === null) return null;
  await handOver(deps.sql, deps.queue, done.parcels);
  return done.replanned;
}
