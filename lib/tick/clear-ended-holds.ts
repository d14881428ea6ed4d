import type { EditDeps } from "../plan/edit-transaction.ts";
import { clearEndedHoldOf } from "../plan/schedule-holds.ts";
import { schedulesWithEndedHolds } from "../schedule/holds.ts";

const clearedMax = 500;

/** Holds that have ended by themselves keep nothing back any more; here they are taken off their schedules. */
export async function clearEndedHolds(
  { sql, queue }: EditDeps,
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<void> {
  for (const schedule of await schedulesWithEndedHolds(sql, clearedMax)) {
    if (timeIsUp()) return;
    await clearEndedHoldOf({ sql, queue }, schedule).catch(note);
  }
}
