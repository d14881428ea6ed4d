import { isDeepStrictEqual } from "node:util";
import { nextRunAfter } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Tx } from "../db/connect.ts";
import { readSchedule, type ScheduleRead } from "../history/read-schedule.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { findCalendar } from "../schedule/calendars.ts";
import {
  baseOf,
  begunSpec,
  hasSameCadence,
  isRelative,
  keptSpec,
  resolveSpec,
} from "../schedule/resolve-spec.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { type CalendarRef, cadenceColumns } from "../schedule/stored/cadence-columns.ts";
import { findLastOfKey } from "../schedule/stored/stored-schedule.ts";
import { type SpecColumns, type StoredSpec, specOf } from "../schedule/stored/stored-spec.ts";
import type { Spec } from "../schedule/stored/version-rows.ts";
import { requireChecked } from "./app-check.ts";
import type { EditContext } from "./apply-edit.ts";
import {
  type EditDeps,
  type EditDone,
  type EditParams,
  type EditSteps,
  edit,
  tryEdit,
} from "./edit-transaction.ts";
import type { Lookups } from "./lookups.ts";
import { create, respec } from "./schedule-edits.ts";

export interface RestoreParams extends EditParams {
  version: number;
  ifNoneMatch?: boolean | undefined;
}

/**
 * Restores the spec of an older version. A version that changed only the state stands for the spec
 * that it had. Holds stay as they are. If the schedule is deleted, it is made again: a new schedule
 * with the spec of the old version and without holds. `accept` refuses a body that is not allowed
 * any more, before the transaction takes its locks.
 */
export function restoreVersion(
  deps: EditDeps,
  params: RestoreParams,
  accept: (body: ScheduleBody, key: string) => void,
): Promise<EditDone> {
  return edit(deps, params, restoreSteps(params, accept));
}

/**
 * A dry run of a restore: the schedule now, null if it is deleted, and the edit, which is rolled
 * back.
 */
export async function tryRestore(
  deps: EditDeps,
  params: RestoreParams,
  accept: (body: ScheduleBody, key: string) => void,
): Promise<{ current: ScheduleRead | null; done: EditDone }> {
  const current = await readSchedule(deps.sql, params.key);
  return { current, done: await tryEdit(deps, params, restoreSteps(params, accept)) };
}

function restoreSteps(params: RestoreParams, accept: (body: ScheduleBody, key: string) => void): EditSteps {
  const { key, version, caller, ifMatch, ifNoneMatch } = params;
  return {
    missing: async (tx, id, teams) => {
      const deleted = await findLastOfKey(tx, key);
      if (deleted === null) throw new Refusal("missing", `There is no schedule ${key}.`);
      if (ifMatch !== undefined)
        throw new Refusal("precondition", `The schedule ${key} is deleted, so no version of it can match.`);
      const old = await readableVersion(tx, deleted.id, params);
      const { body } = old;
      requireChecked({ edit: params, body, before: body, check: () => accept(body, key) });
      const spec = (known: Lookups, now: Date) =>
        orImpossible(version, async () => requireRun(await specAgain(tx, { key, known, now }, old), now));
      const detail = { version, deletedAt: deleted.deletedAt?.toISOString() ?? null };
      return create(tx, { id, key, body, caller, again: { spec, detail } }, teams);
    },
    decide: async (tx, context) => {
      const { current } = context;
      if (ifNoneMatch === true) throw new Refusal("precondition", `The schedule ${key} exists.`);
      const old = await readableVersion(tx, current.id, params);
      const sameInstant = !isRelative(old.body) || isDeepStrictEqual(old.cadence, current.cadence);
      if (current.unread === null && sameInstant && isDeepStrictEqual(old.body, current.body)) return null;
      const check = () => accept(old.body, key);
      requireChecked({ edit: params, body: old.body, before: current.body, check });
      const spec = await orImpossible(version, () => restoredSpec(tx, context, old));
      const restored = { spec, detail: { version } };
      return respec(context, { change: "restored", body: old.body, author: caller, restored });
    },
  };
}

