import type { Acceptance } from "../command/acceptance.ts";
import { applyInbox, type InboxDeps } from "../inbox/apply-inbox.ts";
import { dropOldRefused } from "../inbox/refusals.ts";

export interface InboxPhase extends Omit<InboxDeps, "acceptance"> {
  /** Without one, the inbox is left to others. */
  acceptance?: Acceptance | undefined;
  timeIsUp: () => boolean;
  note: (error: unknown) => void;
}

/** What callers have put, and the refusals that have been kept long enough. */
export async function finishInbox(phase: InboxPhase): Promise<void> {
  await applySome(phase, { most: Number.POSITIVE_INFINITY, timeIsUp: phase.timeIsUp });
  await dropOldRefused(phase.sql, phase.timeIsUp);
}

async function applySome(
  { acceptance, note, sql, queue, log }: InboxPhase,
  bounds: Parameters<typeof applyInbox>[1],
): Promise<void> {
  if (acceptance === undefined) return;
  const { applied, refused, failures } = await applyInbox({ sql, queue, log, acceptance }, bounds);
  if (applied + refused > 0) log.info("inbox.applied", { applied, refused });
  for (const failure of failures) note(failure);
}
