import { nextRunAfter } from "../cadence/cadence.ts";
import { boundStatements } from "../db/bounded.ts";
import type { Sql } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { waitForRows } from "../db/locks.ts";
import type { Log } from "../log/log.ts";
import { isSetAside } from "../plan/aside.ts";
import { mayBeOfARow } from "../quarantine/in-halves.ts";
import { asideAmong, dropEntries, logSetFreeAside, setFreeAside } from "../quarantine/quarantine.ts";
import { tryInHalves } from "../quarantine/try-rows.ts";
import { lockSchedules } from "../schedule/stored/stored-schedule.ts";
import { timetableOf } from "../schedule/stored/timetable.ts";
import { forgetAudit } from "./forget-audit.ts";

export interface PurgeParams {
  retentionDays: number;
  /** Null: the audit is kept for ever. */
  auditRetentionDays: number | null;
}

export interface Purged {
  schedules: number;
  auditEntries: number;
}

/** The most schedules that one step reads, in one transaction. */
const lookedMax = 10_000;
/**
 * The steps of each tick: at least three; more while at least a quarter of the schedules is purged
 * and there is time.
 */
const stepsAlways = 3;
const muchOf = 4;
const stepsMax = 40;

/**
 * A usual step takes a tenth of a second. A step that hangs on a schedule is cancelled early enough
 * to find that schedule.
 */
const stepMs = 3_000;
const partsOfAStep = 8;

/**
 * Purges schedules that were deleted or have ended longer ago than the retention, once no kept day
 * has a job of theirs, and old entries of the audit. A tick reads some tens of thousands of
 * schedules, however many there are; the next tick continues from there.
 */
export async function purge(
  deps: PurgeDeps,
  params: PurgeParams,
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<Purged> {
  const noted = (error: unknown) => {
    note(error);
    return 0;
  };
  return {
    schedules: await purgeSchedules(deps, params.retentionDays, timeIsUp).catch(noted),
    auditEntries:
      params.auditRetentionDays === null
        ? 0
        : await forgetAudit(deps, params.auditRetentionDays, timeIsUp).catch(noted),
  };
}

interface PurgeDeps {
  sql: Sql;
  log: Log;
}

interface Step {
  looked: number;
  gone: number;
  doubtful: string[];
  /** The round is over, or another tick purges at this moment. */
  isOver: boolean;
}

async function purgeSchedules(
  deps: PurgeDeps,
  retentionDays: number,
  timeIsUp: () => boolean,
): Promise<number> {
  let gone = 0;
  for (let step = 1; step <= stepsMax && !timeIsUp(); step++) {
    const done = await stepApart(deps, retentionDays, lookedMax);
    gone += done.gone;
    if (done.doubtful.length > 0) await noteOver(deps, done.doubtful, timeIsUp);
    if (done.isOver || (step >= stepsAlways && done.gone * muchOf < done.looked)) break;
  }
  if (gone > 0) await letGoOfGone(deps.sql);
  return gone;
}

/**
 * One step. If it fails and a row may be at fault, it is done in eighths, down to the one schedule,
 * which is set aside, and the purge continues behind it. The eighths are not interrupted: some
 * forty steps, of which five fail, would begin again with the next tick.
 */
async function stepApart(deps: PurgeDeps, retentionDays: number, looked: number): Promise<Step> {
  try {
    return await stepOnce(deps.sql, retentionDays, looked);
  } catch (error) {
    if (!mayBeOfARow(error)) throw error;
    if (looked === 1) return passOne(deps, retentionDays, error);
  }
  const all: Step = { looked: 0, gone: 0, doubtful: [], isOver: false };
  for (let part = 0; part < partsOfAStep && !all.isOver; part++) {
    const done = await stepApart(deps, retentionDays, Math.ceil(looked / partsOfAStep));
    all.looked += done.looked;
    all.gone += done.gone;
    all.doubtful.push(...done.doubtful);
    all.isOver = done.isOver;
  }
  return all;
}

async function stepOnce(sql: Sql, retentionDays: number, most: number): Promise<Step> {
  const [done] = await sql.begin(async (tx) => {
    await Promise.all([boundStatements(tx, stepMs), waitForRows(tx, most)]);
    return tx<Omit<Step, "isOver">[]>`
      select looked, gone, doubtful from carillon.purge_schedules(${retentionDays} * interval '1 day', ${most})`;
  });
  return done === undefined ? { looked: 0, gone: 0, doubtful: [], isOver: true } : { ...done, isOver: false };
}

async function passOne({ sql, log }: PurgeDeps, retentionDays: number, error: unknown): Promise<Step> {
  const passed = await sql.begin(async (tx) => {
    const [row] = await tx<{ id: string | null }[]>`
      select carillon.pass_purge(${retentionDays} * interval '1 day') as id`;
    const id = row?.id ?? null;
    return id === null ? null : setFreeAside(tx, "purge", [{ item: id, scheduleId: id, error }]);
  });
  if (passed !== null) logSetFreeAside(log, "purge", passed);
  return { looked: passed === null ? 0 : 1, gone: 0, doubtful: [], isOver: passed === null };
}

/** Drops entries of schedules that have been purged after all. */
async function letGoOfGone(sql: Sql): Promise<void> {
  await dropEntries(
    sql,
    sql`q.consumer = 'purge' and not exists (select from carillon.schedules s where s.id = q.schedule_id)`,
  );
}

/**
 * Notes which of these schedules are over (see `noteSome`). A schedule that fails is set aside; the
 * next round tries it again.
 */
async function noteOver(
  { sql, log }: PurgeDeps,
  doubtful: readonly string[],
  timeIsUp: () => boolean,
): Promise<void> {
  const aside = await asideAmong(sql, "purge", doubtful);
  const rows = doubtful
    .filter((id) => aside.get(id)?.waits !== true)
    .map((id) => ({ item: id, scheduleId: id, aside: aside.has(id) }));
  await tryInHalves(
    { sql, log, consumer: "purge" },
    rows,
    (part) =>
      noteSome(
        sql,
        part.map(({ item }) => item),
      ),
    timeIsUp,
  );
}

/**
 * Notes which of these schedules are over: those without a next occurrence, which only their
 * cadence tells. Their retention counts from this check. A schedule that cannot be planned now
 * counts as having a next occurrence.
 */
function noteSome(sql: Sql, ids: readonly string[]): Promise<void> {
  return sql.begin(async (tx) => {
    const [now] = await Promise.all([databaseClock(tx), waitForRows(tx, ids.length)]);
    const over = (await lockSchedules(tx, ids)).filter(
      (schedule) =>
        nextRunAfter(timetableOf(schedule).cadence, now.getTime()) === null && !isSetAside(schedule),
    );
    await tx`select carillon.note_over(${over.map(({ id }) => id)}::bigint[])`;
  });
}
