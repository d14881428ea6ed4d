import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { patchedBody } from "../edit/schedule-edits.ts";
import { type Searching, unboundedSearches } from "../edit/search-pace.ts";
import { Refusal } from "../refusal.ts";
import { calendarsNamed } from "../schedule/calendars.ts";
import { hasSameCadence, resolveCadence } from "../schedule/resolve-spec.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { findSchedules } from "../schedule/stored/stored-schedule.ts";
import { firstDueAfter, lagMsOf, timetableOf } from "../schedule/stored/timetable.ts";
import type { Operation } from "./operation.ts";

interface Foreseen {
  key: string;
  body: ScheduleBody;
}

/**
 * Searches for the next occurrences of puts that name a calendar, before a transaction takes locks
 * that others wait for. The results of long searches are remembered. This decides nothing: the
 * transaction searches again, with the current calendar.
 */
export async function foreseeRuns(
  tx: Tx,
  operations: readonly Operation[],
  searching: Searching = unboundedSearches(),
): Promise<void> {
  const puts = operations.flatMap((each) => (each.kind === "put" ? [each] : []));
  // The offset of a key within its spread is a hash, which is also remembered.
  for (const { key, body } of puts) lagMsOf(key, body);
  const named = differing(puts.filter(({ body }) => body.calendar !== null));
  if (named.length >= 2) await foreseeBodies(tx, named, searching);
}

/**
 * Like `foreseeRuns`, for edits of existing schedules, whose next occurrences are known only after
 * the schedules are read. Called only once a transaction has met a long search, because it reads
 * all schedules of the batch.
 */
export async function foreseeEdits(
  tx: Tx,
  operations: readonly Operation[],
  searching: Searching = unboundedSearches(),
): Promise<void> {
  const bodies = new Map<string, ScheduleBody>();
  const now = await databaseClock(tx);
  for (const schedule of await findSchedules(tx, [...new Set(operations.map(({ key }) => key))])) {
    bodies.set(schedule.key, schedule.body);
    await searching(() => firstDueAfter(timetableOf(schedule), now.getTime()));
  }
  const changed: Foreseen[] = [];
  for (const operation of operations) {
    const { key } = operation;
    const before = bodies.get(key);
    const body = bodyAfter(before, operation);
    if (body === undefined) continue;
    bodies.set(key, body);
    if (body.calendar !== null && (before === undefined || !hasSameCadence(before, body)))
      changed.push({ key, body });
  }
  await foreseeBodies(tx, differing(changed), searching);
}

/** The body that an operation would make of this one; undefined where there is none. */
export function bodyAfter(before: ScheduleBody | undefined, operation: Operation): ScheduleBody | undefined {
  if (operation.kind === "put") return operation.body;
  if (operation.kind !== "patch" || before === undefined) return undefined;
  return unlessRefused(() => patchedBody(before, operation.patch));
}

async function foreseeBodies(tx: Tx, foreseen: readonly Foreseen[], searching: Searching): Promise<void> {
  const names = [...new Set(foreseen.flatMap(({ body }) => body.calendar?.name ?? []))];
  if (names.length === 0) return;
  const calendars = new Map((await calendarsNamed(tx, names)).map((each) => [each.name, each]));
  for (const { key, body } of foreseen) {
    const calendar = calendars.get(body.calendar?.name ?? "");
    if (calendar === undefined) continue;
    await searching(() => unlessRefused(() => resolveCadence(key, body, calendar.now, calendar)));
  }
}

/** Undefined if the act is refused: the decision in the transaction reports the reason. */
function unlessRefused<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return undefined;
  }
}

/** One entry per cadence text, so that each cadence is searched once. */
function differing(foreseen: readonly Foreseen[]): Foreseen[] {
  return [...new Map(foreseen.map((each) => [cadenceText(each), each])).values()];
}

/**
 * The times of `H` depend on the key, so the text of a cadence that may contain `H` includes the
 * key.
 */
function cadenceText({ key, body: { when, timezone, startsAt, endsAt, dst, calendar } }: Foreseen): string {
  const text = JSON.stringify([when, timezone, startsAt, endsAt, dst, calendar]);
  return /h/i.test(JSON.stringify(when)) ? `${text} ${key}` : text;
}
