import { isDeepStrictEqual } from "node:util";
import type { Schedule, ScheduleBody } from "../client/main.ts";
import { Refusal } from "../refusal.ts";
import type { ScheduleBody as WholeBody } from "../schedule/shape/schedule-body.ts";
import { keyFault } from "../schedule/shape/schedule-key.ts";
import { parseScheduleBody } from "../schedule/shape/schedule-shape.ts";
import { shownTarget } from "../schedule/shape/target-credentials.ts";
import { isKept } from "../schedule/shape/target-webhook-shape.ts";
import { credentialsOf } from "../schedule/shape/webhook-credentials.ts";

/** A field whose saved value differs from the wanted value. */
export interface FieldChange {
  path: string;
  before: unknown;
  after: unknown;
}

/** A body read by the API's own shapes, with defaults filled in; or its faults. */
export type Understood =
  | { ok: true; whole: WholeBody; body: ScheduleBody & { key: string } }
  | { ok: false; faults: string[] };

export function understood(key: string, body: object): Understood {
  const keyed: unknown = { ...body, key };
  const message = keyFault(key);
  if (message !== null) return { ok: false, faults: [`key ${message}`] };
  try {
    const whole = parseScheduleBody(body);
    return isTaken(keyed) ? { ok: true, whole, body: keyed } : { ok: false, faults: [] };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const faults = error.faults.map((fault) => `${fault.path} ${fault.message}`.trim());
    return { ok: false, faults: faults.length === 0 ? [error.message] : faults };
  }
}

/** A type guard only: parseScheduleBody has checked the shape. */
function isTaken(keyed: unknown): keyed is ScheduleBody & { key: string } {
  return typeof keyed === "object" && keyed !== null && "when" in keyed && "target" in keyed;
}

/** The fields that a put would change; fields that are left out fall back to their defaults. */
export function fieldChanges(wanted: WholeBody, saved: Schedule): FieldChange[] {
  // A pause belongs to its owner and is not a field of the schedule.
  const { paused: _, target, ...fields } = wanted;
  const asRead: object = JSON.parse(JSON.stringify({ ...fields, target: shownTarget(target) }));
  const changes = Object.entries(asRead).flatMap(([path, after]) => {
    const before: unknown = Reflect.get(saved, path);
    return isDeepStrictEqual(before, after) ? [] : [{ path, before, after }];
  });
  // A field that cannot be read is shown as its default, which may equal the wanted value.
  const { unreadable } = saved;
  return unreadable === undefined
    ? changes
    : [...changes, { path: "unreadable", before: unreadable, after: null }];
}

/** Whether a body has credentials. Only the server can compare them: they are never read back. */
export function hasHiddenParts({ target }: WholeBody): boolean {
  return "webhook" in target && credentialsOf(target.webhook).some(({ value }) => !isKept(value));
}
