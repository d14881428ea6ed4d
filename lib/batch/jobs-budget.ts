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

  constructor(jobs: number, { most, operations, shards }: JobsBudget) {
    const keys = operations.map(({ key }) => key);
    super(
      `These operations withdraw and make about ${inTwoDigits(jobs)} jobs of the next minutes. A transaction has at most ${most.toLocaleString("en")}. Send fewer operations at once.`,
      Math.max(1, Math.floor((operations.length * most) / jobs)),
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

const inTwoDigits = (count: number) => Number(count.toPrecision(2)).toLocaleString("en");

/** How many jobs a transaction withdraws and makes. */
export interface JobsBudget {
  most: number;
  /** The schedules of all waves so far. */
  changed: Change[];
  /** How many of them have been counted, and their jobs. */
  counted: number;
  used: number;
  /** All operations of the transaction. */
  operations: readonly Operation[];
  /** The shards of the schedules that exist, by key. */
  shards: ReadonlyMap<string, number>;
}

interface Change {
  key: string;
  jobs: () => number;
}

/**
 * Adds the schedules of a wave, and throws if their jobs are too many. A single schedule always fits.
 * New schedules need no gate, so their jobs are counted only beside edits.
 *
 * It counts under the gates, and 650,000 jobs of lists under a calendar that moves would take 7 s. So it
 * stops at the limit, and the number of all jobs is an estimate. In the order of shards, schedules that
 * were made after each other are far apart, so the first ones are like the others.
 */
export function spendJobs(
  budget: JobsBudget,
  made: readonly Prepared[],
  edits: readonly DecidedEdit[],
): void {
  const wave = [
    ...made.map((each): Change => ({ key: each.params.key, jobs: () => jobsOfMade(each) })),
    ...edits.map((each): Change => ({ key: each.current.key, jobs: () => jobsOfEdit(each) })),
  ];
  const { changed, most, operations, shards } = budget;
  changed.push(...byShard(wave, shards, ({ key }) => key));
  if (edits.length === 0 || most === Number.POSITIVE_INFINITY) return;
  if (new Set(operations.map(({ key }) => key)).size < 2) return;
  for (const { jobs } of changed.slice(budget.counted)) {
    budget.used += jobs();
    budget.counted += 1;
    if (budget.used > most) throw new TooManyJobs((budget.used * changed.length) / budget.counted, budget);
  }
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
