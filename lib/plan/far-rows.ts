import type { Tx } from "../db/connect.ts";
import { never } from "../db/readable-instants.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { asideOf, farNamesOf } from "./aside.ts";
import type { ShardState } from "./shard.ts";

/**
 * Name of the far row `f` among those of its schedule's version. It is text, because the row may be
 * due at an instant that a Date cannot hold.
 */
export const farRowName = (tx: Tx) =>
  tx`(f.due_at at time zone 'UTC')::text || '/' || (f.occurrence at time zone 'UTC')::text`;

export interface FarRow {
  scheduleId: string;
  version: number;
  name: string;
}

/** Far rows that an earlier tick left out and could not delete from the far table. */
export async function passedBefore(tx: Tx, shard: number): Promise<FarRow[]> {
  return tx<FarRow[]>`
    select s.id as "scheduleId", s.version, name
    from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id and s.shard = ${shard}
      and s.version::text = q.detail->>'version'
    cross join lateral unnest(string_to_array(q.detail->>'far', ',')) name
    where q.consumer = 'plan'`;
}

/**
 * Deletes the far rows that were left out when they came near, because they could not be planned.
 * If one still cannot be deleted, this fails and its schedule stays in quarantine: once the
 * schedule is planned again, that row could not be told from one that is yet to come near.
 */
export async function takeOutPassed(
  tx: Tx,
  { shard, nearUntil }: ShardState,
  schedules: readonly StoredSchedule[],
): Promise<void> {
  const passed = schedules.flatMap((schedule) =>
    farNamesOf(asideOf(schedule)).map((name) => ({ ...schedule, name })),
  );
  if (passed.length === 0) return;
  await tx`
    delete from carillon.plan_far f
    using unnest(${passed.map(({ id }) => id)}::bigint[], ${passed.map(({ version }) => version)}::int[], ${passed.map(({ name }) => name)}::text[])
      p (id, version, name)
    where f.shard = ${shard} and (f.due_at <= ${nearUntil} or f.due_at >= ${never(tx)})
      and f.schedule_id = p.id and f.version = p.version and ${farRowName(tx)} = p.name`;
}
