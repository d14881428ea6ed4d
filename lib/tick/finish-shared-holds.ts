import type { EditDeps } from "../plan/edit-transaction.ts";
import { walkMembers } from "../plan/walk-members.ts";
import { removeEndedSharedHolds, unfinishedSharedHolds } from "../schedule/shared-holds.ts";

const holdsMax = 50;
/** A hold has so many members changed before it is the next one's turn. */
const perTurn = 1_000;

/**
 * Goes on where the caller of a pause or a resume of a group or a tag has stopped, and forgets holds that have ended: two looks into
 * indexes that are empty most of the time.
 */
export async function finishSharedHolds(
  deps: EditDeps,
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<void> {
  await removeEndedSharedHolds(deps.sql);
  const failed = new Set<string>();
  while (!timeIsUp()) {
    const left = (await unfinishedSharedHolds(deps.sql, holdsMax)).filter(
      ({ revision }) => !failed.has(revision),
    );
    if (left.length === 0) return;
    for (const hold of left) {
      if (timeIsUp()) return;
      const { failure } = await walkMembers(deps, hold, { most: perTurn, timeIsUp });
      if (failure === undefined) continue;
      failed.add(hold.revision);
      note(failure);
    }
  }
}
