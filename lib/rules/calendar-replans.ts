import type { CalendarRules } from "../cadence/calendar-rules.ts";
import type { Tx } from "../db/connect.ts";
import type { CalendarRef } from "../schedule/stored/cadence-columns.ts";

/**
 * The progress of replanning after the edit of a calendar. The edit sets `replan_after` to 0.
 * Replanning goes through the schedules by id, and raises `replan_after` to the last one that is
 * done. No schedule up to there gets older rules again: an edit that resolves a cadence locks its
 * calendar (`findCalendar`), and an edit that keeps the cadence keeps the rules that it was
 * replanned by.
 */
const referringAfter = (
  tx: Tx,
  { calendarId, after }: { calendarId: number; after: string },
  limit: number,
) => tx`
  select id, shard, spec_version, key from carillon.schedules
  where calendar_id = ${calendarId} and id > ${after}::bigint and deleted_at is null order by id limit ${limit}`;

/**
 * SQL: whether a schedule (s) is planned by other rules than the current ones. `offset 0` forces a
 * lookup for each, however many there are.
 */
const byOlderRules = (tx: Tx, rulesId: number) => tx`
  lateral (
    select k.calendar_version <> ${rulesId} as older
    from carillon.schedule_versions v join carillon.cadences k on k.id = v.cadence_id
    where v.schedule_id = s.id and v.version = s.spec_version offset 0) r`;

/** Largest number of referring schedules that are counted. */
export const referringCountedMax = 10_000;

export interface Referring {
  /** Live schedules that refer to the calendar. */
  schedules: number;
  /** Schedules still planned by older rules. */
  pending: number;
  /** Whether there are more than were counted. */
  more: boolean;
}

/** Counts the schedules whose keys begin with the prefix, among the first that refer to the calendar. */
export async function countReferring(tx: Tx, calendarId: number, prefix = ""): Promise<Referring> {
  const [row] = await tx<{ schedules: number; looked: number }[]>`
    select count(*) filter (where starts_with(s.key, ${prefix}))::int as schedules, count(*)::int as looked
    from (${referringAfter(tx, { calendarId, after: "0" }, referringCountedMax + 1)}) s`;
  const { schedules = 0, looked = 0 } = row ?? {};
  return {
    schedules: Math.min(schedules, referringCountedMax),
    pending: await countPending(tx, calendarId, prefix),
    more: looked > referringCountedMax,
  };
}

/** The schedules that have referred to the calendar longest, and since when their spec is in force. */
export async function firstReferring(
  tx: Tx,
  calendarId: number,
  limit: number,
): Promise<{ id: string; changedAt: Date }[]> {
  return tx<{ id: string; changedAt: Date }[]>`
    select s.id, v.changed_at as "changedAt"
    from (${referringAfter(tx, { calendarId, after: "0" }, limit)}) s
    cross join lateral (
      select v.changed_at from carillon.schedule_versions v where v.schedule_id = s.id and v.version = s.spec_version offset 0) v
    order by s.id`;
}

async function countPending(tx: Tx, calendarId: number, prefix: string): Promise<number> {
  const place = await findReplanPlace(tx, calendarId);
  if (place === null) return 0;
  const [row] = await tx<{ pending: number }[]>`
    select count(*) filter (where r.older and starts_with(s.key, ${prefix}))::int as pending
    from (${referringAfter(tx, place, referringCountedMax)}) s cross join ${byOlderRules(tx, place.rulesId)}`;
  return row?.pending ?? 0;
}

/**
 * Calendars with schedules to replan, except `without`, those edited longest ago first. A locked
 * calendar is skipped.
 */
export async function calendarsToReplan(
  tx: Tx,
  { limit, without }: { limit: number; without: readonly number[] },
): Promise<number[]> {
  const rows = await tx<{ id: number }[]>`
    select id from carillon.calendars
    where replan_after is not null and id <> all (${[...without]}::int[]) order by updated_at, id limit ${limit} for update skip locked`;
  return rows.map(({ id }) => id);
}

/** How far the schedules of a calendar are planned by its current rules. */
export interface ReplanPlace {
  calendarId: number;
  rulesId: number;
  rulesVersion: number;
  /** The author of the current rules. */
  author: string;
  /** All schedules up to this id are done. */
  after: string;
}

/** How far the schedules of a calendar are replanned; null if no schedule is left. */
export async function findReplanPlace(tx: Tx, calendarId: number): Promise<ReplanPlace | null> {
  const [row] = await tx<ReplanPlace[]>`
    select c.id as "calendarId", v.id as "rulesId", c.rules_version as "rulesVersion", v.changed_by as author, c.replan_after as after
    from carillon.calendars c join carillon.calendar_versions v on v.calendar_id = c.id and v.version = c.rules_version
    where c.id = ${calendarId} and c.replan_after is not null`;
  return row ?? null;
}

export interface ReferringSchedule {
  id: string;
  shard: number;
  /** The schedule is planned by older rules. */
  older: boolean;
}

/** The next schedules by id that are not done. */
export async function nextReferring(tx: Tx, place: ReplanPlace, limit: number): Promise<ReferringSchedule[]> {
  return tx<ReferringSchedule[]>`
    select s.id, s.shard, r.older
    from (${referringAfter(tx, place, limit)}) s cross join ${byOlderRules(tx, place.rulesId)} order by s.id`;
}

/**
 * Notes that the schedules up to `after` are done. If the rules were edited meanwhile, replanning
 * has begun again, and nothing is noted.
 */
export async function moveReplanPlace(
  tx: Tx,
  { calendarId, rulesVersion }: ReplanPlace,
  { after, failed }: { after: string; failed: boolean },
): Promise<void> {
  await tx`
    update carillon.calendars
    set replan_after = greatest(replan_after, ${after}::bigint), replan_again = replan_again or ${failed}
    where id = ${calendarId} and rules_version = ${rulesVersion} and replan_after is not null`;
}

/** Ends replanning after the last schedule, or begins it again if a schedule failed on the way. */
export async function endReplanRound(
  tx: Tx,
  { calendarId, rulesVersion, after }: ReplanPlace,
): Promise<void> {
  await tx`
    update carillon.calendars set replan_after = case when replan_again then 0 end, replan_again = false
    where id = ${calendarId} and rules_version = ${rulesVersion} and replan_after = ${after}::bigint`;
}

/** The current rules of the calendar that a cadence refers to. */
export interface RulesInForce extends CalendarRef {
  name: string;
  version: number;
  rules: CalendarRules;
  /** The cadence was resolved by these rules. */
  followed: boolean;
}

export async function rulesInForceFor(tx: Tx, cadenceId: number): Promise<RulesInForce | null> {
  const [row] = await tx<RulesInForce[]>`
    select c.id, c.name, v.version, v.id as "versionId", v.rules, v.id = k.calendar_version as followed
    from carillon.cadences k
    join carillon.calendar_versions o on o.id = k.calendar_version
    join carillon.calendars c on c.id = o.calendar_id
    join carillon.calendar_versions v on v.calendar_id = c.id and v.version = c.rules_version
    where k.id = ${cadenceId}`;
  return row ?? null;
}
