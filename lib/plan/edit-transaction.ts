import type { Sql, Tx } from "../db/connect.ts";
import { sqlState, violatedConstraint } from "../db/sql-state.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel, ParcelQueue } from "../parcel/parcel-queue.ts";
import { Refusal } from "../refusal.ts";
import { findSchedule } from "../schedule/stored-schedule.ts";
import { applyEdit, type Edit, type EditContext, lockForEdit } from "./edit.ts";
import { readScheduleById, type ScheduleRead } from "./read-schedule.ts";

export interface EditDeps {
  sql: Sql;
  queue: ParcelQueue;
}

/** The versions of which the schedule must have one; "*" for any, as long as it exists. */
export type IfMatch = readonly number[] | "*";

export interface EditWish {
  key: string;
  caller: { name: string };
  ifMatch?: IfMatch | undefined;
}

export interface EditDone {
  change: "created" | "changed" | "unchanged";
  schedule: ScheduleRead;
}

/** What is to be done with a schedule that was found and locked; null where it already is as wished. */
export type Decision = { edit: Edit; holdsLeft: boolean } | null;

export interface EditSteps {
  /** What to do where the key is free; without it, the schedule must exist. */
  missing?: (tx: Tx) => Promise<{ id: string; parcels: OutgoingParcel[] }>;
  decide: (tx: Tx, context: EditContext) => Promise<Decision>;
}

/** One edit in one transaction, tried again when somebody took or freed the key meanwhile; its parcels are sent after the commit. */
export async function edit(deps: EditDeps, wish: EditWish, steps: EditSteps): Promise<EditDone> {
  for (let attempt = 1; ; attempt++) {
    try {
      const done = await deps.sql.begin((tx) => editOnce(tx, wish, steps));
      if (done !== "again") {
        await handOver(deps.sql, deps.queue, done.parcels);
        return done;
      }
    } catch (error) {
      if (!mayPass(error) || attempt === attemptsMax) throw error;
    }
    if (attempt === attemptsMax)
      throw new Refusal(
        "conflict",
        `The schedule ${wish.key} is being created and deleted by others at this moment.`,
      );
  }
}

const attemptsMax = 5;

function mayPass(error: unknown): boolean {
  const state = sqlState(error);
  if (state === "deadlock" || state === "serialization_failure") return true;
  return state === "unique_violation" && violatedConstraint(error) === "schedules_live_key";
}

async function editOnce(
  tx: Tx,
  wish: EditWish,
  steps: EditSteps,
): Promise<(EditDone & { parcels: OutgoingParcel[] }) | "again"> {
  const found = await findSchedule(tx, wish.key);
  if (found === null) {
    if (steps.missing === undefined) throw new Refusal("missing", `There is no schedule ${wish.key}.`);
    const { id, parcels } = await steps.missing(tx);
    return { change: "created", schedule: await readScheduleById(tx, id), parcels };
  }
  const context = await lockForEdit(tx, found);
  if (context === null) return "again";
  const { current } = context;
  if (wish.ifMatch !== undefined && wish.ifMatch !== "*" && !wish.ifMatch.includes(current.version)) {
    throw new Refusal("precondition", `The schedule ${wish.key} is at version ${current.version}.`);
  }
  const decision = await steps.decide(tx, context);
  if (decision === null)
    return { change: "unchanged", schedule: await readScheduleById(tx, current.id), parcels: [] };
  const parcels = await applyEdit(tx, context, decision.edit, decision.holdsLeft, wish.caller.name);
  return { change: "changed", schedule: await readScheduleById(tx, current.id), parcels };
}
