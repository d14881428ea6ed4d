import type { Tx } from "../db/connect.ts";
import type { Operation } from "../plan/operation.ts";

/** As whom the queue's commands stand in versions, holds and audit; no token can have such a name. */
export const queueName = "queue:ingest";

/** How a key stands, and what others than the queue did with it. */
export interface Standing {
  exists: boolean;
  /** When others last said what its schedule is to do. */
  specAt: Date | null;
  /** When others made the schedule that stands. */
  madeAt: Date | null;
  /** When others last deleted one. */
  goneAt: Date | null;
}

/** Of a schedule's versions so many are looked through for one by others: an older command than those is late anyway. */
const versionsLookedAt = 50;

/** One that has ended and went by itself is nobody's wish: a command may make it anew. */
const nobody = "carillon";

/** As it is at this moment. `since`: of each key, what happened later than this is asked for. */
export async function readStandings(
  sql: Tx,
  since: ReadonlyMap<string, Date>,
): Promise<(key: string) => Standing> {
  const rows = await sql<(Standing & { key: string })[]>`
    select k.key, s.id is not null as exists, v.spec_at as "specAt", v.made_at as "madeAt", d.gone_at as "goneAt"
    from unnest(${[...since.keys()]}::text[], ${[...since.values()].map((at) => at.toISOString())}::timestamptz[]) k (key, since)
    left join carillon.schedules s on s.key = k.key and s.deleted_at is null
    left join lateral (
      select max(changed_at) as spec_at, max(changed_at) filter (where change = 'created') as made_at
      from (
        select change, changed_at, changed_by from carillon.schedule_versions
        where schedule_id = s.id order by version desc limit ${versionsLookedAt}) newest
      where changed_by <> ${queueName} and change in ('created', 'replaced', 'patched', 'restored')) v on true
    left join lateral (
      select max(deleted_at) as gone_at from carillon.schedules
      where key = k.key and deleted_at is not null and deleted_at > k.since and updated_by not in (${queueName}, ${nobody})) d on true`;
  const standings = new Map(rows.map(({ key, ...standing }) => [key, standing]));
  return (key) => standings.get(key) ?? unknownKey;
}

const unknownKey: Standing = { exists: false, specAt: null, madeAt: null, goneAt: null };

/** Whether others have done since what the command would undo. A hold has an owner of its own, and is nobody else's to undo. */
export function isOverruled(
  { kind }: Pick<Operation, "kind">,
  at: Date,
  { specAt, madeAt, goneAt }: Standing,
): boolean {
  const changed = kind === "pause" || kind === "resume" ? madeAt : specAt;
  return [changed, goneAt].some((since) => since !== null && at < since);
}
