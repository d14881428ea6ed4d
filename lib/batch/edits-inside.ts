import { FarSearch } from "../cadence/far-searches.ts";
import type { Tx } from "../db/connect.ts";
import { isEditConflict } from "../edit/edit-conflicts.ts";
import { searchingOutside } from "../edit/search-outside.ts";
import { boundedComputing } from "../edit/search-pace.ts";
import { joinParcels } from "../parcel/join-parcels.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { countingBy } from "../plan/unfolding-time.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { applyWaves } from "./apply-waves.ts";
import { foreseeEdits, foreseeRuns } from "./foresee-runs.ts";
import type { AlsoPassing } from "./lock-many.ts";
import type { Applied, Operation } from "./operation.ts";

/** An edit that somebody's own transaction makes. Cancelling what is not there is done already. */
export type EditInside = { kind: "put"; key: string; body: ScheduleBody } | { kind: "cancel"; key: string };

export interface Inside extends AlsoPassing {
  author: string;
  /** For how long the edits have computed: a clock of milliseconds that only rises. */
  now?: () => number;
}

/** So often edits begin anew before they fail: each time somebody else has got on with his own. */
const beginningsMax = 50;

/**
 * Applies edits inside a transaction that was begun for something else, as its last work but the settle. Each is the same edit as alone; what
 * differs is that all locks of all of them come first, in the order in which everybody takes them, so that no circle can close.
 * The edits go back to a savepoint and start again when another caller makes or deletes a schedule at the same moment, and when a search takes long:
 * that search then runs without their locks. All searches and counts together have a time limit, since the handler's transaction stays open meanwhile.
 */
export async function applyEditsInside(
  tx: Tx,
  edits: readonly EditInside[],
  { author, now = () => performance.now(), ...also }: Inside,
): Promise<OutgoingParcel[]> {
  const caller: Caller = { name: author, origin: { via: "handler" } };
  const operations = edits.map(
    (edit): Operation =>
      edit.kind === "put" ? { ...edit, caller } : { kind: "delete", key: edit.key, caller },
  );
  const { searching: bounded, counting } = boundedComputing(operations.length, now);
  await foreseeRuns(tx, operations, bounded);
  const once = () => fromSavepoint(tx, () => countingBy(counting, () => applyOnce(tx, operations, also)));
  for (let beginning = 1; ; beginning++) {
    try {
      return await searchingOutside(once, {
        foresee: () => foreseeEdits(tx, operations, bounded),
        bounded,
      });
    } catch (error) {
      if (!isEditConflict(error)) throw error;
      if (beginning === beginningsMax)
        throw new PassingConflict("Schedules are being created and deleted by others at this moment.");
    }
  }
}

/** A failure gives back the locks that were taken since the savepoint: ticks and claims go on while the edits search, or before they begin again. */
async function fromSavepoint<Result>(tx: Tx, work: () => Promise<Result>): Promise<Result> {
  await tx`savepoint carillon_edits`;
  try {
    const result = await work();
    await tx`release savepoint carillon_edits`;
    return result;
  } catch (error) {
    if (error instanceof FarSearch || isEditConflict(error)) await tx`rollback to savepoint carillon_edits`;
    throw error;
  }
}

async function applyOnce(
  tx: Tx,
  operations: readonly Operation[],
  also: AlsoPassing,
): Promise<OutgoingParcel[]> {
  // A job notes few enough edits for all of them to be done by themselves.
  const { results, parcels } = await applyWaves(tx, operations, {
    labels: [],
    budget: Number.POSITIVE_INFINITY,
    also,
  });
  refuseWhole(results);
  return joinParcels(tx, parcels);
}

/** A job's edits stand together or not at all. */
function refuseWhole(results: ReadonlyMap<Operation, Applied>): void {
  for (const [{ kind, key }, applied] of results) {
    if (applied.change !== "refused") continue;
    const { kind: why, message, faults } = applied.refusal;
    if (kind === "delete" && why === "missing") continue;
    const verb = kind === "put" ? "put" : "cancel";
    throw new Refusal(why, `ctx.schedule.${verb}(${JSON.stringify(key)}): ${message}`, faults);
  }
}
