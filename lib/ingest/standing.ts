import type { Applied, Operation } from "../batch/operation.ts";
import type { Tx } from "../db/connect.ts";

/**
 * The author of the queue's commands in versions, holds and the audit. No token can have this name.
 */
export const queueName = "queue:ingest";

/**
 * The schedule of a key, and the edits by callers other than the queue. An edit through the SQL
 * inbox counts from its call.
 */
export interface Standing {
  /** The existing schedule and its version; null if there is none. */
  id: string | null;
  version: number | null;
  /** When another caller last set what the schedule does. */
  specAt: Date | null;
  /** When another caller created the existing schedule. */
  madeAt: Date | null;
  /** When another caller last deleted a schedule of the key. A move to another installation is no delete. */
  goneAt: Date | null;
}

/**
 * How many versions are searched for an edit by another caller. A command that is older than all of
 * them is late anyway.
 */
const versionsLookedAt = 50;

/**
 * A schedule that has ended is deleted by Carillon. That is no caller's request, so a command may
 * create it again.
 */
const nobody = "carillon";

/** The time of the call of a change by the SQL inbox, which was applied later. */
const calledAt = (sql: Tx) => sql`
  left join lateral (
    select (a.origin->>'at')::timestamptz as called_at from carillon.audit a
    where c.actor like 'sql:%' and a.schedule_id = c.id and a.version = c.version and a.origin ? 'at' limit 1) a on true`;

/**
 * Reads the keys as they are at this moment. `since`: only what happened after this time counts,
 * for each key.
 */
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
        where key = k.key and deleted_at is not null and deleted_at > k.since and updated_by not in (${queueName}, ${nobody})
          -- A move deletes a schedule that lives on elsewhere: a command is refused with its address, and not passed over.
          and not exists (
            select from carillon.moved_schedules m where m.key = k.key and m.part = 0 and m.schedule_id = schedules.id)) c
      ${calledAt(sql)}) d on true`;
  const standings = new Map(rows.map(({ key, ...standing }) => [key, standing]));
  return (key) => standings.get(key) ?? unknownKey;
}

const unknownKey: Standing = { id: null, version: null, specAt: null, madeAt: null, goneAt: null };

/**
 * Whether a later edit by another caller overrules the command. A hold belongs to its owner, so
 * edits of other owners do not overrule it.
 */
export function isOverruled(
  { kind }: Pick<Operation, "kind">,
  at: Date,
  { specAt, madeAt, goneAt }: Standing,
): boolean {
  const changed = kind === "pause" || kind === "resume" ? madeAt : specAt;
  return [changed, goneAt].some((since) => since !== null && at < since);
}

/**
 * Whether one of these schedules, now that it is locked, differs from what was read: another edit
 * came between. The result of the first operation on each key tells which version it found.
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

/**
 * The schedule and version that an operation found. Null if its result does not tell. Then nothing
 * was changed either, and the next result of the key decides.
 */
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
