import type { Tx } from "../db/connect.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import type { Amount } from "../stats/standing.ts";

/** Rows that wait for a person or for a retry. */
export interface Waiting extends Amount {
  /** Since when the oldest of the counted rows waits. */
  since: Date | null;
  /** The newest of the counted rows. */
  sample: string | null;
}

/** Rows of one list that are read. */
export const waitingMax = 5_000;

/** Commands of the ingest queue that could not be applied. */
export const readDeadCommands = (tx: Tx, prefix: string | null): Promise<Waiting> =>
  waiting(
    tx,
    prefix,
    tx`select refused_at as at, id::text as item, key from carillon.dead_commands order by id desc limit ${waitingMax}::int`,
  );

/** Commands that the SQL inbox refused. */
export const readInboxErrors = (tx: Tx, prefix: string | null): Promise<Waiting> =>
  waiting(
    tx,
    prefix,
    tx`
      select refused_at as at, id::text as item, key from carillon.inbox_refusals
      order by refused_at desc, id desc limit ${waitingMax}::int`,
  );

/** Rows that a part of Carillon failed on. */
export const readQuarantined = (tx: Tx, prefix: string | null): Promise<Waiting> =>
  waiting(
    tx,
    prefix,
    tx`
      select q.first_at as at, q.consumer || '/' || q.item as item, s.key
      from (select * from carillon.quarantine limit ${waitingMax}::int) q
      left join lateral (select key from carillon.schedules where id = q.schedule_id offset 0) s on true`,
  );

/**
 * Holds without an end, or with one still to come, that began before an instant. A hold of a group
 * or a tag counts once; a prefix leaves out those that were set for more keys.
 */
export const readOldHolds = (
  tx: Tx,
  prefix: string | null,
  { now, before }: { now: Date; before: Date },
): Promise<Waiting> =>
  waiting(
    tx,
    prefix,
    tx`
      (select since as at, scope || ' ' || name as item, prefix as key, until
      from carillon.shared_holds where released_at is null order by since limit ${waitingMax}::int)
      union all
      (select h.since, s.key, s.key, h.until
      from (select * from carillon.holds limit ${waitingMax}::int) h
      join lateral (select key from carillon.schedules s where s.id = h.schedule_id offset 0) s on h.scope = 'schedule')`,
    tx`and l.at < ${before} and (l.until is null or l.until > ${now})`,
  );

async function waiting(
  tx: Tx,
  prefix: string | null,
  listed: ReturnType<Tx>,
  meant: ReturnType<Tx> = tx``,
): Promise<Waiting> {
  const [row] = await tx<{ count: number; looked: number; since: Date | null; sample: string | null }[]>`
    select count(*) filter (where l.fits)::int as count, count(*)::int as looked, min(l.at) filter (where l.fits) as since,
      (array_agg(l.item order by l.at desc, l.item desc) filter (where l.fits))[1] as sample
    from (
      select l.*, true ${prefix === null ? tx`` : tx`and coalesce(l.key >= ${prefix} and l.key < ${prefix + highestCharacter}, false)`} ${meant} as fits
      from (${listed}) l) l`;
  const { count = 0, looked = 0, since = null, sample = null } = row ?? {};
  return { count, more: looked >= waitingMax, since, sample };
}
