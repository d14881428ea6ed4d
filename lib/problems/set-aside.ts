import type { Tx } from "../db/connect.ts";
import { isWithinQueue } from "../ingest/dead-commands.ts";
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

/** SQL: the key is under the prefix. */
const isUnder = (tx: Tx, key: ReturnType<Tx>, prefix: string) =>
  tx`${key} >= ${prefix} and ${key} < ${prefix + highestCharacter}`;

/**
 * Commands of the ingest queue that could not be applied. Those of a prefix are read in the order of
 * their keys, so that those of other teams hide none, and without those for keys beyond their queue.
 */
export const readDeadCommands = (tx: Tx, prefix: string | null): Promise<Waiting> =>
  waiting(
    tx,
    prefix === null
      ? tx`select refused_at as at, id::text as item from carillon.dead_commands order by id desc limit ${waitingMax}::int`
      : tx`
        select refused_at as at, id::text as item from carillon.dead_commands
        where ${isUnder(tx, tx`key`, prefix)} and ${isWithinQueue(tx)} order by key limit ${waitingMax}::int`,
  );

/** Commands that the SQL inbox refused, those of a prefix in the order of their keys. */
export const readInboxErrors = (tx: Tx, prefix: string | null): Promise<Waiting> =>
  waiting(
    tx,
    prefix === null
      ? tx`
        select refused_at as at, id::text as item from carillon.inbox_refusals
        order by refused_at desc, id desc limit ${waitingMax}::int`
      : tx`
        select refused_at as at, id::text as item from carillon.inbox_refusals
        where ${isUnder(tx, tx`key`, prefix)} order by key limit ${waitingMax}::int`,
  );

/** Rows that a part of Carillon failed on. */
export const readQuarantined = (tx: Tx, prefix: string | null): Promise<Waiting> =>
  waiting(
    tx,
    tx`
      select q.first_at as at, q.consumer || '/' || q.item as item, s.key
      from (select * from carillon.quarantine limit ${waitingMax}::int) q
      left join lateral (select key from carillon.schedules where id = q.schedule_id offset 0) s on true`,
    prefix === null ? tx`true` : isUnder(tx, tx`l.key`, prefix),
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
    tx`
      (select since as at, scope || ' ' || name as item, until
      from carillon.shared_holds where released_at is null ${prefix === null ? tx`order by since` : tx`and ${isUnder(tx, tx`prefix`, prefix)} order by prefix`}
      limit ${waitingMax}::int)
      union all ${prefix === null ? holdsOfAll(tx) : holdsUnder(tx, prefix)}`,
    tx`l.at < ${before} and (l.until is null or l.until > ${now})`,
  );

const holdsOfAll = (tx: Tx) => tx`
  (select h.since, s.key, h.until
  from (select * from carillon.holds limit ${waitingMax}::int) h
  join lateral (select key from carillon.schedules s where s.id = h.schedule_id offset 0) s on h.scope = 'schedule')`;

/** Each schedule with a hold of its own is held. */
const holdsUnder = (tx: Tx, prefix: string) => tx`
  (select h.since, s.key, h.until
  from (
    select s.id, s.key from carillon.schedules s
    where s.deleted_at is null and s.held_since is not null and ${isUnder(tx, tx`s.key`, prefix)} order by s.key limit ${waitingMax}::int) s
  cross join lateral (select * from carillon.holds h where h.schedule_id = s.id and h.scope = 'schedule' offset 0) h)`;

type Fragment = ReturnType<typeof isUnder>;

async function waiting(tx: Tx, listed: Fragment, isMeant: Fragment = tx`true`): Promise<Waiting> {
  const [row] = await tx<{ count: number; looked: number; since: Date | null; sample: string | null }[]>`
    select count(*) filter (where l.fits)::int as count, count(*)::int as looked, min(l.at) filter (where l.fits) as since,
      (array_agg(l.item order by l.at desc, l.item desc) filter (where l.fits))[1] as sample
    from (select l.*, coalesce(${isMeant}, false) as fits from (${listed}) l) l`;
  const { count = 0, looked = 0, since = null, sample = null } = row ?? {};
  return { count, more: looked >= waitingMax, since, sample };
}
