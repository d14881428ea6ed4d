import {
  CarillonProblem,
  isDenied,
  isInvalid,
  isNotFound,
  type Operation,
  type Schedule,
  type ScheduleBody,
} from "../../client/main.ts";
import {
  type FieldChange,
  fieldChanges,
  hasHiddenParts,
  understood,
} from "../../put-preview/field-changes.ts";
import { isOwnerTag } from "../../stack/owner-tags.ts";
import type { Call } from "../command.ts";
import type { Found } from "../formats/found.ts";
import { sideBySide } from "./apply-side-by-side.ts";
import { keysTwice, momentOf, twiceText, withTag } from "./read-found.ts";

/** `over`: the schedule has no run left, so it is not created. */
export type Change = "create" | "change" | "keep" | "remove" | "over" | "impossible";

/** The planned change of one schedule, and the reason. */
export interface Planned {
  change: Change;
  key: string | null;
  /** Where the schedule was found, such as `crontab:7`; null for a removal. */
  from: string | null;
  changes: FieldChange[];
  cadenceText: string | null;
  timezone: string | null;
  next: string[];
  /** How the schedule will differ from its source. */
  differences: string[];
  warnings: string[];
  faults: string[];
  /** The address of the installation that has the schedule, if a move has taken it there. */
  movedTo: string | null;
  /** The version that was compared; null where the schedule does not exist. */
  version: number | null;
  operation: Operation | null;
}

export interface PlanParams {
  /**
   * The tag of schedules that this set made. Schedules without it are not changed, unless `adopt`
   * is set; `remedy` says what to do about one.
   */
  mark?: { tag: string; adopt: boolean; remedy?: string };
}

type PlanCall = Pick<Call, "client" | "out" | "signal" | "now" | "pause">;

const notedEvery = 500;

export async function planChanges(
  call: PlanCall,
  found: readonly Found[],
  params: PlanParams = {},
): Promise<Planned[]> {
  const twice = keysTwice(found);
  return sideBySide(
    call,
    found,
    async (each) => {
      const places = each.key === null ? undefined : twice.get(each.key);
      if (places !== undefined) return impossible(each, [twiceText(places)]);
      return planOne(call, each, params);
    },
    (done) => {
      if (done % notedEvery === 0) call.out.note(`Compared ${done} of ${found.length}`);
    },
  );
}

/** The fields of a planned change that say nothing about it. */
export const nothing = {
  changes: [],
  cadenceText: null,
  timezone: null,
  next: [],
  differences: [],
  warnings: [],
  faults: [],
  movedTo: null,
  version: null,
  operation: null,
};

function impossible({ key, from, differences }: Found, faults: readonly string[]): Planned {
  return { ...nothing, change: "impossible", key, from, differences, faults: [...faults] };
}

/** A schedule that has moved to another installation, or that this token does not reach. */
function unreached(found: Found, { movedTo, detail }: CarillonProblem): Planned {
  if (movedTo === undefined) return impossible(found, ["this token does not reach its key"]);
  return { ...impossible(found, [detail]), movedTo };
}

async function planOne(call: PlanCall, found: Found, { mark }: PlanParams): Promise<Planned> {
  const { key, from, differences } = found;
  if (found.faults.length > 0) return impossible(found, found.faults);
  if (key === null) return impossible(found, ["key is required"]);
  const marked = mark === undefined ? found.body : withTag(found.body, mark.tag);
  const read = understood(key, marked);
  if (!read.ok) return impossible(found, read.faults);
  const { whole, body } = read;
  const saved = await savedAs(call, key);
  if (saved instanceof CarillonProblem) return unreached(found, saved);
  if (mark !== undefined && saved !== null && !saved.tags.includes(mark.tag) && !mark.adopt)
    return impossible(found, [
      `it exists and ${whyOthers(saved.tags, mark.tag)}: ${mark.remedy ?? "--adopt takes it over"}`,
    ]);
  const changes = saved === null ? [] : fieldChanges(whole, saved);
  const version = saved?.version ?? null;
  const common = { ...nothing, key, from, differences, changes, version };
  if (saved !== null && changes.length === 0) {
    const operation = hasHiddenParts(whole) ? putOf(body, saved) : null;
    const warnings = operation === null ? [] : ["its credentials cannot be compared, and are sent again"];
    return { ...common, change: "keep", warnings, operation };
  }
  const { isOver, isRelative } = momentOf(whole, key, call.now());
  if (isOver) return { ...common, change: "over", faults: ["it has already ended"] };
  if (isRelative && mark !== undefined)
    return impossible(found, ["its `when` is relative to now, so each apply would move it: write `at …`"]);
  return { ...common, ...(await tried(call, body, saved)) };
}

function whyOthers(tags: readonly string[], mark: string): string {
  const owner = tags.findLast(isOwnerTag);
  return owner === undefined ? `this set did not make it (no tag ${mark})` : `belongs to ${owner}`;
}

/** Tries a change as a preview of the server, which has the calendars and the zone data. */
async function tried(
  { client, signal }: PlanCall,
  body: ScheduleBody & { key: string },
  saved: Schedule | null,
): Promise<Partial<Planned> & { change: Change }> {
  const { paused: _, ...timed } = body;
  try {
    const preview = await client.schedules.preview({ ...timed, n: 3 }, { signal });
    const { occurrences: next, cadenceText, timezone, warnings } = preview;
    if (next.length === 0 && saved === null) return { change: "over", faults: ["it has no run left"] };
    const operation = putOf(body, saved);
    return { change: saved === null ? "create" : "change", next, cadenceText, timezone, warnings, operation };
  } catch (error) {
    if (!isInvalid(error)) throw error;
    const faults = error.errors.map(({ path, message }) => `${path} ${message}`.trim());
    return { change: "impossible", changes: [], faults: faults.length === 0 ? [error.detail] : faults };
  }
}

/** A put sets a hold only where it creates the schedule; later the hold belongs to its owner. */
function putOf(body: ScheduleBody & { key: string }, saved: Schedule | null): Operation {
  if (saved === null) return { put: body, ifNoneMatch: true };
  const { paused: _, ...rest } = body;
  return { put: rest, ifMatch: saved.version };
}

/** The schedule as it is, null if it can be created, or the problem that a put would have. */
async function savedAs(
  { client, signal }: PlanCall,
  key: string,
): Promise<Schedule | null | CarillonProblem> {
  try {
    return await client.schedules.get(key, { signal });
  } catch (error) {
    // A key that has moved to another installation is missing here, and not free.
    if (isNotFound(error)) return error.movedTo === undefined ? null : error;
    if (isDenied(error) && error.status === 403) return error;
    throw error;
  }
}
