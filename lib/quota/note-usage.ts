import type { Tx } from "../db/connect.ts";
import { added, isNone, type Usage } from "./usage.ts";

/** A change of what a team uses, by one schedule. */
export interface UsageChange {
  /** Null if the key of the schedule has no team: nothing is counted. */
  teamId: number | null;
  scheduleId: string;
  change: Usage;
}

/** The number of ids in a block. A tick counts the schedules of a block in one statement. */
export const blockIds = 262_144;

/** Counts the changes, in the transaction that writes the schedules or the job. Without a team it sends nothing. */
export async function noteUsage(tx: Tx, changes: readonly UsageChange[]): Promise<void> {
  const sums = new Map<string, { teamId: number; block: number; sum: Usage }>();
  for (const { teamId, scheduleId, change } of changes) {
    if (teamId === null || isNone(change)) continue;
    const block = Math.floor(Number(scheduleId) / blockIds);
    const name = `${teamId} ${block}`;
    const known = sums.get(name);
    sums.set(name, { teamId, block, sum: known === undefined ? change : added(known.sum, change) });
  }
  const rows = [...sums.values()].filter(({ sum }) => !isNone(sum));
  if (rows.length === 0) return;
  await tx`
    select carillon.note_usage(${rows.map(({ teamId }) => teamId)}::int[], ${rows.map(({ block }) => block)}::int[],
      ${rows.map(({ sum }) => sum.schedules)}::int[], ${rows.map(({ sum }) => sum.perYear)}::bigint[],
      ${rows.map(({ sum }) => sum.payloadBytes)}::bigint[], ${rows.map(({ sum }) => sum.writtenBytes)}::bigint[])`;
}
