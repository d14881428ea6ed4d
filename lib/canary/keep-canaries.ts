import { isDeepStrictEqual } from "node:util";
import { type EditDeps, type EditSteps, edit } from "../edit/edit-transaction.ts";
import { deleteSteps, putSteps } from "../edit/schedule-edits.ts";
import { findSchedules, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { type CanarySettings, canariesWanted, canaryAuthor, canaryKeys } from "./canaries.ts";

/**
 * Sees to it that the canaries are there, and as they are to be: whoever deletes or edits one, or restores a database that has none, finds
 * it back with the next tick. Without settings they go. Where all is as it should be this is one look by key. A pause is somebody's request
 * and stays, and the alarm says so. One that fails does not keep the other from its edit.
 */
export async function keepCanaries(deps: EditDeps, settings: CanarySettings | null): Promise<void> {
  const found = await findSchedules(deps.sql, Object.values(canaryKeys));
  const wanted = settings === null ? [] : canariesWanted(settings);
  const edits: (() => Promise<unknown>)[] = [];
  for (const { key, body } of wanted) {
    const stands = found.find((schedule) => schedule.key === key);
    if (stands !== undefined && stands.createdBy !== canaryAuthor)
      edits.push(() => Promise.reject(new CanaryKeyTaken(stands)));
    else if (stands === undefined || !isDeepStrictEqual(stands.body, body))
      edits.push(() => editBriefly(deps, key, putSteps({ key, body, caller })));
  }
  for (const { key, createdBy } of found)
    if (createdBy === canaryAuthor && !wanted.some((each) => each.key === key))
      edits.push(() => editBriefly(deps, key, deleteSteps));
  const failures: unknown[] = [];
  for (const each of edits) await each().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

const caller = { name: canaryAuthor };

/** A locked row is not waited for as long as by a caller's edit: the next tick tries again. */
function editBriefly(deps: EditDeps, key: string, steps: EditSteps): Promise<unknown> {
  return edit(deps, { key, caller }, { ...steps, noteLocked: () => {} });
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
