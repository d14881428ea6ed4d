import { dropMembersAside, memberAside, membersToTryAgain } from "../../batch/members/members-aside.ts";
import { changeMember, walkMembers } from "../../batch/members/walk-members.ts";
import type { EditDeps } from "../../edit/edit-transaction.ts";
import type { Log } from "../../log/log.ts";
import { putAside, tryEach } from "../../quarantine/try-rows.ts";
import {
  removeEndedSharedHolds,
  type SharedHold,
  unfinishedSharedHolds,
} from "../../schedule/shared-holds.ts";

const holdsMax = 50;
/** The most members of one hold that are changed before those of the next hold. */
const perTurn = 1_000;

type Deps = EditDeps & { log: Log };

/**
 * Continues the pause or resume of a group or a tag where its caller stopped, and deletes holds
 * that have ended. Usually that is two lookups in empty indexes. A member that cannot be changed is
 * set aside and retried by itself, and the walk goes past it.
 */
export async function finishSharedHolds(
  deps: Deps,
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<void> {
  // A hold that has ended binds no member: if one cannot be deleted, the others continue anyway.
  await removeEndedSharedHolds(deps.sql).catch(note);
  await dropMembersAside(deps.sql);
  // Holds done for this tick: nothing is left, or the attempt failed.
  const through = new Set<string>();
  while (!timeIsUp()) {
    const left = await unfinishedSharedHolds(deps.sql, { limit: holdsMax, without: [...through] });
    if (left.length === 0) return;
    for (const hold of left) {
      if (timeIsUp()) return;
      try {
        if (await goOn(deps, hold, timeIsUp)) through.add(hold.revision);
      } catch (error) {
        through.add(hold.revision);
        note(error);
      }
    }
  }
}

/** Returns whether no member is left that could be changed now. */
async function goOn(deps: Deps, hold: SharedHold, timeIsUp: () => boolean): Promise<boolean> {
  const quarantine = { sql: deps.sql, log: deps.log, consumer: "shared-hold" as const };
  const again = await membersToTryAgain(deps.sql, hold);
  await tryEach(quarantine, again, (member) => changeMember(deps, hold, member), timeIsUp);
  const { atEnd, failure } = await walkMembers(deps, hold, {
    most: perTurn,
    timeIsUp,
    setAside: (failed) =>
      putAside(
        quarantine,
        failed.map(({ item: { id }, error }) => ({ item: memberAside(hold, id), error, scheduleId: id })),
      ),
  });
  if (failure !== undefined) throw failure;
  return atEnd;
}