async function readableVersion(
  tx: Tx,
  scheduleId: string,
  { key, version }: RestoreParams,
): Promise<StoredSpec> {
  const old = await findVersion(tx, scheduleId, version);
  if (old === null) throw new Refusal("missing", `The schedule ${key} has no version ${version}.`);
  if (old.unread !== null) throw impossible(version, [{ path: "", message: old.unread }]);
  return old;
}

async function findVersion(tx: Tx, scheduleId: string, version: number): Promise<StoredSpec | null> {
  const [row] = await tx<SpecColumns[]>`
    select v.body as sparse, v.target, v.payload, ${cadenceColumns(tx)}
    from carillon.schedule_versions own
    join carillon.schedule_versions v on v.schedule_id = own.schedule_id and v.version = own.spec_version
    left join carillon.cadences c on c.id = v.cadence_id
    left join carillon.calendar_versions r on r.id = c.calendar_version
    where own.schedule_id = ${scheduleId} and own.version = ${version}`;
  return row === undefined ? null : specOf(row);
}

async function restoredSpec(
  tx: Tx,
  { current, known, state: { now } }: EditContext,
  old: StoredSpec,
): Promise<Spec> {
  const keeps = !isRelative(old.body) && current.unread === null && hasSameCadence(old.body, current.body);
  if (keeps) return keptSpec(current, old.body, now);
  return specAgain(tx, { key: current.key, known, now }, old);
}

/**
 * An interval keeps its start, and a relative time (`in 3h`) keeps its instant: counting it from
 * now would be another request. All other cadences are resolved from their text, with the current
 * calendar.
 */
async function specAgain(
  tx: Tx,
  { key, known, now }: { key: string; known: Lookups; now: Date },
  { body, cadence }: StoredSpec,
): Promise<Spec> {
  const base = baseOf(cadence);
  const keepsInstants = isRelative(body) || base.kind === "interval" || base.kind === "calendar-interval";
  if (!keepsInstants) return resolveSpec(known.calendar, key, body, now);
  const calendar = await calendarFor(tx, body);
  return begunSpec(requireRun({ body, cadence: withToday(cadence, calendar), calendar }, now), now);
}

/** Refuses a cadence without an occurrence after now: none of its occurrences runs a second time. */
function requireRun(spec: Spec, now: Date): Spec {
  if (nextRunAfter(spec.cadence, now.getTime()) !== null) return spec;
  throw new Refusal("impossible", "The version has no occurrence left.", [
    {
      path: "when",
      message: `${overMessage(baseOf(spec.cadence))}; set a new \`when\` to run the schedule again`,
    },
  ]);
}

async function orImpossible<Made>(version: number, make: () => Promise<Made>): Promise<Made> {
  try {
    return await make();
  } catch (error) {
    throw error instanceof Refusal ? impossible(version, error.faults) : error;
  }
}

function impossible(version: number, faults: readonly Fault[]): Refusal {
  return new Refusal("impossible", `Version ${version} cannot be restored.`, faults);
}

function overMessage(base: Cadence): string {
  return base.kind === "once"
    ? `is at ${new Date(base.at).toISOString()}, which is in the past`
    : "has no occurrence left";
}

/** The same cadence with the current rules of the calendar. */
function withToday(cadence: Cadence, calendar: CalendarRef | null): Cadence {
  if (cadence.kind === "window") return { ...cadence, of: withToday(cadence.of, calendar) };
  if (cadence.kind !== "calendared" || calendar === null) return cadence;
  return { ...cadence, rules: calendar.rules };
}

async function calendarFor(tx: Tx, { calendar }: ScheduleBody): Promise<CalendarRef | null> {
  if (calendar === null) return null;
  const found = await findCalendar(tx, calendar.name);
  if (found !== null) return found;
  throw new Refusal("impossible", "The calendar does not exist here.", [
    { path: "calendar.name", message: `there is no calendar ${JSON.stringify(calendar.name)}` },
  ]);
}
