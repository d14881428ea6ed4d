import type { Acceptance } from "../../command/acceptance.ts";
import { applyInbox, type InboxDeps } from "../../inbox/apply-inbox.ts";
import { dropOldRefused } from "../../inbox/refusals.ts";

export interface InboxPhase extends Omit<InboxDeps, "acceptance"> {
  /** Without it, the inbox is skipped. If loading it fails, only this part of the tick fails. */
  acceptance?: Acceptance | (() => Promise<Acceptance>) | undefined;
  timeIsUp: () => boolean;
  /** When the tick has to end, beyond this part's slice of time. */
  mustEnd: () => boolean;
}

/** Applies callers' commands, and deletes refusals that were kept long enough. */
export async function finishInbox({ acceptance, ...phase }: InboxPhase): Promise<void> {
  const loaded = typeof acceptance === "function" ? await acceptance() : acceptance;
  if (loaded !== undefined) while (await applySome({ ...phase, acceptance: loaded }));
  await dropOldRefused(phase, phase.timeIsUp);
}

/** Returns whether there is more that can be done now. */
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
