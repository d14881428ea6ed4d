import type { Tx } from "../db/connect.ts";
import { type CalendarRef, sameRules } from "../schedule/stored/cadence-columns.ts";
import { byOlderRules, type ReferringSchedule, referringAfter } from "./referring.ts";

/**
 * Calendars with schedules to replan, except `without`: first those whose teams have had the fewest
 * turns, last those that have given all turns. Of equal ones, the one that was edited longest ago. A
 * locked calendar is skipped.
 */
export async function calendarsToReplan(
  tx: Tx,
  { limit, without }: { limit: number; without: readonly number[] },
): Promise<number[]> {
  const rows = await tx<{ id: number }[]>`
    select c.id from carillon.calendars c
    where c.replan_after is not null and c.id <> all (${[...without]}::int[])
    order by case when c.replan_team is null
        then coalesce((select t.turns from carillon.calendar_turns t where t.calendar_id = c.id order by t.turns limit 1), 2147483647)
        else 0 end, c.updated_at, c.id
    limit ${limit} for update skip locked`;
  return rows.map(({ id }) => id);
}

/**
 * How far the schedules of a calendar are planned by its current rules. After an edit the teams take
 * turns (calendar-turns.ts). Then one walk goes through all schedules by id, and finds those that the
 * turns have missed, because they got another team meanwhile. No schedule up to `after` gets older
 * rules again: an edit that resolves a cadence locks its calendar (`findCalendar`), and an edit that
 * keeps the cadence keeps the rules that it was replanned by.
 */
export interface ReplanPlace {
  calendarId: number;
  rulesId: number;
  rulesVersion: number;
  /** The author of the current rules. */
  author: string;
  /** All schedules up to this id are done by the walk. */
  after: string;
  /** The teams up to this one are listed for their turns; null if all are. */
  listed: number | null;
}

/** How far the schedules of a calendar are replanned; null if no schedule is left. */
export async function findReplanPlace(tx: Tx, calendarId: number): Promise<ReplanPlace | null> {
  const [row] = await tx<ReplanPlace[]>`
    select c.id as "calendarId", v.id as "rulesId", c.rules_version as "rulesVersion", v.changed_by as author, c.replan_after as after,
      c.replan_team as listed
    from carillon.calendars c join carillon.calendar_versions v on v.calendar_id = c.id and v.version = c.rules_version
    where c.id = ${calendarId} and c.replan_after is not null`;
  return row ?? null;
}

/** The next schedules of the walk. */
export async function nextReferring(tx: Tx, place: ReplanPlace, limit: number): Promise<ReferringSchedule[]> {
  return tx<ReferringSchedule[]>`
    select s.id, s.shard, s.alone, r.older
    from (${referringAfter(tx, place, limit)}) s cross join ${byOlderRules(tx, place.rulesId)} order by s.id`;
}

/**
 * Notes that the walk is through the schedules up to `after`. If the rules were edited meanwhile,
 * replanning has begun again, and nothing is noted.
 */
export async function moveReplanPlace(
  tx: Tx,
  { calendarId, rulesVersion }: ReplanPlace,
  after: string,
): Promise<void> {
  await tx`
    update carillon.calendars set replan_after = greatest(replan_after, ${after}::bigint)
    where id = ${calendarId} and rules_version = ${rulesVersion} and replan_after is not null`;
}

/** Notes that a schedule failed: replanning begins again after its end. */
export async function noteReplanFailed(tx: Tx, { calendarId, rulesVersion }: ReplanPlace): Promise<void> {
  await tx`
    update carillon.calendars set replan_again = true
    where id = ${calendarId} and rules_version = ${rulesVersion} and replan_after is not null and not replan_again`;
}

/** Ends replanning after the last schedule, or begins it again if a schedule failed on the way. */
export async function endReplanRound(
  tx: Tx,
  { calendarId, rulesVersion, after }: ReplanPlace,
): Promise<void> {
  await tx`
    update carillon.calendars
    set replan_after = case when replan_again then 0 end, replan_team = case when replan_again then -1 end, replan_again = false
    where id = ${calendarId} and rules_version = ${rulesVersion} and replan_after = ${after}::bigint`;
}

/** The rules of a calendar that are in force. */
export interface RulesInForce extends CalendarRef {
  name: string;
  version: number;
}

export async function rulesInForce(tx: Tx, calendarId: number): Promise<RulesInForce> {
  const [row] = await tx<RulesInForce[]>`
    select c.id, c.name, v.version, v.id as "versionId", v.rules
    from carillon.calendars c join carillon.calendar_versions v on v.calendar_id = c.id and v.version = c.rules_version
    where c.id = ${calendarId}`;
  if (row === undefined) throw new Error(`The calendar ${calendarId} has no row.`);
  return { ...row, rules: sameRules(row.rules) };
}
