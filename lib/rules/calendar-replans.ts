import type { CalendarRules } from "../cadence/calendar-rules.ts";
import type { Tx } from "../db/connect.ts";
import type { CalendarRef } from "../schedule/stored/cadence-columns.ts";

/**
 * What is left of the edit of a calendar. The edit itself sets `replan_after` to 0; whoever plans schedules anew goes through them in the
 * order of their ids and moves it on behind them. No schedule comes to older rules again: an edit that refers to a calendar holds it
 * (`findCalendar`), and one that keeps its cadence was found with these rules before.
 */
const referringAfter = (
  tx: Tx,
  { calendarId, after }: { calendarId: number; after: string },
  limit: number,
) => tx`
  select id, shard, spec_version from carillon.schedules
  where calendar_id = ${calendarId} and id > ${after}::bigint and deleted_at is null order by id limit ${limit}`;

/** Whether a schedule (s) is planned by other rules than those in force; `offset 0` has each looked up, however many there are. */
const byOlderRules = (tx: Tx, rulesId: number) => tx`
  lateral (
    select k.calendar_version <> ${rulesId} as older
    from carillon.schedule_versions v join carillon.cadences k on k.id = v.cadence_id
    where v.schedule_id = s.id and v.version = s.spec_version offset 0) r`;

/** So many referring schedules are looked at to count them, and no more. */
export const referringCountedMax = 10_000;

export interface Referring {
  /** Live schedules that refer to the calendar. */
  schedules: number;
  /** Of these, planned by its older rules still. */
  pending: number;
  /** There are more than were looked at. */
  more: boolean;
}

export async function countReferring(tx: Tx, calendarId: number): Promise<Referring> {
  const [row] = await tx<{ schedules: number }[]>`
    select count(*)::int as schedules
    from (${referringAfter(tx, { calendarId, after: "0" }, referringCountedMax + 1)}) s`;
  const { schedules = 0 } = row ?? {};
  return {
    schedules: Math.min(schedules, referringCountedMax),
    pending: await countPending(tx, calendarId),
    more: schedules > referringCountedMax,
  };
}

async function countPending(tx: Tx, calendarId: number): Promise<number> {
  const place = await findReplanPlace(tx, calendarId);
  if (place === null) return 0;
  const [row] = await tx<{ pending: number }[]>`
    select count(*) filter (where r.older)::int as pending
    from (${referringAfter(tx, place, referringCountedMax)}) s cross join ${byOlderRules(tx, place.rulesId)}`;
  return row?.pending ?? 0;
}

/** Calendars of which something is left, those first that were edited longest ago, but for these. One that is locked is left for another time. */
export async function calendarsToReplan(
  tx: Tx,
  { limit, without }: { limit: number; without: readonly number[] },
): Promise<number[]> {
  const rows = await tx<{ id: number }[]>`
    select id from carillon.calendars
    where replan_after is not null and id <> all (${[...without]}::int[]) order by updated_at, id limit ${limit} for update skip locked`;
  return rows.map(({ id }) => id);
}

/** How far the schedules of a calendar are planned by the rules in force. */
export interface ReplanPlace {
  calendarId: number;
  rulesId: number;
  rulesVersion: number;
  /** Who changed the rules. */
  author: string;
  /** Everything up to this schedule was looked at. */
  after: string;
}

/** Null where nothing is left. */
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
  /** It is planned by older rules. */
  older: boolean;
}

/** The next ones behind the place. */
export async function nextReferring(tx: Tx, place: ReplanPlace, limit: number): Promise<ReferringSchedule[]> {
  return tx<ReferringSchedule[]>`
    select s.id, s.shard, r.older
    from (${referringAfter(tx, place, limit)}) s cross join ${byOlderRules(tx, place.rulesId)} order by s.id`;
}

/** Everything up to this schedule was looked at. Another edit of the rules meanwhile has begun from the start. */
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

/** After the last schedule: where one failed on the way, from the start again; else nothing is left. */
export async function endReplanRound(
  tx: Tx,
  { calendarId, rulesVersion, after }: ReplanPlace,
): Promise<void> {
  await tx`
    update carillon.calendars set replan_after = case when replan_again then 0 end, replan_again = false
    where id = ${calendarId} and rules_version = ${rulesVersion} and replan_after = ${after}::bigint`;
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
