import { BoundedMap } from "../../bounded-map.ts";
import type { Cadence } from "../../cadence/cadence-kinds.ts";
import { type CalendarRules, isExcluded } from "../../cadence/calendar-rules.ts";
import { firesPerYear } from "../../cadence/fires-per-year.ts";
import { readStoredForm, storedForm } from "../../cadence/stored-cadence.ts";
import { canonicalTimezone } from "../../cadence/zone/timezone.ts";
import type { Tx } from "../../db/connect.ts";
import { isOutermost } from "../../db/instants.ts";
import { keptPlan } from "../../db/statement.ts";
import { errorText } from "../../log/error-text.ts";

/** A calendar in one version, as a schedule refers to it. */
export interface CalendarRef {
  id: number;
  versionId: number;
  rules: CalendarRules;
}

/**
 * A cadence as a version's row stores it. Cadences that plain arithmetic can compute have columns
 * of their own. All others are a text in carillon.cadences, one row for all schedules that share
 * it. Both may have a window.
 */
export interface CadenceColumns {
  onceAt: Date | null;
  firstAt: Date | null;
  everyMs: string | null;
  startsAt: Date | null;
  endsAt: Date | null;
  cadenceId: number | null;
  expression: string | null;
  zone: string | null;
  dst: string | null;
  calendarOn: "skip" | "next" | "previous" | null;
  calendarVersion: number | null;
  calendarId: number | null;
  rules: CalendarRules | null;
}

/**
 * The rules of each calendar, on the first of its rows only: they may be 50 KB, and 5,000 rows of
 * one batch with a copy each took a gigabyte. `withSharedRules` gives them to the other rows.
 */
export const rulesOnce = (tx: Tx) =>
  tx`case when row_number() over (partition by r.id) = 1 then r.rules end as rules`;

type WithRules = Pick<CadenceColumns, "calendarVersion" | "rules">;

export function withSharedRules<Row extends WithRules>(rows: readonly Row[]): readonly Row[] {
  const read = new Map<number | null, CalendarRules>();
  for (const { calendarVersion, rules } of rows) if (rules !== null) read.set(calendarVersion, rules);
  if (read.size === 0) return rows;
  return rows.map((row) => ({ ...row, rules: read.get(row.calendarVersion) ?? null }));
}

/** Columns of the tables v (versions), c (cadences) and r (versions of calendars). */
export const cadenceColumns = (tx: Tx, rules = tx`r.rules`) => tx`
  v.once_at as "onceAt", v.first_at as "firstAt", v.every_ms as "everyMs", v.starts_at as "startsAt", v.ends_at as "endsAt",
  v.cadence_id as "cadenceId", c.expression, c.timezone as zone, c.dst, c.calendar_on as "calendarOn",
  c.calendar_version as "calendarVersion", r.calendar_id as "calendarId", ${rules}`;

/** The version of the calendar with which the cadence was resolved. */
export function calendarOf({ calendarId, calendarVersion, rules }: CadenceColumns): CalendarRef | null {
  if (calendarId === null || calendarVersion === null || rules === null) return null;
  return { id: calendarId, versionId: calendarVersion, rules: sameRules(rules) };
}

export function cadenceOf(row: CadenceColumns): Cadence {
  const of = unboundedCadence(row);
  const { startsAt, endsAt } = row;
  if (startsAt === null && endsAt === null) return of;
  return { kind: "window", of, startsAt: startsAt?.getTime() ?? null, endsAt: endsAt?.getTime() ?? null };
}

/** A cadence without a calendar, as it will be read back after it is written. */
export function asStored(cadence: Cadence): Cadence {
  const { shared, everyMs, ...columns } = plannedColumns(cadence);
  const { expression, timezone, dst } =
    shared === null ? { expression: null, timezone: null, dst: null } : storedForm(shared);
  const none = { cadenceId: null, calendarOn: null, calendarVersion: null, calendarId: null, rules: null };
  return cadenceOf({
    ...none,
    ...columns,
    everyMs: everyMs?.toString() ?? null,
    expression,
    zone: timezone,
    dst,
  });
}

