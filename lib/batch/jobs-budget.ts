import { unreadableReason } from "../cadence/cadence.ts";
import { countWithin } from "../cadence/count-within.ts";
import type { Prepared } from "../edit/make-schedules.ts";
import { plannedUpTo, shardCount } from "../plan/shard.ts";
import { FewerFit } from "../quarantine/in-halves.ts";
import { occurrenceDueBy, type Timetable, timetableOf } from "../schedule/stored/timetable.ts";
import type { DecidedEdit } from "./divide-edits.ts";
import type { Operation } from "./operation.ts";

/**
 * Limit of jobs that a transaction withdraws and makes. An edit replaces the jobs of its schedule that
 * are made ahead, under the gates of the batch: about 360 for a schedule of every second. Claims
 * and ticks wait meanwhile, about 25 ms for a thousand jobs. A batch that may be divided goes on in
 * the next transaction.
 */
export const jobsReplacedMax = { divided: 4_000, allOrNothing: 15_000 } as const;

/**
 * Rolls the transaction back before it has changed an edited schedule. The parts should have the
 * operations of one shard after those of another: jobs share parcels only within a shard and a
 * transaction, and other shards go on meanwhile.
 */
export class TooManyJobs extends FewerFit {
  override readonly name = "TooManyJobs";
  readonly shards: ReadonlyMap<string, number>;

  constructor({ most, used, operations, shards }: JobsBudget) {
    const keys = operations.map(({ key }) => key);
    super(
      `These operations withdraw and make ${used.toLocaleString("en")} jobs of the next minutes. A transaction has at most ${most.toLocaleString("en")}. Send fewer operations at once.`,
      Math.max(1, Math.floor((operations.length * most) / used)),
      byShard([...keys.keys()], shards, (place) => keys[place]),
    );
    this.shards = shards;
  }
}

/** Sorts the items of schedules that exist by their shards, and leaves the others behind them. */
export function byShard<Item>(
  items: readonly Item[],
  shards: ReadonlyMap<string, number>,
  keyOf: (item: Item) => string | undefined,
): Item[] {
  const shardOf = (item: Item) => shards.get(keyOf(item) ?? "") ?? shardCount;
  return items.toSorted((a, b) => shardOf(a) - shardOf(b));
}

/** How many jobs a transaction withdraws and makes. */
export interface JobsBudget {
  most: number;
  used: number;
  /** All operations of the transaction. */
  operations: readonly Operation[];
  /** The shards of the schedules that exist, by key. */
  shards: ReadonlyMap<string, number>;
}

/**
 * Adds the jobs of a wave, and throws if they are too many. A single schedule always fits. New
 * schedules need no gate: their jobs count only beside edits.
 */
export function spendJobs(
  budget: JobsBudget,
  made: readonly Prepared[],
  edits: readonly DecidedEdit[],
): void {
  for (const each of made) budget.used += jobsOfMade(each);
  for (const each of edits) budget.used += jobsOfEdit(each);
  if (edits.length === 0 || budget.used <= budget.most) return;
  if (new Set(budget.operations.map(({ key }) => key)).size > 1) throw new TooManyJobs(budget);
}

function jobsOfMade({ params: { id, key }, state, spec: { cadence, body }, held }: Prepared): number {
  if (held !== null || body.delivery === "pulse") return 0;
  const timetable = timetableOf({ key, cadence, body, fires: 0 });
  return countDue(timetable, state.now, plannedUpTo(state, id));
}

function jobsOfEdit(decided: DecidedEdit): number {
  const { current, state, edit, holdsAfter, folded } = decided;
  const { now, reachedAt, watermarkAt } = state;
  const before = folded?.[0]?.current ?? current;
  const body = edit.spec?.body ?? current.body;
  const reached = reachedAt > watermarkAt ? reachedAt : watermarkAt;
  const isMadeAhead = before.heldSince === null && before.body.delivery !== "pulse";
  const withdrawn = isMadeAhead ? countDue(timetableOf(before), now, reached) : 0;
  if (edit.delete === true || holdsAfter.length > 0 || body.delivery === "pulse") return withdrawn;
  const after = timetableOf({ ...current, cadence: edit.spec?.cadence ?? current.cadence, body });
  return withdrawn + countDue(after, now, plannedUpTo(state, current.id));
}

/** A cadence that cannot be read has no occurrences to count. */
function countDue(timetable: Timetable, after: Date, upTo: Date): number {
  const { cadence } = timetable;
  if (unreadableReason(cadence) !== null) return 0;
  const dueBy = (at: Date) => occurrenceDueBy(timetable, at.getTime());
  return countWithin(cadence, dueBy(after), dueBy(upTo)).count;
}
