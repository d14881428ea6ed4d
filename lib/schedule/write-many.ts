import type { Tx } from "../db/connect.ts";
import { noteUsage } from "../quota/note-usage.ts";
import { type StoredUsage, storedUsage, usageFreed } from "../quota/stored-usage.ts";
import { removeHolds } from "./holds.ts";
import { type Author, originText } from "./shape/caller.ts";
import type { Json } from "./shape/json.ts";
import type { Held, RaisedVersion, ScheduleChange } from "./stored/version-rows.ts";

/** As `raiseVersion`, for many schedules of which only the hold changes. */
export async function raiseHeldVersions(
  tx: Tx,
  schedules: readonly { id: string; held: Held | null }[],
  { change, detail }: { change: ScheduleChange; detail: Json },
  author: Author,
): Promise<void> {
  const instants = (of: (held: Held) => Date | null) =>
    schedules.map(({ held }) => (held === null ? null : (of(held)?.toISOString() ?? null)));
  await tx`
    with wanted as (
      select * from unnest(${schedules.map(({ id }) => id)}::bigint[], ${instants(({ since }) => since)}::text[],
        ${instants(({ until }) => until)}::text[]) w (id, since, until)
    ), raised as (
      update carillon.schedules s
      set version = s.version + 1, held_since = w.since::timestamptz, held_until = w.until::timestamptz,
        updated_at = ${author.at}, updated_by = ${author.name}
      from wanted w where s.id = w.id
      returning s.id, s.key, s.version, s.spec_version, s.held_since, s.held_until, s.shard
    ), versions as (
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, held_until, shard, bulk_id)
      select id, version, ${change}::carillon.schedule_change, ${author.at}, ${author.name}, spec_version, held_since is not null, held_until, shard, ${author.bulk ?? null}::bigint
      from raised
    )
    insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail, origin)
    select ${author.at}, ${author.name}, ${`schedule.${change}`}, key, id, version, ${JSON.stringify(detail)}::text::jsonb, ${originText(author)}::text::jsonb
    from raised where ${author.bulk === undefined}`;
}

/**
 * Writes a version that changes only the state, for a schedule whose spec cannot be read. The head
 * keeps its columns: written from `body`, it would lose its labels, its target and its limits.
 */
export async function raiseUnread(
  tx: Tx,
  id: string,
  { change, held, deleted = false, detail = null }: RaisedVersion,
  author: Author,
): Promise<Raised | undefined> {
  const [raised] = await tx<(Raised & StoredUsage)[]>`
    with raised as (
      update carillon.schedules s
      set version = 1 + greatest(s.version, (select max(v.version) from carillon.schedule_versions v where v.schedule_id = s.id)),
        held_since = ${held?.since ?? null}, held_until = ${held?.until ?? null},
        deleted_at = ${deleted ? author.at : null}, end_look_at = case when ${deleted} then null else s.end_look_at end,
        updated_at = ${author.at}, updated_by = ${author.name}
      where s.id = ${id}
      returning s.id, s.key, s.version, s.spec_version, s.held_since, s.held_until, s.shard, s.fires, s.lane, ${storedUsage(tx)}
    ), versions as (
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, held_until, shard, bulk_id)
      select id, version, ${change}::carillon.schedule_change, ${author.at}, ${author.name}, spec_version, held_since is not null, held_until, shard, ${author.bulk ?? null}::bigint
      from raised
    ), told as (
      insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail, origin)
      select ${author.at}, ${author.name}, ${`schedule.${change}`}, key, id, version,
        ${detail === null ? null : JSON.stringify(detail)}::text::jsonb, ${originText(author)}::text::jsonb
      from raised where ${author.bulk === undefined}
    )
    select version, fires, lane, id as "scheduleId", "teamId", "perYear", "payloadBytes" from raised`;
  if (deleted && raised !== undefined) await noteUsage(tx, [usageFreed(raised)]);
  return raised;
}

/** Deletes schedules that have ended and have `deleteOnEnd`, and their holds. */
export async function deleteEndedVersions(
  tx: Tx,
  schedules: readonly { id: string }[],
  author: Author,
): Promise<void> {
  if (schedules.length === 0) return;
  const ids = schedules.map(({ id }) => id);
  await removeHolds(tx, ids);
  const freed = await tx<StoredUsage[]>`
    with raised as (
      update carillon.schedules s
      set version = version + 1, deleted_at = ${author.at}, end_look_at = null, updated_at = ${author.at}, updated_by = ${author.name}
      where id = any(${ids}::bigint[])
      returning s.id, s.key, s.version, s.spec_version, s.shard, ${storedUsage(tx)}
    ), versions as (
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, shard)
      select id, version, 'deleted', ${author.at}, ${author.name}, spec_version, false, shard from raised
    ), told as (
      insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail)
      select ${author.at}, ${author.name}, 'schedule.deleted', key, id, version, '{"reason":"ended"}' from raised
    )
    select id as "scheduleId", "teamId", "perYear", "payloadBytes" from raised where "teamId" is not null`;
  await noteUsage(tx, freed.map(usageFreed));
}

/** After a version was raised: the columns of the schedule that only the database knows. */
export interface Raised {
  version: number;
  fires: number | null;
  lane: string | null;
}
