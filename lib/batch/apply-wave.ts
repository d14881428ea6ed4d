import type { Tx } from "../db/connect.ts";
import { type Asked, Unchecked } from "../edit/app-check.ts";
import { afterEndedHold, applyEdit } from "../edit/apply-edit.ts";
import type { EditSteps } from "../edit/edit-transaction.ts";
import { type Lookups, lookUpOneByOne, lookUpTogether } from "../edit/lookups.ts";
import { isMadeAlone, makeSchedules } from "../edit/make-schedules.ts";
import { RestartTransaction } from "../edit/restart-transaction.ts";
import { deleteSteps, patchSteps, putSteps } from "../edit/schedule-edits.ts";
import { pauseSteps, resumeSteps } from "../edit/schedule-holds.ts";
import { yieldOften } from "../edit/yield-often.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import type { Maker } from "../plan/make-later.ts";
import { cutOf, type ShardState, stateOf } from "../plan/shard.ts";
import { FewerFit } from "../quarantine/in-halves.ts";
import { Refusal } from "../refusal.ts";
import type { Label } from "../schedule/shared-holds.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { changeTogether } from "./change-together.ts";
import {
  appliedToMissing,
  decideMissing,
  jobAsked,
  type MissingDecided,
  refusedBy,
} from "./decide-missing.ts";
import type { DecidedEdit } from "./divide-edits.ts";
import { enqueueSteps } from "./enqueue-job.ts";
import { afterFolded, isFoldable, mayFollow } from "./fold-edits.ts";
import { type JobsBudget, spendJobs } from "./jobs-budget.ts";
import type { ManyLocked } from "./lock-many.ts";
import { makeShared, sharedToCome } from "./make-shared.ts";
import type { Applied, Operation } from "./operation.ts";

/**
 * Rolls the transaction back: it would keep claims and ticks waiting. Half as many operations fit
 * surely, because one may count twice: once by itself, and once because it repeats a key.
 */
export class TooMuchAtOnce extends FewerFit {
  override readonly name = "TooMuchAtOnce";

  constructor(most: number) {
    super(
      `More than ${most} of these operations must be done one by one: they concern holds, lanes or overdue occurrences, or repeat a key. Send fewer operations at once.`,
      Math.floor(most / 2),
    );
  }
}

/**
 * Limit of edits that a transaction does one by one. Claims and ticks wait meanwhile, about 8 ms for
 * each edit. A batch that may be divided goes on in the next transaction. With 100 in each, batches of
 * one team made the webhooks of another 0.6 s late.
 */
export const oneByOneMax = { divided: 25, allOrNothing: 100 } as const;

export interface WavesDone {
  results: Map<Operation, Applied>;
  parcels: OutgoingParcel[];
}

/** How many operations of a transaction may be done one by one, and how many jobs it may replace. */
export interface Budget {
  most: number;
  used: number;
  jobs: JobsBudget;
}

export function checkBudget({ most, used }: Budget, oneByOne: number): void {
  if (used + oneByOne > most) throw new TooMuchAtOnce(most);
}

export interface WaveDone extends WavesDone {
  /** The remaining operations of each key, in their order. */
  left: (readonly Operation[])[];
  /** Number of operations that were done one by one. */
  oneByOne: number;
}

type Unlocked = { operation: Operation; unlocked: readonly Label[] };

/** Payloads that the app's code must check before the transaction. */
type NotChecked = { operation: Operation; unchecked: readonly Asked[] };

/** `isFolded`: the next change of the same key writes this one too. */
type ToChange = { operation: Operation; change: DecidedEdit; isFolded?: true };

type Decided = MissingDecided | Unlocked | NotChecked | ToChange;

/**
 * Decides and applies the next effective operation of each key. Plain operations are done together
 * in a few statements, and all missing schedules are inserted in one.
 */
export async function applyWave(
  tx: Tx,
  ofKeys: readonly (readonly Operation[])[],
  locked: ManyLocked,
  { budget, isFirst, maker }: { budget: Budget; isFirst: boolean; maker: Maker },
): Promise<WaveDone> {
  const { existing, states, labels, quota } = locked;
  const ids = ofKeys.flatMap(([next]) => (next === undefined ? [] : (existing.get(next.key)?.id ?? [])));
  const keys = ofKeys.flatMap(([next]) => next?.key ?? []);
  const known = await lookUpTogether(tx, { ids, keys, labels, quota }, cutOf(states));
  const { decided, left, ...first } = await decideAll(tx, ofKeys, locked, {
    known,
    maker,
    budget,
    turn: yieldOften(),
  });
  let { oneByOne } = first;
  const results = new Map(decided.map((each) => [each.operation, appliedOf(each)]));
  const made = decided.flatMap((each) => ("make" in each ? [each.make] : []));
  const changes = decided.flatMap((each) =>
    "change" in each && each.isFolded !== true ? [each.change] : [],
  );
  spendJobs(budget.jobs, made, changes);
  if (changes.length > 0 || left.length > 0) {
    // Cadences of folded edits are included: a cadence that is inserted later can close a deadlock
    // with another batch.
    const edits = decided.flatMap((each) => ("change" in each ? [each.change.edit] : []));
    const specs = [...made, ...edits].flatMap(({ spec }) => spec ?? []);
    const later = isFirst ? await sharedToCome(left.flat(), locked, known) : [];
    await makeShared(tx, [...specs, ...later]);
  }
  oneByOne += made.filter(isMadeAlone).length;
  checkBudget(budget, oneByOne);
  const ofMade = await makeSchedules(tx, made);
  const { parcels, others } = await changeTogether(tx, changes, maker);
  oneByOne += others.length;
  checkBudget(budget, oneByOne);
  parcels.push(...ofMade, ...changes.flatMap(({ freed = [] }) => freed));
  for (const { current, state, edit, holdsAfter, caller } of others)
    parcels.push(...(await applyEdit(tx, { current, state }, edit, holdsAfter, caller, maker)));
  return { results, left, parcels, oneByOne };
}

