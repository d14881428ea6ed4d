import { durationMs } from "../cadence/duration.ts";
import type { Tx } from "../db/connect.ts";
import { type TeamOfPrefix, teamsUnder } from "../quota/teams-of-prefix.ts";
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
 * each team under the prefix, else one for each error group, else one for all.
 */
export type DeadStreams =
  | { by: "schedule"; ids: readonly string[] }
  | { by: "team"; teams: readonly TeamOfPrefix[]; groups: readonly string[] | null }
  | { by: "group"; groups: readonly string[] }
  | { by: "all" };

/** Null if no schedule matches. */
export async function deadStreams(tx: Tx, filter: DeadFilter): Promise<DeadStreams | null> {
  const owners = await fewOwners(tx, filter, { deleted: true });
  if (owners !== null) return owners.length === 0 ? null : { by: "schedule", ids: owners };
  const { prefix, errorGroup: groups = null } = filter;
  const teams = prefix === undefined ? null : await teamsUnder(tx, prefix);
  if (teams !== null) return { by: "team", teams, groups };
  return groups === null ? { by: "all" } : { by: "group", groups };
}

/** SQL: each stream as a row `o` with its place, and with its schedule, team or error group. */
export function streamRows(tx: Tx, streams: DeadStreams) {
  switch (streams.by) {
    case "schedule":
      return tx`unnest(${[...streams.ids]}::bigint[]) with ordinality o (stream, place)`;
    case "team": {
      const { teams, groups } = streams;
      const each = teams.flatMap((team) => (groups ?? [""]).map((group) => ({ ...team, group })));
      return tx`
        unnest(${each.map(({ id }) => id)}::int[], ${tx.array(each.map(({ before }) => before))}::timestamptz[], ${each.map(({ group }) => group)}::text[])
          with ordinality o (team, before, stream, place)`;
    }
    case "group":
      return tx`unnest(${[...streams.groups]}::text[]) with ordinality o (stream, place)`;
    case "all":
      return tx`(values (0, 1)) o (stream, place)`;
  }
}

/**
 * SQL: the dead job `d` belongs to the stream `o`. Bounds of all columns of a team's index leave the
 * planner no other index: with equality it could read all dead jobs, the newest first, and filter them.
 */
export function inStream(tx: Tx, streams: DeadStreams, { from, to }: Times) {
  switch (streams.by) {
    case "schedule":
      return tx`d.schedule_id = o.stream ${diedWithin(tx, { from, to })}`;
    case "team": {
      const high = tx`least(coalesce(o.before, 'infinity'), ${to ?? null}::timestamptz)`;
      const low = tx`coalesce(${from ?? null}::timestamptz, '-infinity')`;
      return streams.groups === null
        ? tx`(d.team_id, d.died_at) >= (o.team, ${low}) and (d.team_id, d.died_at) < (o.team, ${high})`
        : tx`(d.team_id, d.error_group, d.died_at) >= (o.team, o.stream, ${low}) and (d.team_id, d.error_group, d.died_at) < (o.team, o.stream, ${high})`;
    }
    case "group":
      return tx`d.error_group = o.stream ${diedWithin(tx, { from, to })}`;
    case "all":
      return tx`true ${diedWithin(tx, { from, to })}`;
  }
}

/** SQL: the columns that stand before the time of death in the order of a stream's index. */
export function streamOrder(tx: Tx, streams: DeadStreams, way: "asc" | "desc") {
  if (streams.by !== "team") return tx``;
  const towards = way === "asc" ? tx`asc` : tx`desc`;
  return streams.groups === null
    ? tx`d.team_id ${towards},`
    : tx`d.team_id ${towards}, d.error_group ${towards},`;
}

type Times = Pick<DeadFilter, "from" | "to">;

/** SQL: the time of death of `d` is within the bounds. */
function diedWithin(tx: Tx, { from, to }: Times) {
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
export function newestLooked(tx: Tx, filter: DeadFilter, streams: DeadStreams) {
  const share = Math.ceil(lookedMax / countOf(streams));
  return tx`
    read as materialized (
      select d.*, row_number() over (partition by o.place order by d.died_at desc) as nth, row_number() over (order by d.died_at desc) as place
      from ${streamRows(tx, streams)} cross join lateral (
        select d.occurrence, d.schedule_id, d.kind, d.n, d.died_at, d.reason, d.error_group, d.team_id from carillon.dead_jobs d
        where ${inStream(tx, streams, filter)} order by ${streamOrder(tx, streams, "desc")} d.died_at desc limit ${share + 1}) d
    ), cut as materialized (
      select died_at from read where nth > ${share} or place > ${lookedMax} order by died_at desc limit 1
    ), edge as materialized (
      select exists (select from cut) as more, coalesce((select died_at from cut), '-infinity') as from_at
    ), looked as materialized (
      select r.* from read r cross join edge e where r.nth <= ${share} and r.place <= ${lookedMax} and r.died_at >= e.from_at
    )`;
}

/** Those of the time before a team are rarely any, so they get no share of the bound. */
function countOf(streams: DeadStreams): number {
  switch (streams.by) {
    case "schedule":
      return streams.ids.length;
    case "team": {
      const { teams, groups } = streams;
      const own = teams.filter(({ before }) => before === null).length;
      return Math.max(1, own) * (groups?.length ?? 1);
    }
    case "group":
      return streams.groups.length;
    case "all":
      return 1;
  }
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