/**
 * Why the columns are no valid cadence; null if they are. No caller can have given such an instant.
 */
export function columnsFault({ onceAt, firstAt }: Pick<CadenceColumns, "onceAt" | "firstAt">): string | null {
  const odd =
    onceAt !== null && isOutermost(onceAt)
      ? "once_at"
      : firstAt !== null && isOutermost(firstAt)
        ? "first_at"
        : null;
  return odd === null ? null : `The stored ${odd} is infinite, or outside the years 100 to 9999.`;
}

function unboundedCadence(row: CadenceColumns): Cadence {
  const fault = columnsFault(row);
  if (fault !== null)
    return { kind: "unreadable", text: "", timezone: "UTC", dst: "", on: null, reason: fault };
  if (row.onceAt !== null) return { kind: "once", at: row.onceAt.getTime() };
  if (row.firstAt !== null && row.everyMs !== null) {
    return { kind: "interval", everyMs: Number(row.everyMs), firstAt: row.firstAt.getTime() };
  }
  return sharedCadence(row);
}

/**
 * A row of carillon.cadences. If this runtime cannot read it, such as one in a zone that its zone
 * data lacks, it becomes a cadence without occurrences that has the reason. The schedules beside it
 * are read, planned and listed as usual.
 */
export function sharedCadence({
  expression,
  zone,
  dst,
  calendarOn,
  rules,
}: Pick<CadenceColumns, "expression" | "zone" | "dst" | "calendarOn" | "rules">): Cadence {
  if (expression === null || zone === null || dst === null)
    return { kind: "unreadable", text: "", timezone: "UTC", dst: "", on: null, reason: "It has no cadence." };
  try {
    if (canonicalTimezone(zone) === null)
      throw new Error(`The time zone ${zone} is not known to this runtime.`);
    const of = readStoredForm({ expression, timezone: zone, dst });
    if (calendarOn === null || rules === null) return of;
    const calendar = sameRules(rules);
    // Unreadable rules fail here, and not later in a search.
    isExcluded(calendar, 0);
    return { kind: "calendared", of, timezone: zone, on: calendarOn, rules: calendar };
  } catch (error) {
    const reason = errorText(error).replace(/^Error: /, "");
    return { kind: "unreadable", text: expression, timezone: zone, dst, on: calendarOn, reason };
  }
}

/** Gives equal rules as one object, since lookup tables are made per object. */
export function sameRules(read: CalendarRules): CalendarRules {
  // Rows of one answer share the object. Serialising it for each row would take most of the time of
  // reading them.
  const same = sameAs.get(read);
  if (same !== undefined) return same;
  const text = JSON.stringify(read);
  const known = rulesByText.get(text) ?? read;
  rulesByText.set(text, known);
  sameAs.set(read, known);
  return known;
}

const rulesByText = new BoundedMap<string, CalendarRules>(500);
const sameAs = new WeakMap<CalendarRules, CalendarRules>();

/** The columns of a cadence in a plan row or a version. */
export interface PlannedColumns {
  onceAt: Date | null;
  firstAt: Date | null;
  everyMs: number | null;
  startsAt: Date | null;
  endsAt: Date | null;
  /** The cadence that has a row in carillon.cadences instead. */
  shared: Cadence | null;
}

export function plannedColumns(cadence: Cadence): PlannedColumns {
  const none = { onceAt: null, firstAt: null, everyMs: null, startsAt: null, endsAt: null, shared: null };
  switch (cadence.kind) {
    case "once":
      return { ...none, onceAt: new Date(cadence.at) };
    case "interval":
      return { ...none, firstAt: new Date(cadence.firstAt), everyMs: cadence.everyMs };
    case "window":
      return {
        ...plannedColumns(cadence.of),
        startsAt: cadence.startsAt === null ? null : new Date(cadence.startsAt),
        endsAt: cadence.endsAt === null ? null : new Date(cadence.endsAt),
      };
    default:
      return { ...none, shared: cadence };
  }
}

