import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../db/connect.ts";
import type { AppCheck } from "../edit/app-check.ts";
import { type PayloadTaker, refuseUnfitPayload } from "../job/read-payload.ts";
import type { FireNowParams } from "../job-control/fire-now.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { findSchedule } from "../schedule/stored/stored-schedule.ts";

/**
 * For a patch: what it leaves alone is not held against it, also where the handler has changed its mind since. The handler's schema is code of
 * the app's, and is left to the caller to run.
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

/** A job fired with a payload of its own goes to its schedule's handler. */
export async function refuseUnfitFire(
  tx: Tx,
  handlers: readonly PayloadTaker[],
  { key, payload }: FireNowParams,
): Promise<void> {
  if (payload === undefined) return;
  const schedule = await findSchedule(tx, key);
  if (schedule !== null) refuseUnfitPayload(handlers, { target: schedule.body.target, payload });
}