type Decisive = Exclude<Decided, Unlocked | NotChecked>;

/**
 * Decides the next operations of every key. If labels are not locked or payloads not checked, it
 * throws with all of them, so that the transaction begins again only once.
 */
async function decideAll(
  tx: Tx,
  ofKeys: readonly (readonly Operation[])[],
  locked: ManyLocked,
  { budget, ...means }: DecideMeans & { budget: Budget },
): Promise<{ decided: Decisive[]; left: (readonly Operation[])[]; oneByOne: number }> {
  const decided: Decisive[] = [];
  const unlocked: Label[] = [];
  const unchecked: Asked[] = [];
  const left: (readonly Operation[])[] = [];
  let oneByOne = 0;
  for (const own of ofKeys) {
    const next = await decideNext(tx, own, locked, means);
    for (const each of next) {
      if ("unlocked" in each) unlocked.push(...each.unlocked);
      else if ("unchecked" in each) unchecked.push(...each.unchecked);
      else decided.push(each);
      // Counts as done alone, because its decision has already cancelled a job.
      if ("change" in each && each.change.freed !== undefined) oneByOne += 1;
    }
    checkBudget(budget, oneByOne);
    if (next.length < own.length) left.push(own.slice(next.length));
  }
  if (unchecked.length > 0) throw new Unchecked(unchecked);
  if (unlocked.length > 0) throw new RestartTransaction(unlocked);
  return { decided, left, oneByOne };
}

/**
 * Decides the operations of one key up to the first that changes something. It continues past that
 * one while the changes can be folded into one write.
 */
async function decideNext(
  tx: Tx,
  own: readonly Operation[],
  locked: ManyLocked,
  means: DecideMeans,
): Promise<Decided[]> {
  const decided: Decided[] = [];
  let chain = 0;
  for (const [index, operation] of own.entries()) {
    await means.turn();
    const each = await decide(tx, operation, locked, means);
    const isLink = "change" in each && means.maker.together !== null && isFoldable(each.change);
    // This edit was decided on versions that are not written yet. It is decided again once they
    // are.
    if (chain > 0 && !isLink && "change" in each) break;
    decided.push(each);
    if ("applied" in each) continue;
    if (!isLink || !mayFollow(own[index + 1])) break;
    chain += 1;
    locked.existing.set(operation.key, afterFolded(each.change));
  }
  return folded(decided);
}

/** Attaches the earlier changes to the last one, which writes them all. */
function folded(decided: readonly Decided[]): Decided[] {
  const changes = decided.flatMap((each) => ("change" in each ? [each] : []));
  const last = changes.pop();
  if (last === undefined || changes.length === 0) return [...decided];
  const before = changes.map(({ change }) => change);
  return decided.map((each) => {
    if (each === last) return { ...last, change: { ...last.change, folded: before } };
    return "change" in each ? { ...each, isFolded: true } : each;
  });
}

interface DecideMeans {
  /** Awaited before each decision, so that other work of the process can run. */
  turn: () => Promise<void>;
  known: Lookups;
  maker: Maker;
}

async function decide(
  tx: Tx,
  operation: Operation,
  locked: ManyLocked,
  { known, maker }: DecideMeans,
): Promise<Decided> {
  const { existing, states, labels, quota } = locked;
  const { key } = operation;
  const found = existing.get(key);
  if (found === undefined) return decideMissing(operation, locked, known);
  try {
    const state = stateOf(states, found.shard);
    const current = await afterEndedHold(tx, found, state, maker);
    existing.set(key, current);
    // The hold that has ended was removed after the shared lookup.
    const knownNow =
      current === found ? known : { ...lookUpOneByOne(tx, state.now, quota), quota: known.quota };
    return await decideEdit(tx, operation, { current, state, labels, known: knownNow });
  } catch (error) {
    if (error instanceof Unchecked) return { operation, unchecked: error.asked };
    return { operation, applied: refusedBy(error, key) };
  }
}

async function decideEdit(
  tx: Tx,
  operation: Operation,
  context: { current: StoredSchedule; state: ShardState; labels: readonly Label[]; known: Lookups },
): Promise<Decided> {
  const { key, ifMatch, caller } = operation;
  const { current, state } = context;
  if (ifMatch !== undefined && ifMatch !== "*" && !ifMatch.includes(current.version))
    throw new Refusal("precondition", `The schedule ${key} is at version ${current.version}.`);
  const isMeant = operation.isMeant?.(current, state.now) ?? true;
  const decision = isMeant ? await stepsOf(operation).decide(tx, context) : null;
  if (decision === null) {
    const unchanged = { change: "unchanged", id: current.id, key, version: current.version } as const;
    return { operation, applied: { ...unchanged, ...jobAsked(operation, current.id, current.cadence) } };
  }
  if ("unlockedLabels" in decision) return { operation, unlocked: decision.unlockedLabels };
  return { operation, change: { ...decision, current, state, caller } };
}

function appliedOf(decided: Decisive): Applied {
  if (!("change" in decided)) return appliedToMissing(decided);
  const { current, edit } = decided.change;
  const { id, key, lastVersion } = current;
  const change = edit.delete === true ? "deleted" : "changed";
  const job = jobAsked(decided.operation, id, edit.spec?.cadence ?? current.cadence);
  return { change, id, key, version: lastVersion + 1, ...job };
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
