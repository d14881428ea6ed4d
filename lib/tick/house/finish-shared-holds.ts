import { dropMembersAside, memberAside, membersToTryAgain } from "../../batch/members-aside.ts";
import { changeMember, walkMembers } from "../../batch/walk-members.ts";
import type { EditDeps } from "../../edit/edit-transaction.ts";
import type { Log } from "../../log/log.ts";
import { putAside, tryEach } from "../../quarantine/try-rows.ts";
import {
  removeEndedSharedHolds,
  type SharedHold,
  unfinishedSharedHolds,
} from "../../schedule/shared-holds.ts";

const holdsMax = 50;
/** A hold has so many members changed before it is the next one's turn. */
const perTurn = 1_000;

type Deps = EditDeps & { log: Log };

/**
 * Goes on where the caller of a pause or a resume of a group or a tag has stopped, and forgets holds that have ended: two looks into
 * indexes that are empty most of the time. A member that cannot be changed is set aside and tried again by itself, and the walk goes past it.
 */
export async function finishSharedHolds(
  deps: Deps,
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<void> {
  // A hold that has ended binds no member: where one cannot be removed, the others are carried on all the same.
  await removeEndedSharedHolds(deps.sql).catch(note);
  await dropMembersAside(deps.sql);
  // For this tick: nothing is left to be done, or what was tried has failed.
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

/** Whether no member is left that could be changed now. */
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
