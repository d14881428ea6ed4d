import type { Tx } from "../db/connect.ts";
import { laneEntries } from "../parcel/lanes.ts";
import { type OutgoingParcel, parcelMax } from "../parcel/parcel-queue.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import type { Line } from "./backlog-room.ts";
import { passedEvents } from "./passed-events.ts";

/**
 * The backlog: occurrences that become jobs slowly. A row lists occurrences of one schedule; the
 * rows take turns.
 */

/** The most occurrences of one row that become jobs before the next row's turn. */
export const turnMax = 100;

/** Largest number of occurrences in one row. */
export const rowMax = 10_000;

/**
 * Admitted jobs are spread in steps of this many seconds: each step is a few parcels, so a job
 * waits little for its neighbours.
 */
const stepSeconds = 2;

/**
 * The row of a held schedule is checked again after this time, unless a resume wakes it earlier.
 */
const heldTurn = "1 minute";

export interface BacklogRow extends Line {
  id: string;
  scheduleId: string;
  /** The row is in quarantine, and its next retry is due. */
  aside: boolean;
  owing: number;
  /** The target and the team that the row is stored under; 0 for none. */
  hint: number;
  teamHint: number;
  standing: "live" | "held" | "deleted";
}

export interface Turn {
  id: string;
  take: number;
}

export interface Pace {
  /** When the first admitted job is ready. */
  from: Date;
  /** Jobs that become ready per second. */
  perSecond: number;
  /** Jobs admitted earlier that become ready first. */
  ahead: number;
}

/** A line as the rows of the backlog name it: 0 for no target, and for no team. */
export interface StoredLine {
  target: number;
  team: number;
}

/** Rows of the backlog that are due by `upTo`. */
export interface RowsParams {
  upTo: Date;
  limit: number;
  /** Lines whose rows are skipped, by the target and the team that the rows are stored under. */
  full: readonly StoredLine[];
  /** If set, only these rows. */
  among: readonly string[] | null;
  /** Rows to skip. */
  without: readonly string[];
}

/**
 * Locks rows in the order of their turns. Skips rows locked by another tick and rows that wait in
 * quarantine. Each line has its share of the limit, however many rows of other lines come first.
 */
export function rowsInTurn(
  tx: Tx,
  { upTo, limit, full, among, without }: RowsParams,
): PromiseLike<BacklogRow[]> {
  const lines =
    among === null
      ? tx`carillon.backlog_lines(${upTo}, ${full.map(({ target }) => target)}::int[], ${full.map(({ team }) => team)}::int[], ${limit})`
      : tx`(values (null::int, null::int, ${limit}::int))`;
  const own =
    among === null
      ? tx`w.target_id = l.target_id and w.team_id = l.team_id`
      : tx`w.id = any(${[...among]}::bigint[])`;
  return tx<BacklogRow[]>`
    select b.id, b.schedule_id as "scheduleId", ${isAside(tx, "backlog", tx`b.id`)} as aside, b.owing, b.target_id as hint, b.team_id as "teamHint",
      coalesce(s.queue, 'fast') as queue, s.target, s.team_id as team, coalesce(s.standing, 'deleted') as standing
    from ${lines} l (target_id, team_id, rows_max) cross join lateral (
      select w.id, w.schedule_id, w.owing, w.turn_at, w.target_id, w.team_id from carillon.backlog w
      where ${own} and w.turn_at <= ${upTo} and not ${waitsAside(tx, "backlog", tx`w.id`)} and w.id <> all(${[...without]}::bigint[])
      order by w.turn_at, w.id limit l.rows_max for update of w skip locked) b
    left join lateral (
      select s.queue, carillon.apart_target(s.queue, s.target_id) as target, s.team_id,
        case when s.deleted_at is not null then 'deleted' when ${isHeld(tx)} then 'held' else 'live' end as standing
      from carillon.schedules s where s.id = b.schedule_id offset 0) s on true
    order by b.turn_at, b.id`;
}

/** Corrects rows that are stored under a target or a team that is not their schedule's. */
export async function moveRows(
  tx: Tx,
  moved: readonly Pick<BacklogRow, "id" | "target" | "team">[],
): Promise<void> {
  if (moved.length === 0) return;
  await tx`
    update carillon.backlog b set target_id = m.target, team_id = m.team
    from unnest(${moved.map(({ id }) => id)}::bigint[], ${moved.map(({ target }) => target ?? 0)}::int[], ${moved.map(({ team }) => team ?? 0)}::int[]) m (id, target, team) where b.id = m.id`;
}

