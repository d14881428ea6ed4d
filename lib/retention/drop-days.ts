import { setTimeout as sleep } from "node:timers/promises";
import type postgres from "postgres";
import type { Sql, Tx } from "../db/connect.ts";
import { sqlState } from "../db/sql-state.ts";
import type { Log } from "../log/log.ts";
import { OfNoRow } from "../quarantine/in-halves.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import { type Tried, tryEach } from "../quarantine/try-rows.ts";
import { lookAtDays } from "./past-days.ts";

export interface DropParams {
  retentionDays: number;
  /** Whether a day of jobs is dropped only after it is archived. */
  archived: boolean;
}

interface DropDeps {
  sql: Sql;
  log: Log;
}

interface DropBounds {
  timeIsUp: () => boolean;
  /** Called with the error of a lock that could not be taken. */
  note: (error: unknown) => void;
}

/**
 * How often a drop is tried that does not get its locks. In the pause between two attempts, the
 * transactions that waited behind the drop proceed.
 */
const triesMax = 3;
const pauseMs = 200;

/**
 * Drops past days: days of the plan behind every watermark, and days of jobs, each in a transaction
 * of its own. A day that cannot be dropped is set aside. Returns the names of the dropped days.
 */
export async function dropDays(deps: DropDeps, params: DropParams, bounds: DropBounds): Promise<string[]> {
  const { sql } = deps;
  const plan = await dropEach(deps, await planDays(sql), ({ day }) => dropPlanDay(sql, day), bounds);
  const past = await lookedAtDays(deps, params, bounds);
  const jobs = await dropEach(deps, past, ({ day }) => dropJobDay(sql, day, params), bounds);
  return [...plan, ...jobs];
}

interface PastDay extends Tried {
  day: string;
  toLook: boolean;
}

/**
 * Listing the days costs a look at a parcel of each day that must stay. So they are listed a second
 * time only if a check of jobs came between.
 */
async function lookedAtDays(
  deps: DropDeps,
  params: DropParams,
  { timeIsUp }: DropBounds,
): Promise<PastDay[]> {
  const days = await jobDays(deps.sql, params);
  if (!days.some(({ toLook }) => toLook)) return days;
  await lookAtDays(deps, params.retentionDays, timeIsUp);
  return (await jobDays(deps.sql, params)).filter(({ toLook }) => !toLook);
}

/**
 * A lock that another transaction holds is no day's fault: all days need the locks of the parents,
 * and a transaction that waits for a lock makes others wait. So the first lock that cannot be had
 * ends the drop until the next minute. Locked days come last, and hold up no others.
 */
async function dropEach(
  { sql, log }: DropDeps,
  days: readonly PastDay[],
  drop: (day: PastDay) => Promise<boolean>,
  { timeIsUp, note }: DropBounds,
): Promise<string[]> {
  const dropped: string[] = [];
  const dropOne = async (day: PastDay) => {
    if (await inAMoment(() => drop(day))) dropped.push(day.item);
  };
  try {
    await tryEach({ sql, log, consumer: "day-drop" }, days, dropOne, timeIsUp);
  } catch (error) {
    if (!(error instanceof OfNoRow)) throw error;
    note(error.cause);
  }
  return dropped;
}

function planDays(sql: Sql): PromiseLike<PastDay[]> {
  return pastDays(sql, sql`select d as day, false as to_look from carillon.past_plan_days() d`, ["plan"]);
}

function jobDays(sql: Sql, { retentionDays, archived }: DropParams): PromiseLike<PastDay[]> {
  const days = sql`
    select p.day, p.to_look from carillon.past_days(${retentionDays} * interval '1 day') p
    where p.to_look or not ${archived} or carillon.is_archived(p.day)`;
  return pastDays(sql, days, [
    "jobs",
    "attempts",
    "jobs_beside",
    "dead_jobs",
    "error_groups",
    "job_requests",
  ]);
}

/** The oldest first, with locked days last. */
function pastDays(
  sql: Sql,
  days: postgres.PendingQuery<postgres.Row[]>,
  parents: readonly [string, ...string[]],
): PromiseLike<PastDay[]> {
  const named = (tx: Tx) => tx`${parents[0]}::text || to_char(past.day, '_YYYYMMDD')`;
  return sql<PastDay[]>`
    with locked as materialized (
      select distinct l.relation from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
      where l.granted and l.relation is not null and l.pid <> pg_backend_pid()
    )
    select ${named(sql)} as item, past.day::text, past.to_look as "toLook", ${isAside(sql, "day-drop", named(sql))} as aside
    from (${days}) past
    where not ${waitsAside(sql, "day-drop", named(sql))}
    order by exists (
      select from locked l where l.relation = any(array(
        select to_regclass('carillon.' || parent || to_char(past.day, '_YYYYMMDD')) from unnest(${[...parents]}::text[]) parent))), past.day`;
}

async function dropPlanDay(sql: Sql, day: string): Promise<boolean> {
  const [row] = await sql<{ gone: boolean }[]>`select carillon.drop_day_of_plan(${day}::text::date) as gone`;
  return row?.gone ?? false;
}

async function dropJobDay(sql: Sql, day: string, { retentionDays, archived }: DropParams): Promise<boolean> {
  const [row] = await sql<{ gone: boolean }[]>`
    select carillon.drop_day_of_jobs(${day}::text::date, ${retentionDays} * interval '1 day', ${archived}) as gone`;
  return row?.gone ?? false;
}

async function inAMoment<Result>(act: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      const state = sqlState(error);
      if (state !== "lock_timeout" && state !== "deadlock") throw error;
      if (tries === triesMax) throw new OfNoRow(error);
      await sleep(pauseMs);
    }
  }
}
