import { durationMs } from "../cadence/duration.ts";
import type { Tx } from "../db/connect.ts";
import { fewOwners, isOwner, type JobOwners } from "./find-schedules.ts";

export interface DeadFilter extends JobOwners {
  /** The reason of their death: `attempts`, `gave-up` … */
  reason?: string | undefined;
  /** Those whose last attempt is in one of these error groups. */
  errorGroup?: readonly string[] | undefined;
  /** Jobs that started at least this long after they were due: a duration such as `5m`. */
  lateBy?: string | undefined;
  /** Time of death: from here … */
  from?: Date | undefined;
  /** … to before here. */
  to?: Date | undefined;
}

/**
 * The indexes through which dead jobs are read: one stream for each of a few schedules, else one for
 * each error group, else one for all.
 */
export type DeadStreams =
  | { by: "schedule"; ids: readonly string[] }
  | { by: "group"; groups: readonly string[] }
  | { by: "all" };

/** Null if no schedule matches. */
export async function deadStreams(tx: Tx, filter: DeadFilter): Promise<DeadStreams | null> {
  const owners = await fewOwners(tx, filter, { deleted: true });
  if (owners !== null) return owners.length === 0 ? null : { by: "schedule", ids: owners };
  return filter.errorGroup === undefined ? { by: "all" } : { by: "group", groups: filter.errorGroup };
}

/** SQL: each stream as a row `o` with its schedule or its error group. */
export function streamRows(tx: Tx, streams: DeadStreams) {
  switch (streams.by) {
    case "schedule":
      return tx`unnest(${[...streams.ids]}::bigint[]) o (stream)`;
    case "group":
      return tx`unnest(${[...streams.groups]}::text[]) o (stream)`;
    case "all":
      return tx`(values (0)) o (stream)`;
  }
}

/** SQL: the dead job `d` belongs to the stream `o`. */
export function inStream(tx: Tx, { by }: DeadStreams) {
  return by === "schedule"
    ? tx`d.schedule_id = o.stream`
    : by === "group"
      ? tx`d.error_group = o.stream`
      : tx`true`;
}

/** SQL: the time of death of `d` is within the bounds. */
export function diedWithin(tx: Tx, { from, to }: Pick<DeadFilter, "from" | "to">) {
  return tx`
    ${from === undefined ? tx`` : tx`and d.died_at >= ${from}`}
    ${to === undefined ? tx`` : tx`and d.died_at < ${to}`}`;
}

/** SQL: the dead job `d` of schedule `s` (all null if the schedule is gone) matches the filter. */
export function isDeadOf(tx: Tx, filter: DeadFilter) {
  return tx`(s.id is not null and ${isOwner(tx, filter)} and ${isDeadWith(tx, filter)})`;
}

/** SQL: the dead job `d` has the reason, one of the error groups and the lateness of the filter. */
export function isDeadWith(tx: Tx, { reason, errorGroup, lateBy }: DeadFilter) {
  return tx`(true
    ${reason === undefined ? tx`` : tx`and d.reason = ${reason}`}
    ${errorGroup === undefined ? tx`` : tx`and d.error_group = any(${[...errorGroup]}::text[])`}
    ${
      lateBy === undefined
        ? tx``
        : tx`and exists (
            select from carillon.jobs j
            where j.occurrence = d.occurrence and j.schedule_id = d.schedule_id and j.kind = d.kind and j.n = d.n
              and ${isLateBy(tx, lateBy)} offset 0)`
    })`;
}

/** SQL: the job `j` started at least this long after it was due. */
export function isLateBy(tx: Tx, lateBy: string) {
  return tx`j.started_at >= j.due_at + ${durationMs(lateBy)} * interval '1 millisecond'`;
}

/** The most dead jobs that a count or a list of groups reads. */
export const lookedMax = 20_000;

/**
 * SQL, parts of a `with`: `looked` has the newest dead jobs within the bounds of time, and `edge` one
 * row that says whether there are older ones (`more`). Each stream is read up to its share of the
 * bound, and where one is cut off, none is looked at before that instant.
 */
export function newestLooked(tx: Tx, filter: DeadFilter, streams: DeadStreams, most = lookedMax) {
  const share = Math.ceil(most / countOf(streams));
  return tx`
    read as materialized (
      select d.*, row_number() over (partition by o.stream order by d.died_at desc) as nth
      from ${streamRows(tx, streams)} cross join lateral (
        select d.occurrence, d.schedule_id, d.kind, d.n, d.died_at, d.reason, d.error_group from carillon.dead_jobs d
        where ${inStream(tx, streams)} ${diedWithin(tx, filter)} order by d.died_at desc limit ${share + 1}) d
    ), edge as materialized (
      select coalesce(bool_or(nth > ${share}), false) as more, coalesce(max(died_at) filter (where nth > ${share}), '-infinity') as from_at from read
    ), looked as materialized (
      select r.* from read r cross join edge e where r.nth <= ${share} and r.died_at >= e.from_at
    )`;
}

function countOf(streams: DeadStreams): number {
  return streams.by === "schedule" ? streams.ids.length : streams.by === "group" ? streams.groups.length : 1;
}

/** How many dead jobs match, with `live` only those of schedules that exist: among the newest ones, up to the bound. */
export async function countDead(
  tx: Tx,
  filter: DeadFilter,
  { live = false }: { live?: boolean } = {},
): Promise<{ count: number; more: boolean }> {
  const streams = await deadStreams(tx, filter);
  if (streams === null) return { count: 0, more: false };
  const [row] = await tx<{ count: number; more: boolean }[]>`
    with ${newestLooked(tx, filter, streams)}
    select (
      select count(*)::int from looked d cross join lateral (select s.* from carillon.schedules s where s.id = d.schedule_id offset 0) s
      where ${live ? tx`s.deleted_at is null and` : tx``} ${isDeadOf(tx, filter)}) as count, e.more
    from edge e`;
  if (row === undefined) throw new Error("An aggregate without a row.");
  return row;
}
