import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { type RetryPolicy, retrying } from "../db/retrying.ts";
import { sqlState, violatedConstraint } from "../db/sql-state.ts";
import type { EditDeps, IfMatch } from "../edit/edit-transaction.ts";
import { changesBetween } from "../history/version-changes.ts";
import { refuseAnother } from "../quota/refuse-another.ts";
import { Refusal } from "../refusal.ts";
import {
  type CalendarBody,
  type CalendarHead,
  countCalendars,
  deleteCalendar,
  insertCalendar,
  isReferredTo,
  listCalendarHeads,
  lockCalendar,
  readCalendar,
  replaceCalendar,
  type StoredCalendar,
} from "../schedule/calendars.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import { countReferring, type Referring } from "./count-referring.ts";
import { replanCalendar } from "./replan-calendar.ts";

export interface CalendarParams {
  name: string;
  caller: Caller;
  ifMatch?: IfMatch | undefined;
}

export interface CalendarRead extends StoredCalendar, Referring {}

export interface CalendarDone {
  change: "created" | "changed" | "unchanged";
  calendar: CalendarRead;
  /** Schedules replanned before the answer; the pending ones follow with the ticks. */
  replanned: number;
}

/** Limits of the replanning that an edit does before it answers. */
export interface ReplanAtOnce {
  most: number;
  ms: number;
}

const replanAtOnce: ReplanAtOnce = { most: 500, ms: 1_000 };
/** Turns of teams within those limits: replanning the identical edit again may find little to do. */
const turnsAtOnce = 1_000;

/**
 * Creates a calendar or gives it a next version. The calendar's row is locked in a transaction that
 * takes no other lock. The schedules that refer to it are replanned afterwards, each in a
 * transaction of its own, so that an edit of a calendar with a million schedules blocks no other
 * caller.
 */
export async function putCalendar(
  deps: EditDeps,
  params: CalendarParams & { body: CalendarBody; ifNoneMatch?: boolean | undefined },
  atOnce: ReplanAtOnce = replanAtOnce,
): Promise<CalendarDone> {
  const { calendar, change } = await putOnce(deps, params);
  const until = performance.now() + atOnce.ms;
  const { replanned } = await replanCalendar(deps, calendar.id, {
    most: atOnce.most,
    turns: turnsAtOnce,
    briefly: true,
    timeIsUp: () => performance.now() > until,
    // The edit is done even if a schedule fails; the tick retries the schedule and reports the
    // failure.
    failed: () => Promise.resolve(),
    left: new Set(),
  });
  // The calendar as this request wrote it: a later version is not the answer to this request.
  return { change, calendar: { ...calendar, ...(await countReferring(deps.sql, calendar.id)) }, replanned };
}

/** Another caller made a calendar of this name at the same moment: the next attempt replaces it. */
const nameConflicts: RetryPolicy = {
  attempts: 5,
  isRetryable: (error) =>
    sqlState(error) === "unique_violation" && violatedConstraint(error) === "calendars_live_name",
};

function putOnce(
  { sql }: EditDeps,
  params: CalendarParams & { body: CalendarBody; ifNoneMatch?: boolean | undefined },
): Promise<{ calendar: StoredCalendar; change: CalendarDone["change"] }> {
  return retrying(nameConflicts, () =>
    sql.begin(async (tx) => {
      const change = await decide(tx, params);
      const calendar = await readCalendar(tx, params.name);
      if (calendar === null) throw missing(params.name);
      return { calendar, change };
    }),
  );
}

async function decide(
  tx: Tx,
  {
    name,
    body,
    caller,
    ifMatch,
    ifNoneMatch,
  }: CalendarParams & { body: CalendarBody; ifNoneMatch?: boolean | undefined },
): Promise<CalendarDone["change"]> {
  const current = await lockCalendar(tx, name);
  const author = { ...caller, at: await databaseClock(tx) };
  if (current === null) {
    if (ifMatch !== undefined)
      throw new Refusal("precondition", `There is no calendar ${JSON.stringify(name)} that could match.`);
    await refuseAnother(tx, "", "calendars", () => countCalendars(tx));
    await insertCalendar(tx, name, body, { author, detail: { changes: changed(null, body) } });
    return "created";
  }
  if (ifNoneMatch === true)
    throw new Refusal("precondition", `The calendar ${JSON.stringify(name)} exists already.`);
  refuseOtherVersion(current, ifMatch);
  const otherRules = !isDeepStrictEqual(body.rules, current.rules);
  if (!otherRules && body.description === current.description) return "unchanged";
  const detail = { rulesChanged: otherRules, changes: changed(current, body) };
  await replaceCalendar(tx, current, body, { author, otherRules, detail });
  return "changed";
}

/**
 * Largest audit entry of the changes, in characters; a larger one lists only paths. Each version is
 * stored whole anyway.
 */
const changesShownMax = 4_000;

function changed(before: CalendarBody | null, after: CalendarBody | null): Json {
  const changes = changesBetween(asJson(before), asJson(after));
  const shown: Json = JSON.parse(JSON.stringify(changes));
  return JSON.stringify(shown).length <= changesShownMax ? shown : changes.map(({ path }) => ({ path }));
}

function asJson(body: CalendarBody | null): Json {
  return body === null
    ? null
    : JSON.parse(JSON.stringify({ description: body.description, rules: body.rules }));
}

/**
 * Deletes a calendar. Refused while a schedule refers to it: without the calendar, the schedule
 * would run on unwanted days.
 */
export async function removeCalendar({ sql }: EditDeps, params: CalendarParams): Promise<void> {
  await sql.begin(async (tx) => {
    const current = await lockCalendar(tx, params.name);
    if (current === null) throw missing(params.name);
    refuseOtherVersion(current, params.ifMatch);
    if (await isReferredTo(tx, current))
      throw new Refusal("conflict", `Schedules refer to the calendar ${JSON.stringify(params.name)}.`);
    const author = { ...params.caller, at: await databaseClock(tx) };
    await deleteCalendar(tx, current, { author, detail: { changes: changed(current, null) } });
  });
}

/** Counts only schedules whose keys begin with the prefix. */
export async function readCalendarWithCounts(
  tx: Tx,
  name: string,
  prefix?: string,
): Promise<CalendarRead | null> {
  const calendar = await readCalendar(tx, name);
  return calendar === null ? null : { ...calendar, ...(await countReferring(tx, calendar.id, prefix)) };
}

export async function listCalendars(
  tx: Tx,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<{ items: CalendarHead[]; next?: string }> {
  const found = await listCalendarHeads(tx, { after, limit: limit + 1 });
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(found.length <= limit || last === undefined ? {} : { next: last.name }) };
}

function refuseOtherVersion({ name, version }: StoredCalendar, ifMatch: IfMatch | undefined): void {
  if (ifMatch === undefined || ifMatch === "*" || ifMatch.includes(version)) return;
  throw new Refusal("precondition", `The calendar ${JSON.stringify(name)} is at version ${version}.`);
}

function missing(name: string): Refusal {
  return new Refusal("missing", `There is no calendar ${JSON.stringify(name)}.`);
}
