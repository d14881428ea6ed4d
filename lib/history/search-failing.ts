import type { Tx } from "../db/connect.ts";
import { fits, type HeadFilter } from "../schedule/filter-schedules.ts";
import type { ScheduleRead, ScheduleState } from "./read-schedule.ts";
import type { Looked, Walk } from "./search-page.ts";

/**
 * SQL condition: schedule `s` has a dead job. A job that is retried is no longer dead. `offset 0`
 * and the order force an index lookup per schedule: where few schedules have most of the dead jobs,
 * the planner would read all dead jobs once.
 */
export const hasDied = (tx: Tx) => tx`exists (
  select from carillon.dead_jobs d where d.schedule_id = s.id order by d.schedule_id desc, d.died_at desc limit 1 offset 0)`;

/**
 * The ids of the given schedules that fail: a job of the schedule is dead, and its newest due job
 * has not succeeded since.
 */
export async function failingIn(tx: Tx, reads: readonly ScheduleRead[]): Promise<Set<string>> {
  const rows = await tx<{ id: string; diedOf: Date }[]>`
    select o.id, d.occurrence as "diedOf" from unnest(${reads.map(({ id }) => id)}::bigint[]) o (id)
    cross join lateral (
      select d.occurrence from carillon.dead_jobs d where d.schedule_id = o.id order by d.schedule_id desc, d.died_at desc limit 1) d`;
  const diedOf = new Map(rows.map((row) => [row.id, row.diedOf]));
  const failing = reads.filter(({ id, lastDue }) => {
    const last = diedOf.get(id);
    return last !== undefined && !(lastDue?.state === "succeeded" && lastDue.occurrence > last);
  });
  return new Set(failing.map(({ id }) => id));
}

/**
 * Walks through schedules with dead jobs in the order of their ids. The index of dead jobs has that
 * order: the walk steps from one schedule to the next, however many dead jobs each has.
 */
export function failingWalk(
  tx: Tx,
  { state, ...filter }: HeadFilter & { state?: ScheduleState | undefined },
): Walk<string> {
  return {
    covered: false,
    lookedMax: 1_000,
    look: (after, most) => look(tx, filter, after, most),
    judge: async (reads) => {
      const failing = await failingIn(tx, reads);
      return reads.map((read) => failing.has(read.id) && (state === undefined || read.state === state));
    },
  };
}

async function look(
  tx: Tx,
  filter: HeadFilter,
  after: string | undefined,
  most: { looked: number; found: number },
): Promise<Looked<string>> {
  const rows = await tx<{ last: string | null; looked: number; id: string | null }[]>`
    with recursive dead (id, n) as (
      (select d.schedule_id, 1 from carillon.dead_jobs d where d.schedule_id > ${after ?? "0"}::bigint order by d.schedule_id limit 1)
      union all
      select (select d.schedule_id from carillon.dead_jobs d where d.schedule_id > dead.id order by d.schedule_id limit 1), n + 1
      from dead where dead.id is not null and n < ${most.looked}
    ), found as (
      select s.id from dead
      cross join lateral (select * from carillon.schedules s where s.id = dead.id and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0) s
      where ${fits(tx, filter)} order by s.id limit ${most.found})
    select e.last, e.looked, f.id
    from (select max(id) as last, count(id)::int as looked from dead) e left join found f on true order by f.id`;
  const found = rows.flatMap(({ id }) => (id === null ? [] : [{ id, place: id }]));
  const { last = null, looked = 0 } = rows[0] ?? {};
  if (found.length === most.found) return { found, last: found.at(-1)?.place ?? null };
  return { found, last: looked < most.looked ? null : last };
}

/** Whether a list of failing schedules may continue at this place. */
export const isFailingPlace = (text: string): boolean => /^[1-9]\d{0,17}$/.test(text);