const isHeld = (tx: Tx) => tx`
  (s.held_since is not null and (s.held_until is null or s.held_until > carillon.clock()))`;

/**
 * Makes jobs of the next occurrences of these rows, and their parcels, which become ready at the
 * pace. A row without further occurrences is deleted. The caller has locked the rows. Occurrences
 * older than the retention of jobs are passed over: whether they ran is no longer known.
 */
export async function admitTurns(tx: Tx, turns: readonly Turn[], pace: Pace): Promise<OutgoingParcel[]> {
  if (turns.length === 0) return [];
  await attachTheirDays(tx, turns);
  return tx<OutgoingParcel[]>`
    with served as materialized (
      select b.id, b.schedule_id, b.version, b.shard, b.kind, b.taken + t.take as taken, b.owing = t.take as finished, s.queue, s.overlap, s.lane, s.target_id, s.priority, s.team_id,
        b.occurrences[b.taken + 1 : b.taken + t.take] as occurrences, b.dues[b.taken + 1 : b.taken + t.take] as dues,
        ${pace.ahead}::int + sum(t.take) over (order by t.turn) - t.take as ahead
      from unnest(${turns.map(({ id }) => id)}::bigint[], ${turns.map(({ take }) => take)}::int[]) with ordinality t (id, take, turn)
      join carillon.backlog b on b.id = t.id
      cross join lateral (
        select s.queue, s.overlap, s.lane, s.priority, s.team_id, carillon.apart_target(s.queue, s.target_id) as target_id
        from carillon.schedules s where s.id = b.schedule_id offset 0) s
    ),
    owed as materialized (
      select b.id, b.schedule_id, b.version, b.shard, b.kind, b.queue, b.overlap, b.lane, b.target_id, b.priority, b.team_id, o.occurrence, o.due_at, b.ahead + o.place as place,
        o.occurrence < r.kept_from as too_old
      from served b cross join carillon.retention r
      cross join lateral unnest(b.occurrences, b.dues) with ordinality o (occurrence, due_at, place)
    ),
    ${packedJobs(tx, pace)},
    occurrences as (
      select schedule_id, due_at, occurrence, kind, too_old as passed, overlap, lane from owed
    ),
    ${laneEntries(tx)},
    beside_noted as (
      insert into carillon.jobs_beside (occurrence, schedule_id, kind, n, shard)
      select occurrence, schedule_id, kind, 0, shard from owed where not too_old and kind <> 'cadence' on conflict do nothing
    ),
    passed_noted as (
      insert into carillon.passed_over (schedule_id, from_at, to_at, count, reason, noted_at, shard)
      select schedule_id, min(occurrence), max(occurrence), count(*), 'retention', carillon.clock(), shard from owed where too_old
      group by id, schedule_id, shard
      returning schedule_id, reason, from_at, to_at, count, more
    ),
    ${passedEvents(tx, tx`select schedule_id, reason, from_at, to_at, count, more from passed_noted`)},
    finished as (
      delete from carillon.backlog b using served s where b.id = s.id and s.finished
    ),
    going_on as (
      update carillon.backlog b set taken = s.taken, turn_at = greatest(carillon.clock(), b.turn_at + interval '1 millisecond')
      from served s where b.id = s.id and not s.finished
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, priority, team_id, owed, occurrences, schedule_ids, kinds, ns)
    select id, shard, queue, ready_at, carillon.clock() + interval '20 seconds', target_id, priority, team_id, true, occurrences, schedule_ids,
      case when beside then kinds end, case when beside then array_fill(0, array[cardinality(occurrences)]) end
    from packed
    returning id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs", carillon.message_group(team_id, id) as group`;
}

/**
 * Packs the jobs into parcels, each of one shard, queue, target, priority and step. The job's
 * primary key makes a repetition harmless.
 */
