import type { Tx } from "../db/connect.ts";

export interface Hold {
  owner: string;
  reason: string | null;
  until: Date | null;
  since: Date;
}

export async function holdsOf(tx: Tx, scheduleIds: readonly string[]): Promise<Map<string, Hold[]>> {
  const rows = await tx<(Hold & { scheduleId: string })[]>`
    select schedule_id as "scheduleId", owner, reason, until, since from carillon.holds
    where schedule_id = any(${scheduleIds}::bigint[]) order by since, owner`;
  const byId = Map.groupBy(rows, ({ scheduleId }) => scheduleId);
  const hold = ({ owner, reason, until, since }: Hold): Hold => ({ owner, reason, until, since });
  return new Map([...byId].map(([id, holds]) => [id, holds.map(hold)]));
}

/** Sets or renews one owner's hold; since when it stands does not change by renewing it. */
export async function setHold(tx: Tx, scheduleId: string, hold: Hold): Promise<void> {
  await tx`
    insert into carillon.holds (schedule_id, owner, reason, since, until)
    values (${scheduleId}, ${hold.owner}, ${hold.reason}, ${hold.since}, ${hold.until})
    on conflict (schedule_id, owner) do update set reason = excluded.reason, until = excluded.until`;
}

export async function removeHold(tx: Tx, scheduleId: string, owner: string): Promise<void> {
  await tx`delete from carillon.holds where schedule_id = ${scheduleId} and owner = ${owner}`;
}

export async function removeHolds(tx: Tx, scheduleId: string): Promise<void> {
  await tx`delete from carillon.holds where schedule_id = ${scheduleId}`;
}

export interface EndedHold {
  key: string;
  owner: string;
}

/** Holds whose end has come, the oldest first. The clock is asked once, in a query of its own, so that an index can be asked for the answer. */
export function endedHolds(tx: Tx, limit: number): PromiseLike<EndedHold[]> {
  return tx<EndedHold[]>`
    select s.key, h.owner from carillon.holds h join carillon.schedules s on s.id = h.schedule_id
    where h.until <= (select carillon.clock()) and s.deleted_at is null order by h.until limit ${limit}`;
}
