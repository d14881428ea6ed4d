import type { Tx } from "../db/connect.ts";
import type { QueueClass } from "../parcel/parcel-queue.ts";

/**
 * Limits how many jobs of the backlog are under way at each target, so that no target blocks the
 * others.
 */

/**
 * Jobs that one tick makes of the backlog, spread over a minute. Also the most jobs of the backlog
 * that one target may have under way while no other target has any.
 */
export const backlogBudget = 60_000;

/**
 * Each target may always use this share of the budget, until all targets together use `mostShare`
 * of it.
 */
const leastShare = 0.01;
const mostShare = 3;

/** Where jobs of the backlog go. `target` is null for all targets that share parcels. */
export interface Destination {
  queue: QueueClass;
  target: number | null;
}

export interface UnderWay extends Destination {
  jobs: number;
}

/**
 * A target may have as many jobs under way as the budget less half of the jobs of all other targets
 * in its queue class. So a stuck target leaves half of the budget to the next one, and working
 * targets get equal shares. Jobs that wait for a turn, for the next attempt or for a worker all
 * count.
 */
export class BacklogRoom {
  readonly #budget: number;
  readonly #own = new Map<string, UnderWay>();
  readonly #all: Record<QueueClass, number> = { fast: 0, slow: 0 };

  constructor(budget: number, underWay: Iterable<UnderWay>) {
    this.#budget = budget;
    for (const each of underWay) this.take(each, each.jobs);
  }

  of(destination: Destination): number {
    const own = this.underWay(destination);
    const all = this.#all[destination.queue];
    const most = Math.max(this.#budget - Math.ceil((all - own) / 2), Math.ceil(this.#budget * leastShare));
    return Math.max(0, Math.min(most - own, mostShare * this.#budget - all));
  }

  underWay({ queue, target }: Destination): number {
    return this.#own.get(`${queue} ${target}`)?.jobs ?? 0;
  }

  take({ queue, target }: Destination, jobs: number): void {
    this.#all[queue] += jobs;
    this.#own.set(`${queue} ${target}`, { queue, target, jobs: jobs + this.underWay({ queue, target }) });
  }

  copy(): BacklogRoom {
    return new BacklogRoom(this.#budget, this.#own.values());
  }

  /** Targets without room. */
  full(): Destination[] {
    return [...this.#own.values()].filter((each) => this.of(each) === 0);
  }
}

/**
 * Unfinished jobs of the backlog, without those of paused schedules. Jobs of targets that share
 * parcels cannot be counted by target. Of these, jobs that wait for the next attempt do not count:
 * otherwise one target that refuses its jobs would stop the backlog of all of them.
 */
export const owedUnderWay = (tx: Tx) => tx`
  select c.queue, o.target, o.jobs
  from (values ('fast'::carillon.queue_class), ('slow')) c (queue) cross join lateral (
    select p.target, sum(p.jobs)::int as jobs from (
      select target_id as target, cardinality(occurrences) as jobs from carillon.parcels
      where owed and queue = c.queue and held_schedule is null
        and (target_id is not null or lane is not null or ready_at <= (select carillon.clock()) + interval '1 minute') offset 0) p
    group by 1 offset 0) o`;

/** The room of each target now. Null if no row's turn has come, which one index lookup shows. */
export async function backlogRoom(tx: Tx, budget: number): Promise<{ now: Date; room: BacklogRoom } | null> {
  const rows = await tx<({ now: Date } & (UnderWay | { queue: null }))[]>`
    select carillon.clock() as now, u.queue, u.target, u.jobs
    from (select from carillon.backlog where turn_at <= (select carillon.clock()) order by turn_at limit 1) due
    left join lateral (${owedUnderWay(tx)} offset 0) u on true`;
  const [first] = rows;
  if (first === undefined) return null;
  const underWay = rows.flatMap((row) => (row.queue === null ? [] : [row]));
  return { now: first.now, room: new BacklogRoom(budget, underWay) };
}

/** A target without room in the backlog. */
export interface FullTarget {
  /** Null for all targets that share parcels. */
  target: string | null;
  underWay: number;
}

/** For an explanation. Null if the target of the schedule has room. */
export async function fullTargetOf(tx: Tx, scheduleId: string): Promise<FullTarget | null> {
  const [own] = await tx<(Destination & { name: string | null })[]>`
    select s.queue, a.target, t.name
    from carillon.schedules s
    cross join lateral (select carillon.apart_target(s.queue, s.target_id) as target) a
    left join carillon.targets t on t.id = a.target
    where s.id = ${scheduleId}`;
  if (own === undefined) return null;
  const room = new BacklogRoom(backlogBudget, await tx<UnderWay[]>`${owedUnderWay(tx)}`);
  return room.of(own) > 0 ? null : { target: own.name, underWay: room.underWay(own) };
}
