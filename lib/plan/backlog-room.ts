import type { Tx } from "../db/connect.ts";
import type { QueueClass } from "../parcel/parcel-queue.ts";

/**
 * Limits how many jobs of the backlog are under way for each team at each target, so that no team
 * and no target blocks the others.
 */

/**
 * Jobs that one tick makes of the backlog, spread over a minute. Also the limit of one line's jobs
 * under way, if all other lines have none.
 */
export const backlogBudget = 60_000;

/** Each line may always use this share of the budget, until its team has no room. */
const leastShare = 0.01;

/** All teams together may use the budget this many times. */
const mostShare = 4;

/** A team may use this part of the room that the others leave, at all targets together. */
const teamShare = 0.75;

/** A line: the team whose jobs wait, and where they go. */
export interface Line {
  queue: QueueClass;
  /** Null for all targets that share parcels. */
  target: number | null;
  /** Null for all schedules without a team. */
  team: number | null;
}

export interface UnderWay extends Line {
  jobs: number;
}

/** Jobs under way in one queue class. */
interface ClassJobs {
  all: number;
  /** As `all`, with the budget at most for each team. */
  capped: number;
  byTeam: Map<number | null, number>;
}

/**
 * A line may have as many jobs under way as the budget less half of the jobs of all other lines in
 * its queue class. Another team counts with the budget at most, however many targets it has. So a
 * stuck line leaves half of the budget to the next one, and working lines get equal shares. A team
 * as a whole leaves a quarter of the room to others. Jobs that wait for a turn, for the next attempt
 * or for a worker all count.
 */
export class BacklogRoom {
  readonly #budget: number;
  readonly #own = new Map<string, UnderWay>();
  readonly #classes: Record<QueueClass, ClassJobs> = { fast: noJobs(), slow: noJobs() };

  constructor(budget: number, underWay: Iterable<UnderWay>) {
    this.#budget = budget;
    for (const each of underWay) this.take(each, each.jobs);
  }

  of(line: Line): number {
    const own = this.underWay(line);
    const { all, capped, byTeam } = this.#classes[line.queue];
    const team = byTeam.get(line.team) ?? 0;
    const others = team - own + capped - Math.min(this.#budget, team);
    const most = Math.max(this.#budget - Math.ceil(others / 2), Math.ceil(this.#budget * leastShare));
    const mostOfTeam = Math.ceil((mostShare * this.#budget - (all - team)) * teamShare);
    return Math.max(0, Math.min(most - own, mostOfTeam - team));
  }

  underWay(line: Line): number {
    return this.#own.get(nameOf(line))?.jobs ?? 0;
  }

  take({ queue, target, team }: Line, jobs: number): void {
    const line = { queue, target, team };
    const counted = this.#classes[queue];
    const before = counted.byTeam.get(team) ?? 0;
    counted.all += jobs;
    counted.capped += Math.min(this.#budget, before + jobs) - Math.min(this.#budget, before);
    counted.byTeam.set(team, before + jobs);
    this.#own.set(nameOf(line), { ...line, jobs: jobs + this.underWay(line) });
  }

  copy(): BacklogRoom {
    return new BacklogRoom(this.#budget, this.#own.values());
  }

  /** Lines without room. */
  full(): Line[] {
    return [...this.#own.values()].filter((each) => this.of(each) === 0);
  }

  /** Whether a line has so little room that its occurrences wait for jobs to end. */
  isShort(line: Line): boolean {
    return this.of(line) < Math.ceil(this.#budget * leastShare);
  }
}

const noJobs = (): ClassJobs => ({ all: 0, capped: 0, byTeam: new Map() });

const nameOf = ({ queue, target, team }: Line): string => `${queue} ${target} ${team}`;

/**
 * Unfinished jobs of the backlog by line, without those of paused schedules. Jobs of several teams
 * may share a parcel until a claim, a lane or a retry parts them: until then they count as jobs
 * without a team. Jobs of targets that share parcels cannot be counted by target. Of these, jobs
 * that wait for the next attempt do not count: otherwise one target that refuses its jobs would stop
 * the backlog of all of them.
 */
export const owedUnderWay = (tx: Tx, kept = tx`true`) => tx`
  select c.queue, o.target, o.team, o.jobs
  from (values ('fast'::carillon.queue_class), ('slow')) c (queue) cross join lateral (
    select p.target, p.team, sum(p.jobs)::int as jobs from (
      select target_id as target, team_id as team, cardinality(occurrences) as jobs from carillon.parcels
      where owed and queue = c.queue and held_schedule is null
        and (target_id is not null or lane is not null or ready_at <= (select carillon.clock()) + interval '1 minute') and ${kept} offset 0) p
    group by 1, 2 offset 0) o`;

/** The room of each line now. Null if no row's turn has come, which one index lookup shows. */
export async function backlogRoom(tx: Tx, budget: number): Promise<{ now: Date; room: BacklogRoom } | null> {
  const rows = await tx<({ now: Date } & (UnderWay | { queue: null }))[]>`
    select carillon.clock() as now, u.queue, u.target, u.team, u.jobs
    from (select from carillon.backlog where turn_at <= (select carillon.clock()) order by turn_at limit 1) due
    left join lateral (${owedUnderWay(tx)} offset 0) u on true`;
  const [first] = rows;
  if (first === undefined) return null;
  const underWay = rows.flatMap((row) => (row.queue === null ? [] : [row]));
  return { now: first.now, room: new BacklogRoom(budget, underWay) };
}

/** A line without room in the backlog. */
export interface FullLine {
  /** Null for all targets that share parcels. */
  target: string | null;
  hasTeam: boolean;
  underWay: number;
}

/** For an explanation. Null if the schedule's team has room at its target. */
export async function fullLineOf(tx: Tx, scheduleId: string): Promise<FullLine | null> {
  const [own] = await tx<(Line & { name: string | null })[]>`
    select s.queue, a.target, s.team_id as team, t.name
    from carillon.schedules s
    cross join lateral (select carillon.apart_target(s.queue, s.target_id) as target) a
    left join carillon.targets t on t.id = a.target
    where s.id = ${scheduleId}`;
  if (own === undefined) return null;
  const room = new BacklogRoom(backlogBudget, await tx<UnderWay[]>`${owedUnderWay(tx)}`);
  if (room.of(own) > 0) return null;
  return { target: own.name, hasTeam: own.team !== null, underWay: room.underWay(own) };
}
