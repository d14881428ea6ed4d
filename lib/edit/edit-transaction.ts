import type { Sql, Tx } from "../db/connect.ts";
import { lockTeams } from "../db/locks.ts";
import { factsOf, readStored, type ScheduleRead } from "../history/read-schedule.ts";
import { upcomingOf } from "../history/upcoming.ts";
import { handOver } from "../parcel/hand-over.ts";
import { joinParcels } from "../parcel/join-parcels.ts";
import type { OutgoingParcel, ParcelQueue } from "../parcel/parcel-queue.ts";
import type { Maker } from "../plan/make-later.ts";
import { owingWhatFails } from "../plan/maker.ts";
import { TeamNotLocked } from "../quota/quota-check.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import type { Hold } from "../schedule/holds.ts";
import { missingSchedule } from "../schedule/moved-away.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { Label } from "../schedule/shared-holds.ts";
import {
  findPlace,
  findPlaceOrNewId,
  findScheduleById,
  type Place,
} from "../schedule/stored/stored-schedule.ts";
import { checkEach, checkingOutside } from "./app-check.ts";
import { applyEdit, type Edit, type EditContext, lockForEdit } from "./apply-edit.ts";
import { editConflicts, isEditConflict } from "./edit-conflicts.ts";
import { RestartTransaction } from "./restart-transaction.ts";
import { searchingOutside } from "./search-outside.ts";

export interface EditDeps {
  sql: Sql;
  queue: ParcelQueue;
}

/** The versions that the schedule may have; "*" for any version of an existing schedule. */
export type IfMatch = readonly number[] | "*";

export interface EditParams {
  key: string;
  caller: Caller;
  ifMatch?: IfMatch | undefined;
}

export interface EditDone {
  change: "created" | "changed" | "unchanged";
  schedule: ScheduleRead;
  /** The next occurrences before the edit and after it. */
  changes: { before: Date[]; after: Date[] };
}

/**
 * The edit of a schedule that was found and locked, and the parcels that the decision has freed.
 * Null if the schedule already matches the request. Labels that the edit adds and that are not
 * locked yet must be locked before every other lock: the edit begins again with them.
 */
export type Decision =
  | { edit: Edit; holdsAfter: readonly Hold[]; freed?: readonly OutgoingParcel[] }
  | { unlockedLabels: readonly Label[] }
  | null;

export interface Created {
  id: string;
  shard: number;
  parcels: OutgoingParcel[];
  now: Date;
}

export interface EditSteps {
  /** Creates the schedule if the key is free. Without this function the schedule must exist. */
  missing?: (tx: Tx, id: string, teams: ReadonlySet<string>) => Promise<Created>;
  decide: (tx: Tx, context: EditContext) => Promise<Decision>;
  /** Called when the locks are held that every schedule of the shard needs. */
  noteLocked?: () => void;
  /** Rolls the edit back when it is done. */
  isDry?: boolean;
}

/** Thrown at the end of a dry run, so that its transaction is rolled back. */
class RolledBack extends Error {
  override readonly name = "RolledBack";
  readonly done: EditDone;

  constructor(done: EditDone) {
    super("A dry run changes nothing.");
    this.done = done;
  }
}

/**
 * A dry run: the same edit, rolled back at its end. So its result, its refusals and its coming
 * occurrences are those of the edit itself. It takes the locks of the edit for as long.
 */
export async function tryEdit(deps: EditDeps, params: EditParams, steps: EditSteps): Promise<EditDone> {
  try {
    return await owingWhatFails((maker) => editBy(maker, deps, params, { ...steps, isDry: true }));
  } catch (error) {
    if (error instanceof RolledBack) return error.done;
    throw error;
  }
}

/**
 * One edit in one transaction. It is retried if another transaction took or freed the key
 * meanwhile. Its parcels are sent after the commit.
 */
export function edit(deps: EditDeps, params: EditParams, steps: EditSteps): Promise<EditDone> {
  return owingWhatFails((maker) => editBy(maker, deps, params, steps));
}

