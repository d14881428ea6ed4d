import { isDeepStrictEqual } from "node:util";
import { nextRunAfter } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Tx } from "../db/connect.ts";
import { readSchedule, type ScheduleRead } from "../history/read-schedule.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { findCalendar } from "../schedule/calendars.ts";
import { hasSameCadence, isRelative, keptSpec, resolveSpec } from "../schedule/resolve-spec.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { type CalendarRef, cadenceColumns } from "../schedule/stored/cadence-columns.ts";
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
import { respec } from "./schedule-edits.ts";

export interface RestoreParams extends EditParams {
  version: number;
}

/**
 * Restores the spec of an older version. A version that changed only the state stands for the spec
 * that it had. Holds stay as they are. `accept` refuses a body that is not allowed any more, before
 * the transaction takes its locks.
 */
export function restoreVersion(
  deps: EditDeps,
  params: RestoreParams,
  accept: (body: ScheduleBody) => void,
): Promise<EditDone> {
  return edit(deps, params, restoreSteps(params, accept));
}

/** A dry run of a restore: the schedule now, and the edit, which is rolled back. */
export async function tryRestore(
  deps: EditDeps,
  params: RestoreParams,
  accept: (body: ScheduleBody) => void,
): Promise<{ current: ScheduleRead | null; done: EditDone }> {
  const current = await readSchedule(deps.sql, params.key);
  return { current, done: await tryEdit(deps, params, restoreSteps(params, accept)) };
}

function restoreSteps(params: RestoreParams, accept: (body: ScheduleBody) => void): EditSteps {
  const { version, caller } = params;
  return {
    decide: async (tx, context) => {
      const { current } = context;
      const old = await findVersion(tx, current.id, version);
      if (old === null) throw new Refusal("missing", `The schedule ${params.key} has no version ${version}.`);
      if (old.unread !== null) throw impossible(version, [{ path: "", message: old.unread }]);
      const sameInstant = !isRelative(old.body) || isDeepStrictEqual(old.cadence, current.cadence);
      if (current.unread === null && sameInstant && isDeepStrictEqual(old.body, current.body)) return null;
      const check = () => accept(old.body);
      requireChecked({ edit: params, body: old.body, before: current.body, check });
      const spec = await restoredSpec(tx, context, old).catch((error: unknown) => {
        throw error instanceof Refusal ? impossible(version, error.faults) : error;
      });
      const restored = { spec, detail: { version } };
      return respec(context, { change: "restored", body: old.body, author: caller, restored });
    },
  };
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

/**
 * An interval keeps its start, and a relative time (`in 3h`) keeps its instant: counting it from
 * now would be another request. All other cadences are resolved from their text, with the current
 * calendar.
 */
async function restoredSpec(
  tx: Tx,
  { current, known, state: { now } }: EditContext,
  { body, cadence }: StoredSpec,
): Promise<Spec> {
  const relative = isRelative(body);
  if (!relative && current.unread === null && hasSameCadence(body, current.body))
    return keptSpec(current, body, now);
  const base = baseOf(cadence);
  const keepsInstants = relative || base.kind === "interval" || base.kind === "calendar-interval";
  if (!keepsInstants) return resolveSpec(known.calendar, current.key, body, now);
  const calendar = await calendarFor(tx, body);
  const rebuilt = withToday(cadence, calendar);
  if (nextRunAfter(rebuilt, now.getTime()) !== null) return { body, cadence: rebuilt, calendar };
  throw new Refusal("impossible", "The version has no occurrence left.", [
    { path: "when", message: `${overMessage(base)}; set a new \`when\` to run the schedule again` },
  ]);
}

function impossible(version: number, faults: readonly Fault[]): Refusal {
  return new Refusal("impossible", `Version ${version} cannot be restored.`, faults);
}

function overMessage(base: Cadence): string {
  return base.kind === "once"
    ? `is at ${new Date(base.at).toISOString()}, which is in the past`
    : "has no occurrence left";
}

function baseOf(cadence: Cadence): Cadence {
  return cadence.kind === "window" || cadence.kind === "calendared" ? baseOf(cadence.of) : cadence;
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
