import type { Applied, Operation } from "../batch/operation.ts";
import type { Tx } from "../db/connect.ts";

/** As whom the queue's commands stand in versions, holds and audit; no token can have such a name. */
export const queueName = "queue:ingest";

/** How a key stands, and what others than the queue did with it. What was called in SQL counts from the call. */
export interface Standing {
  /** The schedule that stands, and its version; null where there is none. */
  id: string | null;
  version: number | null;
  /** When others last said what its schedule is to do. */
  specAt: Date | null;
  /** When others made the schedule that stands. */
  madeAt: Date | null;
  /** When others last deleted one. */
  goneAt: Date | null;
}

/** Of a schedule's versions so many are looked through for one by others: an older command than those is late anyway. */
const versionsLookedAt = 50;

/** One that has ended and went by itself is nobody's request: a command may make it anew. */
const nobody = "carillon";

/** Of a change by the SQL inbox, when it was called: it was applied later. */
const calledAt = (sql: Tx) => sql`
  left join lateral (
    select (a.origin->>'at')::timestamptz as called_at from carillon.audit a
    where c.actor like 'sql:%' and a.schedule_id = c.id and a.version = c.version and a.origin ? 'at' limit 1) a on true`;

/** As it is at this moment. `since`: of each key, what happened later than this is asked for. */
export async function readStandings(
  sql: Tx,
  since: ReadonlyMap<string, Date>,
): Promise<(key: string) => Standing> {
  const rows = await sql<(Standing & { key: string })[]>`
    select k.key, s.id, s.version, v.spec_at as "specAt", v.made_at as "madeAt", d.gone_at as "goneAt"
    from unnest(${[...since.keys()]}::text[], ${[...since.values()].map((at) => at.toISOString())}::timestamptz[]) k (key, since)
    left join carillon.schedules s on s.key = k.key and s.deleted_at is null
    left join lateral (
      select max(coalesce(a.called_at, c.at)) as spec_at, max(coalesce(a.called_at, c.at)) filter (where c.change = 'created') as made_at
      from (
        select schedule_id as id, version, change, changed_at as at, changed_by as actor from carillon.schedule_versions
        where schedule_id = s.id order by version desc limit ${versionsLookedAt}) c
      ${calledAt(sql)}
      where c.actor <> ${queueName} and c.change in ('created', 'replaced', 'patched', 'restored')) v on true
    left join lateral (
      select max(coalesce(a.called_at, c.at)) as gone_at
      from (
        select id, version, deleted_at as at, updated_by as actor from carillon.schedules
        where key = k.key and deleted_at is not null and deleted_at > k.since and updated_by not in (${queueName}, ${nobody})) c
      ${calledAt(sql)}) d on true`;
  const standings = new Map(rows.map(({ key, ...standing }) => [key, standing]));
  return (key) => standings.get(key) ?? unknownKey;
}

const unknownKey: Standing = { id: null, version: null, specAt: null, madeAt: null, goneAt: null };

/** Whether others have done since what the command would undo. A hold has an owner of its own, and is nobody else's to undo. */
export function isOverruled(
  { kind }: Pick<Operation, "kind">,
  at: Date,
  { specAt, madeAt, goneAt }: Standing,
): boolean {
  const changed = kind === "pause" || kind === "resume" ? madeAt : specAt;
  return [changed, goneAt].some((since) => since !== null && at < since);
}

/**
 * Whether one of these keys, now that its schedule is locked, stands otherwise than it was read: others have edited it between. What
 * became of the first operation of each tells which version it met.
 */
export function hasMoved(applied: readonly Applied[], standingOf: (key: string) => Standing): boolean {
  const seen = new Set<string>();
  return applied.some((result) => {
    const met = metBy(result);
    if (met === null || seen.has(result.key)) return false;
    seen.add(result.key);
    const { id, version } = standingOf(result.key);
    return met.id !== id || met.version !== version;
  });
}

/** Null where it cannot be told: then nothing was changed either, and the next one of the key tells. */
function metBy(result: Applied): Pick<Standing, "id" | "version"> | null {
  const none = { id: null, version: null };
  switch (result.change) {
    case "created":
      return none;
    case "changed":
    case "deleted":
      return { id: result.id, version: result.version - 1 };
    case "unchanged":
      return { id: result.id, version: result.version };
    case "refused":
      return result.refusal.kind === "missing" ? none : null;
    case "passed-over":
      return null;
  }
}
