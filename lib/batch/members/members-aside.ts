import type { Sql, Tx } from "../../db/connect.ts";
import { dropEntries } from "../../quarantine/quarantine.ts";
import type { Tried } from "../../quarantine/try-rows.ts";
import type { Member, SharedHold } from "../../schedule/shared-holds.ts";

/**
 * Members of a group or a tag on which a hold, or its release, failed: they wait in quarantine, by
 * the hold's revision.
 */

type Revision = Pick<SharedHold, "revision">;

export const memberAside = ({ revision }: Revision, id: string) => `${revision}/${id}`;

const ofHold = (tx: Tx, { revision }: Revision) =>
  tx`q.consumer = 'shared-hold' and starts_with(q.item, ${`${revision}/`})`;

export async function hasMembersAside(tx: Tx, hold: Revision): Promise<boolean> {
  const [found] = await tx`select from carillon.quarantine q where ${ofHold(tx, hold)} limit 1`;
  return found !== undefined;
}

/** Members whose next retry is due. */
export function membersToTryAgain(tx: Tx, hold: Revision): PromiseLike<(Member & Tried)[]> {
  return tx<(Member & Tried)[]>`
    select q.item, s.id as "scheduleId", true as aside, s.id, s.shard, (s.overlap is not null or s.lane is not null) as laned, s.key as place
    from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id
    where ${ofHold(tx, hold)} and q.next_at <= (select carillon.clock()) order by q.next_at`;
}

/**
 * Deletes entries whose hold has ended or has a new revision, or whose schedule is gone. A locked
 * entry is left for another time.
 */
export async function dropMembersAside(sql: Sql): Promise<void> {
  await dropEntries(
    sql,
    sql`q.consumer = 'shared-hold' and (
      not exists (select from carillon.shared_holds h where h.reached is not null and h.revision::text = split_part(q.item, '/', 1))
      or not exists (select from carillon.schedules s where s.id = q.schedule_id and s.deleted_at is null))`,
  );
}
