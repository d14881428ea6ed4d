import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../db/connect.ts";
import type { AppCheck } from "../edit/app-check.ts";
import { type PayloadTaker, refuseUnfitPayload } from "../job/read-payload.ts";
import type { FireNowParams } from "../job-control/fire-now.ts";
import { refusalsOf } from "../schedule/shape/faults-together.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { withWhen } from "../schedule/shape/schedule-shape.ts";
import { findSchedule } from "../schedule/stored/stored-schedule.ts";

/**
 * The check that a patch needs against its handler's schema; null if it needs none. A payload that
 * the patch leaves unchanged is not checked, even if the schema has changed since. The check is
 * returned and not run here: a schema is code of the app, which must not run in a transaction.
 */
export function checkPatched(
  handlers: readonly PayloadTaker[],
  body: ScheduleBody,
  before: ScheduleBody,
): AppCheck | null {
  const touched =
    !isDeepStrictEqual(body.payload, before.payload) || !isDeepStrictEqual(body.target, before.target);
  if (!touched || !("handler" in body.target)) return null;
  return () => {
    const refusals = refusalsOf(() => refuseUnfitPayload(handlers, body));
    if (refusals.length > 0) throw withWhen(refusals, body);
  };
}

/** Checks the payload of a manual job against the handler of its schedule. */
export async function refuseUnfitFire(
  tx: Tx,
  handlers: readonly PayloadTaker[],
  { key, payload }: FireNowParams,
): Promise<void> {
  if (payload === undefined) return;
  const schedule = await findSchedule(tx, key);
  if (schedule !== null) refuseUnfitPayload(handlers, { target: schedule.body.target, payload });
}
