import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../db/connect.ts";
import type { AppCheck } from "../edit/app-check.ts";
import { type PayloadTaker, refuseUnfitPayload } from "../job/read-payload.ts";
import type { FireNowParams } from "../job-control/fire-now.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { findSchedule } from "../schedule/stored/stored-schedule.ts";

/**
 * For a patch: fields that it leaves unchanged are not checked, also if the handler's schema has
 * changed since. The handler's schema is code of the app, so the returned check is run by the
 * caller of this function.
 */
export function checkPatched(
  handlers: readonly PayloadTaker[],
  body: ScheduleBody,
  before: ScheduleBody,
): AppCheck | null {
  const touched =
    !isDeepStrictEqual(body.payload, before.payload) || !isDeepStrictEqual(body.target, before.target);
  return touched && "handler" in body.target ? () => refuseUnfitPayload(handlers, body) : null;
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
