import type { CalendarRules } from "../cadence/calendar-rules.ts";
import type { Tx } from "../db/connect.ts";
import { type Author, originText } from "./shape/caller.ts";
import type { Json } from "./shape/json.ts";
import { type CalendarRef, sameRules } from "./stored/cadence-columns.ts";

/** A calendar from the database, in its newest version. */
export interface StoredCalendar {
  id: number;
  name: string;
  version: number;
  description: string | null;
  rules: CalendarRules;
  createdAt: Date;
  createdBy: string;
  updatedAt: Date;
  updatedBy: string;
}

/** The content of a calendar, from a caller. */
export interface CalendarBody {
  description: string | null;
  rules: CalendarRules;
}

/**
 * A calendar with its current rules; null if no calendar has this name. It is locked until the
 * transaction ends, so that an edit of its rules waits and then finds the schedule that is resolved
 * here. The lock and the read are two statements: a single one that waited for the lock would join
 * the new head with the old version.
 */
export async function findCalendar(tx: Tx, name: string): Promise<CalendarRef | null> {
  const [held] = await tx<{ id: number }[]>`
    select id from carillon.calendars where name = ${name} and deleted_at is null for share`;
  if (held === undefined) return null;
  const [row] = await tx<CalendarRef[]>`
    select c.id, v.id as "versionId", v.rules
    from carillon.calendars c join carillon.calendar_versions v on v.calendar_id = c.id and v.version = c.rules_version
    where c.id = ${held.id}`;
  return row === undefined ? null : { ...row, rules: sameRules(row.rules) };
}

/**
 * The calendars with these names and their current rules, without a lock, each with the database's
 * time.
 */
export async function calendarsNamed(
  tx: Tx,
  names: readonly string[],
): Promise<(CalendarRef & { name: string; now: Date })[]> {
  const rows = await tx<(CalendarRef & { name: string; now: Date })[]>`
    select c.name, c.id, v.id as "versionId", v.rules, carillon.clock() as now
    from carillon.calendars c join carillon.calendar_versions v on v.calendar_id = c.id and v.version = c.rules_version
    where c.name = any(${names}::text[]) and c.deleted_at is null`;
  return rows.map((row) => ({ ...row, rules: sameRules(row.rules) }));
}

const headColumns = (tx: Tx) => tx`
  c.id, c.name, c.version, v.description, c.created_at as "createdAt", c.created_by as "createdBy",
  c.updated_at as "updatedAt", c.updated_by as "updatedBy"`;

const withVersion = (tx: Tx) => tx`
  carillon.calendars c join carillon.calendar_versions v on v.calendar_id = c.id and v.version = c.version`;

export async function readCalendar(tx: Tx, name: string): Promise<StoredCalendar | null> {
  const [row] = await tx<StoredCalendar[]>`
    select ${headColumns(tx)}, v.rules from ${withVersion(tx)} where c.name = ${name} and c.deleted_at is null`;
  return row ?? null;
}

/**
 * Locks a calendar for an edit: until the transaction ends, no other transaction edits it, and no
 * schedule starts to refer to it. No other lock is taken after this one.
 */
export async function lockCalendar(tx: Tx, name: string): Promise<StoredCalendar | null> {
  const [held] = await tx`
    select from carillon.calendars where name = ${name} and deleted_at is null for no key update`;
  return held === undefined ? null : readCalendar(tx, name);
}

export type CalendarHead = Omit<StoredCalendar, "rules">;

/**
 * Calendars without their rules, in the order of names; `after` is the last name of the previous
 * page.
 */
export async function listCalendarHeads(
  tx: Tx,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<CalendarHead[]> {
  return tx<CalendarHead[]>`
    select ${headColumns(tx)} from ${withVersion(tx)}
    where c.deleted_at is null ${after === undefined ? tx`` : tx`and c.name > ${after}`}
    order by c.name limit ${limit}`;
}

export async function countCalendars(tx: Tx): Promise<number> {
  const [row] = await tx<{ calendars: number }[]>`
    select count(*)::int as calendars from carillon.calendars where deleted_at is null`;
  return row?.calendars ?? 0;
}

export async function insertCalendar(
  tx: Tx,
  name: string,
  body: CalendarBody,
  { author, detail }: { author: Author; detail: Json },
): Promise<void> {
  const [row] = await tx<{ id: number }[]>`
    insert into carillon.calendars (name, created_at, created_by, updated_at, updated_by)
    values (${name}, ${author.at}, ${author.name}, ${author.at}, ${author.name}) returning id`;
  if (row === undefined) throw new Error(`The calendar ${name} was not made.`);
  await insertVersion(tx, { id: row.id, version: 1 }, body, author);
  await noteInAudit(tx, { action: "calendar.created", name, version: 1, detail }, author);
}

/**
 * Writes the next version of a calendar. If its rules are other ones, every schedule that refers to
 * it is to be planned again.
 */
export async function replaceCalendar(
  tx: Tx,
  current: StoredCalendar,
  body: CalendarBody,
  { author, otherRules, detail }: { author: Author; otherRules: boolean; detail: Json },
): Promise<void> {
  const { id, name } = current;
  const version = current.version + 1;
  await insertVersion(tx, { id, version }, body, author);
  await tx`
    update carillon.calendars
    set version = ${version}, ${otherRules ? tx`rules_version = ${version}, replan_after = 0, replan_team = -1, replan_again = false,` : tx``}
      updated_at = ${author.at}, updated_by = ${author.name}
    where id = ${id}`;
  await noteInAudit(tx, { action: "calendar.replaced", name, version, detail }, author);
}

export async function deleteCalendar(
  tx: Tx,
  calendar: StoredCalendar,
  { author, detail }: { author: Author; detail: Json },
): Promise<void> {
  const { id, name, version } = calendar;
  await tx`
    update carillon.calendars
    set deleted_at = ${author.at}, replan_after = null, replan_team = null, updated_at = ${author.at}, updated_by = ${author.name} where id = ${id}`;
  await tx`delete from carillon.calendar_turns where calendar_id = ${id}`;
  await noteInAudit(tx, { action: "calendar.deleted", name, version, detail }, author);
}

async function insertVersion(
  tx: Tx,
  { id, version }: { id: number; version: number },
  { description, rules }: CalendarBody,
  author: Author,
): Promise<void> {
  await tx`
    insert into carillon.calendar_versions (calendar_id, version, description, rules, changed_at, changed_by)
    values (${id}, ${version}, ${description}, ${JSON.stringify(rules)}::text::jsonb, ${author.at}, ${author.name})`;
}

async function noteInAudit(
  tx: Tx,
  { action, name, version, detail }: { action: string; name: string; version: number; detail: Json },
  author: Author,
): Promise<void> {
  await tx`
    insert into carillon.audit (at, actor, action, subject, version, detail, origin)
    values (${author.at}, ${author.name}, ${action}, ${name}, ${version}, ${JSON.stringify(detail)}::text::jsonb,
      ${originText(author)}::text::jsonb)`;
}

export async function isReferredTo(tx: Tx, { id }: Pick<StoredCalendar, "id">): Promise<boolean> {
  const found = await tx`
    select from carillon.schedules where calendar_id = ${id} and deleted_at is null limit 1`;
  return found.length > 0;
}
