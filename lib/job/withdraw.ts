import { type Cadence, nextAfter } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";

/**
 * Deletes the jobs of a cadence that are not due yet at the cut: they never started, and are planned anew. The cadence
 * tells which occurrences there may be, so each is probed by its primary key.
 * A statement of its own, before the next version is planned: in one statement with it the new row would meet the old one
 * (both in the same snapshot) as a conflict, and the withdrawn job would live.
 */
export async function withdraw(
  tx: Tx,
  scheduleId: string,
  cadence: Cadence,
  cut: Date,
  reachedAt: Date,
): Promise<void> {
  const occurrences = occurrencesWithin(cadence, cut.getTime(), reachedAt.getTime());
  if (occurrences.length === 0) return;
  await tx`
    delete from carillon.jobs
    where occurrence = any(${tx.array(occurrences)}::timestamptz[]) and schedule_id = ${scheduleId} and kind = 'cadence' and n = 0
      and state = 'waiting' and attempt = 0 and due_at > ${cut}`;
}

function occurrencesWithin(cadence: Cadence, after: number, upTo: number): Date[] {
  const found: Date[] = [];
  for (let at = nextAfter(cadence, after); at !== null && at <= upTo; at = nextAfter(cadence, at))
    found.push(new Date(at));
  return found;
}