/**
 * The id of the cadence's row in carillon.cadences, which is inserted if it is new; null for a
 * cadence with columns of its own.
 */
export async function cadenceId(
  tx: Tx,
  cadence: Cadence,
  calendar: CalendarRef | null,
): Promise<number | null> {
  return (await cadenceIds(tx, [{ cadence, calendar }]))[0] ?? null;
}

/** The ids for several cadences, each at its index. */
export async function cadenceIds(
  tx: Tx,
  cadences: readonly { cadence: Cadence; calendar: CalendarRef | null }[],
): Promise<(number | null)[]> {
  const texts = cadences.map(sharedText);
  const wanted = [...new Set(texts)].filter((text) => text !== null);
  if (wanted.length === 0) return texts.map(() => null);
  const perYears = new Map(texts.map((text, index) => [text, yearlyOf(cadences[index])]));
  const rows = tx`
    select t.text, t.per_year, r.* from unnest(${wanted}::text[], ${wanted.map((text) => perYears.get(text) ?? 0)}::bigint[]) t (text, per_year)
    cross join lateral json_to_record(t.text::json) r (expression text, timezone text, dst text, version int, "on" text)`;
  const find = () =>
    keptPlan(tx<{ text: string; id: number }[]>`
      select w.text, k.id from (${rows}) w join carillon.cadences c
        on c.expression = w.expression and c.timezone = w.timezone and c.dst = w.dst
        and c.calendar_version is not distinct from w.version and c.calendar_on is not distinct from w."on"
      cross join lateral (select carillon.keep_cadence(c.id) as id offset 0) k where k.id is not null`);
  const known = new Map((await find()).map(({ text, id }) => [text, id]));
  if (known.size < wanted.length) {
    // In a fixed order, so that two transactions that insert the same rows wait for each other at
    // the first one.
    await tx`
      insert into carillon.cadences (expression, timezone, dst, calendar_version, calendar_on, per_year)
      select expression, timezone, dst, version, "on", per_year from (${rows}) w
      where w.text <> all(${[...known.keys()]}::text[]) order by 1, 2, 3, 4, 5 on conflict do nothing`;
    for (const { text, id } of await find()) known.set(text, id);
  }
  return texts.map((text) => {
    if (text === null) return null;
    const id = known.get(text);
    if (id === undefined) throw new Error(`The cadence ${text} could be neither inserted nor found.`);
    return id;
  });
}

function yearlyOf(each: { cadence: Cadence } | undefined): number {
  return each === undefined ? 0 : firesPerYear(each.cadence);
}

/**
 * The key of a cadence's row in carillon.cadences, as one text; null if it has columns of its own.
 */
function sharedText({
  cadence,
  calendar,
}: {
  cadence: Cadence;
  calendar: CalendarRef | null;
}): string | null {
  const { shared } = plannedColumns(cadence);
  if (shared === null) return null;
  const version = calendar?.versionId ?? null;
  if (shared.kind === "unreadable") {
    const { text: expression, timezone, dst, on } = shared;
    return JSON.stringify({ expression, timezone, dst, version, on });
  }
  const calendared = shared.kind === "calendared" ? shared : null;
  if ((calendared === null) !== (calendar === null))
    throw new Error("A cadence and its calendar come together.");
  const base = calendared?.of ?? shared;
  // Without a calendar such a cadence has columns of its own. With one it is stored as a list of one.
  const { expression, timezone, dst } = storedForm(
    base.kind === "once" || base.kind === "interval" ? { kind: "union", of: [base] } : base,
  );
  return JSON.stringify({
    expression,
    timezone: calendared?.timezone ?? timezone,
    dst,
    version,
    on: calendared?.on ?? null,
  });
}
