import { isDeepStrictEqual } from "node:util";
import { type EditDeps, type EditSteps, edit } from "../edit/edit-transaction.ts";
import { deleteSteps, putSteps } from "../edit/schedule-edits.ts";
import { findSchedules, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { type CanarySettings, canariesWanted, canaryAuthor, canaryKeys } from "./canaries.ts";

/**
 * Restores the canaries: one that was edited or deleted, or that a restored database lacks, is put
 * again by the next tick. Without settings the canaries are deleted. If nothing has changed, this
 * costs one query by key. A paused canary stays paused, because a caller asked for that, and the
 * alarm reports it. A failed edit of one canary does not keep the other from its edit.
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

/** Waits for a locked row less long than a caller's edit does: the next tick tries again. */
function editBriefly(deps: EditDeps, key: string, steps: EditSteps): Promise<unknown> {
  return edit(deps, { key, caller }, { ...steps, noteLocked: () => {} });
}

/** A caller's schedule is never overwritten, also if it has the key of a canary. */
class CanaryKeyTaken extends Error {
  override readonly name = "CanaryKeyTaken";

  constructor({ key, createdBy }: Pick<StoredSchedule, "key" | "createdBy">) {
    super(
      `The key ${key} is reserved for a canary, but a schedule made by ${createdBy} has it: delete that schedule.`,
    );
  }
}
