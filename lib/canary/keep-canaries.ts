import { isDeepStrictEqual } from "node:util";
import type { EditDeps } from "../plan/edit-transaction.ts";
import { deleteSchedule, putSchedule } from "../plan/schedule-edits.ts";
import { findSchedules, type StoredSchedule } from "../schedule/stored-schedule.ts";
import { type CanarySettings, canariesWanted, canaryAuthor, canaryKeys } from "./canaries.ts";

/**
 * Sees to it that the canaries are there, and as they are to be: whoever deletes or edits one, or restores a database that has none, finds
 * it back with the next tick. Without settings they go. Where all is as it should be this is one look by key. A pause is somebody's wish
 * and stays, and the alarm says so.
 */
export async function keepCanaries(deps: EditDeps, settings: CanarySettings | null): Promise<void> {
  const found = await findSchedules(deps.sql, Object.values(canaryKeys));
  const caller = { name: canaryAuthor };
  const wanted = settings === null ? [] : canariesWanted(settings);
  for (const { key, body } of wanted) {
    const stands = found.find((schedule) => schedule.key === key);
    if (stands !== undefined && stands.createdBy !== canaryAuthor) throw new CanaryKeyTaken(stands);
    if (stands === undefined || !isDeepStrictEqual(stands.body, body))
      await putSchedule(deps, { key, body, caller });
  }
  for (const { key, createdBy } of found)
    if (createdBy === canaryAuthor && !wanted.some((each) => each.key === key))
      await deleteSchedule(deps, { key, caller });
}

/** Somebody's schedule is not overwritten, whatever its name. */
class CanaryKeyTaken extends Error {
  override readonly name = "CanaryKeyTaken";

  constructor({ key, createdBy }: Pick<StoredSchedule, "key" | "createdBy">) {
    super(
      `The key ${key} belongs to the canary, and a schedule that ${createdBy} made has it: delete that one.`,
    );
  }
}
