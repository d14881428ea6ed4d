import type { Cadence } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { jobId } from "../job/job-id.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { Refusal } from "../refusal.ts";
import type { Label } from "../schedule/shared-holds.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { changeTogether } from "./change-together.ts";
import { afterEndedHold, applyEdit } from "./edit.ts";
import type { EditSteps } from "./edit-transaction.ts";
import { enqueueSteps } from "./enqueue-job.ts";
import { askedTogether, type Known } from "./known.ts";
import type { ManyLocked } from "./lock-many.ts";
import { makeSchedules, type Prepared, prepareSchedule } from "./make-schedules.ts";
import type { Applied, Operation } from "./operation.ts";
import type { DecidedEdit } from "./plain-edits.ts";
import { onceOf } from "./planned-job.ts";
import { deleteSteps, patchSteps, putSteps } from "./schedule-edits.ts";
import { pauseSteps, resumeSteps } from "./schedule-holds.ts";
import { type ShardState, shardOf } from "./shard.ts";

/** Rolls back what was done: somebody was quicker, or labels are needed that nobody has locked. */
export class BeginAnew extends Error {
  override readonly name = "BeginAnew";
  readonly labels: readonly Label[];

  constructor(labels: readonly Label[] = []) {
    super("The operations begin anew.");
    this.labels = labels;
  }
}

/** Rolls back what was done: it would keep everybody's claims and ticks waiting for seconds. */
export class TooMuchAtOnce extends Error {
  override readonly name = "TooMuchAtOnce";

  constructor() {
    super(
      `More than ${oneByOneMax} of these operations cannot be done together with others: they concern holds, lanes or what is owed, or the same key. Send fewer at once.`,
    );
  }
}

/** So many edits are done one by one while claims and ticks wait, at some milliseconds each. */
export const oneByOneMax = 100;

export interface WaveDone {
  results: Map<Operation, Applied>;
  parcels: OutgoingParcel[];
  /** How much had to be done by itself. */
  oneByOne: number;
}

type Decided =
  | { operation: Operation; make: Prepared }
  | { operation: Operation; unlocked: readonly Label[] }
  | { operation: Operation; change: DecidedEdit }
  | { operation: Operation; applied: Applied };

/** One operation of each of these keys: all are decided, and then done, those that are plain in a few statements together. */
export async function applyWave(
  tx: Tx,
  operations: readonly Operation[],
  locked: ManyLocked,
  budget: number,
): Promise<WaveDone> {
  const { standing, states, labels } = locked;
  const ids = operations.flatMap(({ key }) => standing.get(key)?.id ?? []);
  const known = await askedTogether(tx, { ids, labels }, cutOf(states));
  const decided: Decided[] = [];
  for (const operation of operations) decided.push(await decide(tx, operation, locked, known));
  const unlocked = decided.flatMap((each) => ("unlocked" in each ? each.unlocked : []));
  if (unlocked.length > 0) throw new BeginAnew(unlocked);

  const results = new Map<Operation, Applied>();
  for (const each of decided) if (!("unlocked" in each)) results.set(each.operation, appliedOf(each));
  const made = decided.flatMap((each) => ("make" in each ? [each.make] : []));
  const changes = decided.flatMap((each) => ("change" in each ? [each.change] : []));
  const ofMade = await makeSchedules(tx, made);
  const { parcels, others } = await changeTogether(tx, changes);
  if (others.length > budget) throw new TooMuchAtOnce();
  parcels.push(...ofMade, ...changes.flatMap(({ freed = [] }) => freed));
  for (const { current, state, edit, holdsAfter, caller } of others)
    parcels.push(...(await applyEdit(tx, { current, state }, edit, holdsAfter, caller)));
  return { results, parcels, oneByOne: others.length };
}

async function decide(
  tx: Tx,
  operation: Operation,
  { standing, states, newIds, labels }: ManyLocked,
  known: Known,
): Promise<Decided> {
  try {
    const found = standing.get(operation.key);
    if (found !== undefined) {
      const state = stateOf(states, found.shard);
      const current = await afterEndedHold(tx, found, state);
      return await decideEdit(tx, operation, { current, state, labels, known });
    }
    return { operation, make: await prepare(operation, newIds.get(operation), states, known) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { kind, message, faults } = error;
    const refused: Applied = {
      change: "refused",
      key: operation.key,
      refusal: { kind, message, faults },
    };
    return { operation, applied: refused };
  }
}

async function prepare(
  operation: Operation,
  id: string | undefined,
  states: ManyLocked["states"],
  known: Known,
): Promise<Prepared> {
  const { key, ifMatch } = operation;
  if (operation.kind !== "put") throw new Refusal("missing", `There is no schedule ${key}.`);
  if (ifMatch !== undefined)
    throw new Refusal("precondition", `There is no schedule ${key} that could match.`);
  // It was there when the ids were given out, and an operation before this one failed to delete it, or succeeded.
  if (id === undefined) throw new BeginAnew();
  return prepareSchedule(known, stateOf(states, shardOf(id)), { ...operation, id });
}

async function decideEdit(
  tx: Tx,
  operation: Operation,
  context: { current: StoredSchedule; state: ShardState; labels: readonly Label[]; known: Known },
): Promise<Decided> {
  const { key, ifMatch, caller } = operation;
  const { current, state } = context;
  if (ifMatch !== undefined && ifMatch !== "*" && !ifMatch.includes(current.version))
    throw new Refusal("precondition", `The schedule ${key} is at version ${current.version}.`);
  const decision = await stepsOf(operation).decide(tx, context);
  if (decision === null) {
    const unchanged = { change: "unchanged", id: current.id, key, version: current.version } as const;
    return { operation, applied: { ...unchanged, ...jobAsked(operation, current.id, current.cadence) } };
  }
  if ("unlockedLabels" in decision) return { operation, unlocked: decision.unlockedLabels };
  return { operation, change: { ...decision, current, state, caller } };
}

function appliedOf(decided: Exclude<Decided, { unlocked: readonly Label[] }>): Applied {
  if ("applied" in decided) return decided.applied;
  if ("make" in decided) {
    const { wish, spec } = decided.make;
    const { id, key } = wish;
    return { change: "created", id, key, version: 1, ...jobAsked(decided.operation, id, spec.cadence) };
  }
  const { current, edit } = decided.change;
  const { id, key, version } = current;
  const change = edit.delete === true ? "deleted" : "changed";
  const job = jobAsked(decided.operation, id, edit.spec?.cadence ?? current.cadence);
  return { change, id, key, version: version + 1, ...job };
}

function jobAsked(operation: Operation, scheduleId: string, cadence: Cadence): { job?: string } {
  const at = operation.kind === "put" && operation.ifExists !== undefined ? onceOf(cadence) : null;
  if (at === null) return {};
  return { job: jobId({ scheduleId, occurrence: new Date(at), kind: "cadence", n: 0 }) };
}

function cutOf(states: ManyLocked["states"]): Date {
  const [first] = states.values();
  if (first === undefined) throw new Error("There are no shards.");
  return first.now;
}

function stateOf(states: ReadonlyMap<number, ShardState>, shard: number): ShardState {
  const state = states.get(shard);
  if (state === undefined) throw new Error(`Shard ${shard} does not exist in carillon.shards.`);
  return state;
}

function stepsOf(operation: Operation): EditSteps {
  switch (operation.kind) {
    case "put":
      return operation.ifExists === undefined
        ? putSteps(operation)
        : enqueueSteps({ ...operation, ifExists: operation.ifExists });
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
