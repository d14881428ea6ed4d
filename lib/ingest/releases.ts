import * as z from "zod";
import type { Tx } from "../db/connect.ts";
import { bulkActions } from "../history/version-detail.ts";
import { type KeptHold, type Memory, pausesIn } from "./memory.ts";
import { queueName } from "./standing.ts";
import type { Understood } from "./understand.ts";

/** Events other than the queue's own commands that removed the queue's holds of a key. */
interface Releases {
  /** When a schedule of the key was last deleted by another caller, or ended by itself. */
  endedAt: Date | null;
  /** Holds that other callers have released. */
  resumed: { owner: string; at: Date }[];
}

const none: Releases = { endedAt: null, resumed: [] };

const resumedShape = z.array(z.object({ owner: z.string(), at: z.coerce.date() }));

/**
 * Returns a function that tells whether a hold of the queue was removed by another caller or by the
 * end of its schedule. Reads only keys that the queue has paused or pauses now, and these are few.
 */
export async function readReleases(
  sql: Tx,
  commands: readonly Understood[],
  memoryOf: (key: string) => Memory,
): Promise<(key: string, hold: KeptHold) => boolean> {
  const since = new Map<string, number>();
  const pausedAt = (key: string, at: string) =>
    since.set(key, Math.min(Date.parse(at), since.get(key) ?? Number.POSITIVE_INFINITY));
  for (const { operation, kept } of commands) {
    if (operation.kind === "pause") pausedAt(operation.key, kept.at);
    for (const { at } of pausesIn(memoryOf(operation.key))) pausedAt(operation.key, at);
  }
  const releases = since.size === 0 ? new Map<string, Releases>() : await releasesOf(sql, since);
  return (key, { owner, at }) => {
    const { endedAt, resumed } = releases.get(key) ?? none;
    const held = new Date(at);
    return (
      (endedAt !== null && held <= endedAt) ||
      resumed.some((release) => release.owner === owner && held <= release.at)
    );
  };
}

/**
 * `since`: the beginning of the first hold of each key. A delete before that cannot have released a
 * hold.
 */
async function releasesOf(sql: Tx, since: ReadonlyMap<string, number>): Promise<Map<string, Releases>> {
  const keys = [...since.keys()];
  const began = [...since.values()].map((ms) => new Date(ms).toISOString());
  const rows = await sql<{ key: string; endedAt: Date | null; resumed: unknown }[]>`
    with named as (
      select id, key, null::timestamptz as ended_at from carillon.schedules where key = any(${keys}::text[]) and deleted_at is null
      union all
      select s.id, s.key, case when s.updated_by <> ${queueName} then s.deleted_at end
      from unnest(${keys}::text[], ${began}::timestamptz[]) k (key, began)
      cross join lateral (
        select * from carillon.schedules s where s.key = k.key and s.deleted_at is not null and s.deleted_at >= k.began offset 0) s
    )
    select n.key, max(n.ended_at) as "endedAt", coalesce(json_agg(r.told) filter (where r.told is not null), '[]') as resumed
    from named n left join lateral (
      select json_build_object('owner', r.owner, 'at', max(r.at)) as told from (
        select a.detail->>'owner' as owner, a.at from carillon.audit a
        where a.schedule_id = n.id and a.action = 'schedule.resumed' and a.actor <> ${queueName} and a.detail->'ended' is null
        union all
        select a.detail->>'owner', v.changed_at from carillon.schedule_versions v
        join carillon.audit a on a.id = v.bulk_id and a.action in ${bulkActions(sql)}
        where v.schedule_id = n.id and v.bulk_id is not null and v.change = 'resumed' and v.changed_by <> ${queueName}) r
      where r.owner is not null group by r.owner) r on true
    group by n.key`;
  return new Map(
    rows.map(({ key, endedAt, resumed }) => [key, { endedAt, resumed: resumedShape.parse(resumed) }]),
  );
}
