import type { Cadence } from "../../cadence/cadence-kinds.ts";
import { normalForm } from "../../cadence/normal-form.ts";
import { errorText } from "../../log/error-text.ts";
import type { Json } from "../shape/json.ts";
import type { ScheduleBody } from "../shape/schedule-body.ts";
import { type CadenceColumns, cadenceOf, columnsFault } from "./cadence-columns.ts";
import { readBody } from "./stored-body.ts";

/** The columns of a version's row that make its spec. */
export interface SpecColumns extends CadenceColumns {
  sparse: unknown;
  target: unknown;
  payload: Json;
}

export interface StoredSpec {
  body: ScheduleBody;
  cadence: Cadence;
  /**
   * Why the spec cannot be read; null if it can. `body` then has the readable fields with defaults
   * for the rest, and the cadence is unreadable. The schedule is neither planned nor patched until
   * a put replaces it.
   */
  unread: string | null;
}

/**
 * The spec in a row. `versionsFault` says why this is not the row of the current version; its
 * columns may all be null then.
 */
export function specOf(row: SpecColumns, versionsFault: string | null = null): StoredSpec {
  const { body, fault } = readBody(row);
  const cadence = cadenceOf(row);
  const unread = versionsFault ?? fault ?? columnsFault(row);
  return { body, cadence: unread === null ? cadence : unreadCadence(cadence, body.timezone, unread), unread };
}

/**
 * Calls `read` with a spec. If that fails, calls it with the spec marked as unreadable, so that the
 * other rows of the page are still read.
 */
export function orUnread<Whole extends StoredSpec, Made>(whole: Whole, read: (whole: Whole) => Made): Made {
  try {
    return read(whole);
  } catch (error) {
    const unread = `The stored schedule cannot be read: ${errorText(error)}.`;
    return read({ ...whole, cadence: unreadCadence(whole.cadence, whole.body.timezone, unread), unread });
  }
}

function unreadCadence(cadence: Cadence, timezone: string, reason: string): Cadence {
  if (cadence.kind === "unreadable") return { ...cadence, reason };
  return { kind: "unreadable", text: normalForm(cadence), timezone, dst: "", on: null, reason };
}
