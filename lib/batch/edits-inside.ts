import { FarSearch } from "../cadence/far-searches.ts";
import type { Tx } from "../db/connect.ts";
import { lockTeams } from "../db/locks.ts";
import { isEditConflict } from "../edit/edit-conflicts.ts";
import { addTeams } from "../edit/edit-transaction.ts";
import { searchingOutside } from "../edit/search-outside.ts";
import { boundedComputing } from "../edit/search-pace.ts";
import { joinParcels } from "../parcel/join-parcels.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { countingBy } from "../plan/unfolding-time.ts";
import { isGone, PassingConflict, Refusal } from "../refusal.ts";
import { allKeys, type Caller } from "../schedule/shape/caller.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { applyWaves } from "./apply-waves.ts";
import { foreseeCredentials } from "./foresee-credentials.ts";
import { foreseeEdits, foreseeRuns } from "./foresee-runs.ts";
import type { AlsoPassing } from "./lock-many.ts";
import type { Applied, Operation } from "./operation.ts";

/**
 * An edit that a handler makes in its own transaction. Cancelling a missing schedule succeeds, unless it has
 * moved to another installation.
 */
export type EditInside = { kind: "put"; key: string; body: ScheduleBody } | { kind: "cancel"; key: string };

export interface Inside extends AlsoPassing {
  author: string;
  /** A monotonic clock in milliseconds, for the time that the edits spend computing. */
  now?: () => number;
}

/** Limit of attempts. Each failed attempt means that another transaction has made progress. */
const attemptsMax = 50;

/**
 * Applies edits inside a transaction that was begun for a handler, as its last work before the
 * settle. Each edit does the same as it would alone, but all locks of all edits are taken first, in
 * the global lock order, so that no deadlock is possible. The edits go back to a savepoint and
 * start again if another caller creates or deletes one of the schedules, or if a search takes long:
 * that search then runs without the locks of the edits. All searches and counts together have a
 * time limit, since the handler's transaction stays open meanwhile.
 */
export async function applyEditsInside(
  tx: Tx,
  edits: readonly EditInside[],
  { author, now = () => performance.now(), ...also }: Inside,
): Promise<OutgoingParcel[]> {
  const caller: Caller = { name: author, reach: allKeys, origin: { via: "handler" } };
  const operations = edits.map(
    (edit): Operation =>
      edit.kind === "put" ? { ...edit, caller } : { kind: "delete", key: edit.key, caller },
  );
  const { searching: bounded, counting } = boundedComputing(operations.length, now);
  await foreseeRuns(tx, operations, bounded);
  await foreseeCredentials(tx, operations);
  const teams = new Set<string>();
  const once = () =>
    fromSavepoint(tx, () => countingBy(counting, () => applyOnce(tx, operations, { teams, also })));
  for (let attempt = 1; ; attempt++) {
    try {
      return await searchingOutside(once, {
        foresee: () => foreseeEdits(tx, operations, bounded),
        bounded,
      });
    } catch (error) {
      if (!isEditConflict(error)) throw error;
      addTeams(teams, error);
      if (attempt === attemptsMax)
        throw new PassingConflict(
          "Other requests keep creating and deleting these schedules. Retry the job.",
        );
    }
  }
}

/**
 * A failure releases the locks taken since the savepoint: ticks and claims go on while the edits
 * search, or before they begin again.
 */
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
  { teams, also }: { teams: ReadonlySet<string>; also: AlsoPassing },
): Promise<OutgoingParcel[]> {
  await lockTeams(tx, teams);
  // A job notes so few edits that none of these limits is needed.
  const { results, parcels } = await applyWaves(tx, operations, {
    labels: [],
    teams,
    oneByOne: Number.POSITIVE_INFINITY,
    jobs: Number.POSITIVE_INFINITY,
    labelsMost: Number.POSITIVE_INFINITY,
    also,
  });
  refuseWhole(results);
  return joinParcels(tx, parcels);
}

/** Throws the refusal of an edit, because the edits of a job succeed together or not at all. */
function refuseWhole(results: ReadonlyMap<Operation, Applied>): void {
  for (const [{ kind, key }, applied] of results) {
    if (applied.change !== "refused") continue;
    const { kind: why, message, faults, movedTo } = applied.refusal;
    if (kind === "delete" && isGone(applied.refusal)) continue;
    const verb = kind === "put" ? "put" : "cancel";
    throw new Refusal(why, `ctx.schedule.${verb}(${JSON.stringify(key)}): ${message}`, faults, movedTo);
  }
}