function packedJobs(tx: Tx, { from, perSecond }: Pace) {
  return tx`
    numbered as (
      select o.*, (row_number() over (partition by o.shard, o.queue, o.target_id, o.priority, o.step order by o.place) - 1)
          / case o.queue when 'fast' then ${parcelMax.fast}::int else ${parcelMax.slow}::int end as seat
      from (select o.*, floor((o.place - 1) / ${perSecond * stepSeconds}::float8) as step from owed o where not too_old) o
    ),
    packed as materialized (
      select nextval('carillon.parcels_id_seq') as id, shard, queue, target_id, priority, carillon.one_team(array_agg(team_id)) as team_id, bool_or(kind <> 'cadence') as beside,
        greatest(${from}::timestamptz + step * ${stepSeconds} * interval '1 second', max(due_at)) as ready_at,
        array_agg(occurrence order by place) as occurrences, array_agg(schedule_id order by place) as schedule_ids,
        array_agg(kind order by place) as kinds, array_agg(due_at order by place) as dues, array_agg(version order by place) as versions
      from numbered group by shard, queue, target_id, priority, step, seat
    ),
    inserted_jobs as (
      insert into carillon.jobs (occurrence, schedule_id, kind, due_at, ready_at, parcel_id, version, shard)
      select j.occurrence, j.schedule_id, j.kind, j.due_at, p.ready_at, p.id, j.version, p.shard
      from packed p
      cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.dues, p.versions) j (occurrence, schedule_id, kind, due_at, version)
      on conflict do nothing
    )`;
}

/** Attaches the partitions of the days needed: the tick keeps none for occurrences of long ago. */
async function attachTheirDays(tx: Tx, turns: readonly Turn[]): Promise<void> {
  await tx`
    select carillon.attach_missing_days(array(
      select distinct date_trunc('day', o, 'UTC')
      from unnest(${turns.map(({ id }) => id)}::bigint[], ${turns.map(({ take }) => take)}::int[]) t (id, take)
      join carillon.backlog b on b.id = t.id
      cross join lateral unnest(b.occurrences[b.taken + 1 : b.taken + t.take]) o
      where o >= (select kept_from from carillon.retention)))`;
}

/**
 * Moves rows that cannot be served now behind the others. The next turn of a row under a hold that
 * soon ends by itself is just after that end. Exactly at the end is the turn of rows that the
 * release has made, and an edit of the hold withdraws these.
 */
export async function postponeTurns(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx`
    update carillon.backlog b set turn_at = greatest(b.turn_at + interval '1 millisecond',
      least(s.held_until + interval '1 millisecond', carillon.clock() + ${heldTurn}::interval))
    from carillon.schedules s where b.id = any(${ids}::bigint[]) and s.id = b.schedule_id`;
}

/** Drops what a deleted schedule had in the backlog, and notes it in the ledger. */
export async function dropRows(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx`
    with dropped as (
      delete from carillon.backlog where id = any(${ids}::bigint[]) returning *
    ),
    noted as (
      insert into carillon.passed_over (schedule_id, from_at, to_at, count, reason, noted_at, shard)
      select schedule_id, next_occurrence, occurrences[cardinality(occurrences)], owing, 'deleted', carillon.clock(), shard from dropped
      returning schedule_id, reason, from_at, to_at, count, more
    ),
    ${passedEvents(tx, tx`select schedule_id, reason, from_at, to_at, count, more from noted`)}
    select`;
}

/**
 * For a resume: brings the turns of the schedules' rows forward to now, or to when they are due.
 */
export async function wakeBacklog(tx: Tx, scheduleIds: readonly string[]): Promise<void> {
  await tx`
    update carillon.backlog set turn_at = greatest(carillon.clock(), dues[taken + 1])
    where schedule_id = any(${scheduleIds}::bigint[]) and turn_at > greatest(carillon.clock(), dues[taken + 1])`;
}

/** The oldest cadence occurrence of each schedule that waits in the backlog. */
export async function oldestOwed(tx: Tx, scheduleIds: readonly string[]): Promise<Map<string, Date>> {
  const rows = await tx<{ scheduleId: string; oldest: Date }[]>`
    select schedule_id as "scheduleId", min(next_occurrence) as oldest from carillon.backlog
    where schedule_id = any(${scheduleIds}::bigint[]) and kind = 'cadence' group by 1`;
  return new Map(rows.map(({ scheduleId, oldest }) => [scheduleId, oldest]));
}
