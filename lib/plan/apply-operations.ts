import type { Tx } from "../db/connect.ts";
import { handOver } from "../parcel/hand-over.ts";
import { joinParcels } from "../parcel/join-parcels.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { Refusal } from "../refusal.ts";
import type { Label } from "../schedule/shared-holds.ts";
import { findScheduleById } from "../schedule/stored-schedule.ts";
import { afterEndedHold, applyEdit } from "./edit.ts";
import { type EditDeps, type EditSteps, mayPass } from "./edit-transaction.ts";
import { lockMany, type ManyLocked } from "./lock-many.ts";
import type { Applied, ApplyOptions, Operation } from "./operation.ts";
import { deleteSteps, patchSteps, putSteps } from "./schedule-edits.ts";
import { pauseSteps, resumeSteps } from "./schedule-holds.ts";
import type { ShardState } from "./shard.ts";

/** So often they begin anew, where others make, delete or lock the same schedules crosswise. */
const beginningsMax = 10;

/**
 * Many edits in one transaction, each as if it were alone and one after the other; the results in the order of the operations.
 */
export async function applyOperations(
  deps: EditDeps,
  operations: readonly Operation[],
  options: ApplyOptions = {},
): Promise<Applied[]> {
  const labels: Label[] = [];
  for (let beginning = 1; ; beginning++) {
    try {
      const { applied, parcels } = await deps.sql.begin((tx) => applyOnce(tx, operations, labels, options));
      await handOver(deps.sql, deps.queue, parcels);
      return applied;
    } catch (error) {
      if (error instanceof NothingDone) return error.applied;
      if (error instanceof BeginAnew) labels.push(...error.labels);
      else if (!mayPass(error)) throw error;
      if (beginning === beginningsMax)
        throw new Refusal("conflict", "Schedules are being created and deleted by others at this moment.");
    }
  }
}

/** Rolls back what was done: somebody was quicker, or labels are needed that nobody has locked. */
class BeginAnew extends Error {
  override readonly name = "BeginAnew";
  readonly labels: readonly Label[];

  constructor(labels: readonly Label[] = []) {
    super("The operations begin anew.");
    this.labels = labels;
  }
}

/** Rolls back what was done, because one of them was refused. */
class NothingDone extends Error {
  override readonly name = "NothingDone";
  readonly applied: Applied[];

  constructor(applied: Applied[]) {
    super("Nothing was done: one of the operations was refused.");
    this.applied = applied;
  }
}

async function applyOnce(
  tx: Tx,
  operations: readonly Operation[],
  labels: readonly Label[],
  { allOrNothing = false, before, after }: ApplyOptions,
): Promise<{ applied: Applied[]; parcels: OutgoingParcel[] }> {
  const passed = (await before?.(tx)) ?? new Set<number>();
  const wanted = operations.filter((_, index) => !passed.has(index));
  const results = new Map<Operation, Applied>();
  const parcels: OutgoingParcel[] = [];
  const locked = wanted.length === 0 ? null : await lockMany(tx, wanted, labels);
  // By key: two that make the same schedules wait for each other at the first, and not crosswise. Those of one key stay in their order.
  for (const operation of wanted.toSorted(byKey)) {
    if (locked === null) throw new BeginAnew();
    const done = await applyOne(tx, operation, locked);
    results.set(operation, done.applied);
    parcels.push(...done.parcels);
  }
  const applied = operations.map(
    (operation): Applied => results.get(operation) ?? { change: "passed-over", key: operation.key },
  );
  if (allOrNothing && applied.some(({ change }) => change === "refused")) throw new NothingDone(applied);
  await after?.(tx, applied);
  return { applied, parcels: await joinParcels(tx, parcels) };
}

function byKey(a: Operation, b: Operation): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

interface AppliedOne {
  applied: Applied;
  parcels: OutgoingParcel[];
}

async function applyOne(tx: Tx, operation: Operation, locked: ManyLocked): Promise<AppliedOne> {
  try {
    const current = locked.standing.get(operation.key);
    return current === undefined
      ? await makeOne(tx, operation, locked)
      : await editOne(tx, operation, locked, current.id);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { kind, message, faults } = error;
    return {
      applied: { change: "refused", key: operation.key, refusal: { kind, message, faults } },
      parcels: [],
    };
  }
}

async function makeOne(tx: Tx, operation: Operation, { standing, newIds }: ManyLocked): Promise<AppliedOne> {
  const { missing } = stepsOf(operation, newIds.get(operation));
  const { key } = operation;
  if (missing === undefined) throw new Refusal("missing", `There is no schedule ${key}.`);
  const { id, parcels } = await missing(tx);
  const made = await findScheduleById(tx, id);
  if (made === null) throw new Error(`Schedule ${id} is gone as soon as it was made.`);
  standing.set(key, made);
  return { applied: { change: "created", id, key, version: made.version }, parcels };
}

async function editOne(
  tx: Tx,
  operation: Operation,
  { standing, states, labels }: ManyLocked,
  id: string,
): Promise<AppliedOne> {
  const { key, ifMatch, caller } = operation;
  const stored = await findScheduleById(tx, id);
  if (stored === null) throw new Error(`Schedule ${id} is gone under its lock.`);
  const state = stateOf(states, stored.shard);
  const current = await afterEndedHold(tx, stored, state);
  if (ifMatch !== undefined && ifMatch !== "*" && !ifMatch.includes(current.version))
    throw new Refusal("precondition", `The schedule ${key} is at version ${current.version}.`);
  const decision = await stepsOf(operation).decide(tx, { current, state, labels });
  if (decision === null)
    return { applied: { change: "unchanged", id, key, version: current.version }, parcels: [] };
  if ("unlockedLabels" in decision) throw new BeginAnew(decision.unlockedLabels);
  const parcels = await applyEdit(tx, { current, state }, decision.edit, decision.holdsAfter, caller);
  const isDeleted = decision.edit.delete === true;
  if (isDeleted) standing.delete(key);
  return {
    applied: { change: isDeleted ? "deleted" : "changed", id, key, version: current.version + 1 },
    parcels: [...(decision.freed ?? []), ...parcels],
  };
}

export function stateOf(states: ReadonlyMap<number, ShardState>, shard: number): ShardState {
  const state = states.get(shard);
  if (state === undefined) throw new Error(`Shard ${shard} does not exist in carillon.shards.`);
  return state;
}

function stepsOf(operation: Operation, newId?: string): EditSteps {
  switch (operation.kind) {
    case "put":
      return putSteps({ ...operation, newId });
    case "patch":
      return patchSteps(operation, operation.accept);
    case "delete":
      return deleteSteps;
    case "pause":
      return pauseSteps(operation);
    case "resume":
      return resumeSteps(operation);
  }
}
