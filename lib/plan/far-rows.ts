import type { Tx } from "../db/connect.ts";
import { never } from "../db/readable-instants.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { asideOf, farNamesOf } from "./aside.ts";
import type { ShardState } from "./shard.ts";

/** The name of the far row `f` among those of its schedule's version: texts, since it may be due at no instant that a Date holds. */
export const farRowName = (tx: Tx) =>
  tx`(f.due_at at time zone 'UTC')::text || '/' || (f.occurrence at time zone 'UTC')::text`;

/** By what a far row is known again. */
export interface FarRow {
  scheduleId: string;
  version: number;
  name: string;
}

/** Rows that a tick before this one has passed over, and could not take out of the far table. */
export async function passedBefore(tx: Tx, shard: number): Promise<FarRow[]> {
  return tx<FarRow[]>`
    select s.id as "scheduleId", s.version, name
    from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id and s.shard = ${shard}
      and s.version::text = q.detail->>'version'
    cross join lateral unnest(string_to_array(q.detail->>'far', ',')) name
    where q.consumer = 'plan'`;
}

/**
 * Takes rows out of the far table that were passed over when they came near. Where one of them still cannot be taken out this fails, and its schedule
 * waits on: once it is planned again nothing would tell that row from one that has yet to come near.
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
