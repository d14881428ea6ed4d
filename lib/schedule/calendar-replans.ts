import type { CalendarRules } from "../cadence/calendar-rules.ts";
import type { Tx } from "../db/connect.ts";
import type { CalendarRef } from "./cadence-columns.ts";

/**
 * What is left of the edit of a calendar. The edit itself sets `replan_after` to 0; whoever plans schedules anew goes through them in the
 * order of their ids and moves it on behind them. No schedule comes to older rules again: an edit that refers to a calendar holds it
 * (`findCalendar`), and one that keeps its cadence was found with these rules before.
 */
const byOlderRules = (tx: Tx) => tx`
  carillon.calendars c
  join carillon.calendar_versions r on r.calendar_id = c.id and r.version = c.rules_version
  join carillon.schedules s on s.calendar_id = c.id and s.deleted_at is null and s.id > c.replan_after
  join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
  join carillon.cadences k on k.id = v.cadence_id and k.calendar_version <> r.id`;

/** Counts are exact up to this many. */
export const referringCountedMax = 10_000;

export interface Referring {
  /** Live schedules that refer to the calendar. */
  schedules: number;
  /** Of these, planned by its older rules still. */
  pending: number;
  /** There are more of them than were counted. */
  more: boolean;
}

export async function countReferring(tx: Tx, calendarId: number): Promise<Referring> {
  const [row] = await tx<{ schedules: number; pending: number }[]>`
    select
      (select count(*)::int from (
        select from carillon.schedules where calendar_id = ${calendarId} and deleted_at is null limit ${referringCountedMax + 1}) s) as schedules,
      (select count(*)::int from (
        select from ${byOlderRules(tx)} where c.id = ${calendarId} limit ${referringCountedMax + 1}) p) as pending`;
  const { schedules = 0, pending = 0 } = row ?? {};
  return {
    schedules: Math.min(schedules, referringCountedMax),
    pending: Math.min(pending, referringCountedMax),
    more: Math.max(schedules, pending) > referringCountedMax,
  };
}

/** Calendars of which something is left, those first that were edited longest ago. */
export async function calendarsToReplan(tx: Tx, limit: number): Promise<number[]> {
  const rows = await tx<{ id: number }[]>`
    select id from carillon.calendars where replan_after is not null order by updated_at, id limit ${limit}`;
  return rows.map(({ id }) => id);
}

/** How far the schedules of a calendar are planned by the rules in force; null where nothing is left. */
export interface ReplanPlace {
  calendarId: number;
  rulesVersion: number;
  /** Who changed the rules. */
  author: string;
}

export async function findReplanPlace(tx: Tx, calendarId: number): Promise<ReplanPlace | null> {
  const [row] = await tx<ReplanPlace[]>`
    select c.id as "calendarId", c.rules_version as "rulesVersion", v.changed_by as author
    from carillon.calendars c join carillon.calendar_versions v on v.calendar_id = c.id and v.version = c.rules_version
    where c.id = ${calendarId} and c.replan_after is not null`;
  return row ?? null;
}

/** The next schedules that are planned by older rules. */
export async function nextByOlderRules(
  tx: Tx,
  { calendarId, rulesVersion }: ReplanPlace,
  limit: number,
): Promise<{ id: string; shard: number }[]> {
  return tx<{ id: string; shard: number }[]>`
    select s.id, s.shard from ${byOlderRules(tx)}
    where c.id = ${calendarId} and c.rules_version = ${rulesVersion} order by s.id limit ${limit}`;
}

/** Everything up to this schedule was looked at. Another edit of the rules meanwhile has begun from the start. */
export async function moveReplanPlace(
  tx: Tx,
  { calendarId, rulesVersion }: ReplanPlace,
  scheduleId: string,
): Promise<void> {
  await tx`
    update carillon.calendars set replan_after = ${scheduleId}::bigint
    where id = ${calendarId} and rules_version = ${rulesVersion} and replan_after < ${scheduleId}::bigint`;
}

/** After the last schedule: what failed on the way is begun anew; without such a one, nothing is left. */
export async function endReplanRound(tx: Tx, { calendarId, rulesVersion }: ReplanPlace): Promise<void> {
  await tx`
    update carillon.calendars c
    set replan_after = case when exists (
      select from carillon.schedules s
      join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
      join carillon.cadences k on k.id = v.cadence_id
      join carillon.calendar_versions r on r.id = k.calendar_version
      where s.calendar_id = c.id and s.deleted_at is null and r.version <> c.rules_version) then 0 end
    where c.id = ${calendarId} and c.rules_version = ${rulesVersion} and c.replan_after is not null`;
}

/** The rules in force of the calendar that a cadence refers to. */
export interface RulesInForce extends CalendarRef {
  name: string;
  version: number;
  rules: CalendarRules;
  /** The cadence was resolved by them. */
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
