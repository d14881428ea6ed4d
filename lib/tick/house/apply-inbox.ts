import type { Acceptance } from "../../command/acceptance.ts";
import { applyInbox, type InboxDeps } from "../../inbox/apply-inbox.ts";
import { dropOldRefused } from "../../inbox/refusals.ts";

export interface InboxPhase extends Omit<InboxDeps, "acceptance"> {
  /** Without one, the inbox is left to others. One that has to be loaded may fail, and then this part of the tick alone does. */
  acceptance?: Acceptance | (() => Promise<Acceptance>) | undefined;
  timeIsUp: () => boolean;
  /** When the tick has to end, whatever this part's time is. */
  mustEnd: () => boolean;
}

/** What callers have put, and the refusals that have been kept long enough. */
export async function finishInbox({ acceptance, ...phase }: InboxPhase): Promise<void> {
  const loaded = typeof acceptance === "function" ? await acceptance() : acceptance;
  if (loaded !== undefined) while (await applySome({ ...phase, acceptance: loaded }));
  await dropOldRefused(phase, phase.timeIsUp);
}

/** Returns whether there is more to do that can be done now. */
async function applySome({
  acceptance,
  sql,
  queue,
  log,
  timeIsUp,
  mustEnd,
}: Omit<InboxPhase, "acceptance"> & Pick<InboxDeps, "acceptance">): Promise<boolean> {
  const bounds = { most: Number.POSITIVE_INFINITY, timeIsUp, mustEnd };
  const { applied, refused, failed, more } = await applyInbox({ sql, queue, log, acceptance }, bounds);
  if (applied + refused > 0) log.info("inbox.applied", { applied, refused });
  return more && applied + refused + failed > 0 && !timeIsUp();
}