async function editBy(maker: Maker, deps: EditDeps, params: EditParams, steps: EditSteps): Promise<EditDone> {
  let labels: readonly Label[] = [];
  const teams = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    try {
      const once = () =>
        deps.sql.beginByReading((tx) => editOnce(tx, params, steps, { labels, teams, maker }));
      const done = await checkingOutside(() => searchingOutside(once), checkEach);
      if (done !== "again") {
        await handOver(deps.sql, deps.queue, done.parcels);
        if ("schedule" in done) return done;
        labels = done.unlockedLabels;
      }
    } catch (error) {
      addTeams(teams, error);
      const isAsked = error instanceof RestartTransaction || error instanceof TeamNotLocked;
      const isLast = attempt === editConflicts.attempts && !isAsked;
      if (!isEditConflict(error) || isLast) throw error;
    }
    if (attempt === editConflicts.attempts)
      throw new PassingConflict(
        `Other requests keep creating and deleting the schedule ${params.key}. Retry the request.`,
      );
  }
}

/** Adds the teams that the next attempt must lock first. */
export function addTeams(teams: Set<string>, error: unknown): void {
  if (error instanceof TeamNotLocked) for (const team of error.teams) teams.add(team);
}

export type EditedOnce =
  | ((EditDone | { unlockedLabels: readonly Label[] }) & { parcels: OutgoingParcel[] })
  /** The schedule was deleted while the edit waited for its locks. */
  | "again";

interface EditMeans {
  labels: readonly Label[];
  /** Teams that are locked first, because the edit may use up one of their quotas. */
  teams: ReadonlySet<string>;
  maker: Maker;
}

export async function editOnce(
  tx: Tx,
  params: EditParams,
  steps: EditSteps,
  means: EditMeans,
): Promise<EditedOnce> {
  await lockTeams(tx, means.teams);
  if (steps.missing === undefined) {
    const place = await findPlace(tx, params.key);
    if (place === null) throw await missingSchedule(tx, params.key);
    return editPlaced(tx, place, params, steps, means);
  }
  const place = await findPlaceOrNewId(tx, params.key);
  if (!("newId" in place)) return editPlaced(tx, place, params, steps, means);
  const made = await steps.missing(tx, place.newId, means.teams);
  const [parcels, { schedule, coming }] = await Promise.all([
    joinParcels(tx, made.parcels),
    readAfter(tx, made, made.now),
  ]);
  const done: EditDone = { change: "created", schedule, changes: { before: [], after: coming } };
  if (steps.isDry === true) throw new RolledBack(done);
  return { ...done, parcels };
}

async function editPlaced(
  tx: Tx,
  place: Place,
  params: EditParams,
  steps: EditSteps,
  { labels, teams, maker }: EditMeans,
): Promise<EditedOnce> {
  const context = await lockForEdit(tx, place, { labels, teams, maker, noteLocked: steps.noteLocked });
  if (context === null) return "again";
  const { current, state } = context;
  if (params.ifMatch !== undefined && params.ifMatch !== "*" && !params.ifMatch.includes(current.version)) {
    throw new Refusal("precondition", `The schedule ${params.key} is at version ${current.version}.`);
  }
  const before = await upcomingOf(tx, current, state.now, changesShown);
  const decision = await steps.decide(tx, context);
  if (decision === null) {
    const { schedule } = await readAfter(tx, current, state.now);
    return { change: "unchanged", schedule, parcels: [], changes: { before, after: before } };
  }
  if ("unlockedLabels" in decision) return { ...decision, parcels: [] };
  const ofEdit = await applyEdit(tx, context, decision.edit, decision.holdsAfter, params.caller, maker);
  const [parcels, { schedule, coming }] = await Promise.all([
    joinParcels(tx, [...(decision.freed ?? []), ...ofEdit]),
    readAfter(tx, current, state.now),
  ]);
  const changes = { before, after: decision.edit.delete === true ? [] : coming };
  if (steps.isDry === true) throw new RolledBack({ change: "changed", schedule, changes });
  return { change: "changed", schedule, parcels, changes };
}

/** Number of coming occurrences that an answer shows. */
const changesShown = 5;

/** The schedule as this transaction sees it, also if it is deleted, and its coming occurrences. */
async function readAfter(
  tx: Tx,
  { id, shard }: { id: string; shard: number },
  now: Date,
): Promise<{ schedule: ScheduleRead; coming: Date[] }> {
  const [stored, facts] = await Promise.all([findScheduleById(tx, id), factsOf(tx, [{ id, shard }])]);
  const [schedule] = stored === null ? [] : await readStored(tx, [stored], { facts });
  if (stored === null || schedule === undefined)
    throw new Error(`The schedule ${id} has no row after its edit.`);
  return { schedule, coming: await upcomingOf(tx, stored, now, changesShown) };
}
