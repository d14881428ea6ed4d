import * as z from "zod";
import type { Tx } from "../db/connect.ts";
import { type KeptHold, type Memory, pausesIn } from "./memory.ts";
import { queueName } from "./standing.ts";
import type { Understood } from "./understand.ts";

/** What took the queue's holds of a key away, beside its own commands. */
interface Releases {
  /** When a schedule of the key last went otherwise: deleted by others, or by itself. */
  endedAt: Date | null;
  /** Holds that others have released. */
  resumed: { owner: string; at: Date }[];
}

const none: Releases = { endedAt: null, resumed: [] };

const resumedShape = z.array(z.object({ owner: z.string(), at: z.coerce.date() }));

/** Of the keys that the queue has held, or is told to: nearly none. */
export async function readReleases(
  sql: Tx,
  commands: readonly Understood[],
  memoryOf: (key: string) => Memory,
): Promise<(key: string, hold: KeptHold) => boolean> {
  const named = new Set(commands.map(({ operation: { key } }) => key));
  const told = commands.flatMap(({ operation: { kind, key } }) => (kind === "pause" ? [key] : []));
  const keys = new Set([...told, ...[...named].filter((key) => pausesIn(memoryOf(key)).length > 0)]);
  const releases = keys.size === 0 ? new Map<string, Releases>() : await releasesOf(sql, [...keys]);
  return (key, { owner, at }) => {
    const { endedAt, resumed } = releases.get(key) ?? none;
    const since = new Date(at);
    return (
      (endedAt !== null && since <= endedAt) ||
      resumed.some((release) => release.owner === owner && since <= release.at)
    );
  };
}

async function releasesOf(sql: Tx, keys: readonly string[]): Promise<Map<string, Releases>> {
  const rows = await sql<{ key: string; endedAt: Date | null; resumed: unknown }[]>`
    with named as (
      select id, key, null::timestamptz as ended_at from carillon.schedules where key = any(${[...keys]}::text[]) and deleted_at is null
      union all
      select id, key, case when updated_by <> ${queueName} then deleted_at end
      from carillon.schedules where key = any(${[...keys]}::text[]) and deleted_at is not null
    )
    select n.key, max(n.ended_at) as "endedAt", coalesce(json_agg(r.told) filter (where r.told is not null), '[]') as resumed
    from named n left join lateral (
      select json_build_object('owner', a.detail->>'owner', 'at', max(a.at)) as told from carillon.audit a
      where a.schedule_id = n.id and a.action = 'schedule.resumed' and a.actor <> ${queueName} and a.detail->>'owner' is not null
      group by a.detail->>'owner') r on true
    group by n.key`;
  return new Map(
    rows.map(({ key, endedAt, resumed }) => [key, { endedAt, resumed: resumedShape.parse(resumed) }]),
  );
}
