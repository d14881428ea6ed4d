import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";

/** A schedule that refers to a calendar. */
export interface ReferringSchedule {
  id: string;
  shard: number;
  /** The schedule is planned by older rules. */
  older: boolean;
  /** An edit of the schedule locks a lane, so it is not edited together with others. */
  alone: boolean;
}

const columns = (tx: Tx) => tx`
  id, shard, spec_version, key, lane is not null or overlap is not null or group_key is not null as alone`;

/** SQL: the schedules of a calendar with a greater id. */
export const referringAfter = (
  tx: Tx,
  { calendarId, after }: { calendarId: number; after: string },
  limit: number,
): postgres.PendingQuery<postgres.Row[]> => tx`
  select ${columns(tx)} from carillon.schedules
  where calendar_id = ${calendarId} and id > ${after}::bigint and deleted_at is null order by id limit ${limit}`;

/**
 * SQL: the schedules of a calendar that belong to one team and have a greater id. The bounds are
 * pairs: an equal team would let the planner take the index without teams, and read the schedules
 * of all.
 */
export const referringOfTeam = (
  tx: Tx,
  calendarId: number,
  { team, after }: { team: postgres.Fragment; after: postgres.Fragment },
  limit: number,
): postgres.PendingQuery<postgres.Row[]> => tx`
  select ${columns(tx)} from carillon.schedules
  where calendar_id = ${calendarId} and (coalesce(team_id, 0), id) > (${team}, ${after})
    and (coalesce(team_id, 0), id) <= (${team}, 9223372036854775807) and deleted_at is null
  order by coalesce(team_id, 0), id limit ${limit}`;

/**
 * SQL: whether a schedule (s) is planned by other rules than the current ones. `offset 0` forces a
 * lookup for each, however many there are.
 */
export const byOlderRules = (tx: Tx, rulesId: number): postgres.PendingQuery<postgres.Row[]> => tx`
  lateral (
    select k.calendar_version <> ${rulesId} as older
    from carillon.schedule_versions v join carillon.cadences k on k.id = v.cadence_id
    where v.schedule_id = s.id and v.version = s.spec_version offset 0) r`;

/** The schedules that have referred to the calendar longest, and since when their spec is in force. */
export async function firstReferring(
  tx: Tx,
  calendarId: number,
  limit: number,
): Promise<{ id: string; changedAt: Date }[]> {
  return tx<{ id: string; changedAt: Date }[]>`
    select s.id, v.changed_at as "changedAt"
    from (${referringAfter(tx, { calendarId, after: "0" }, limit)}) s
    cross join lateral (
      select v.changed_at from carillon.schedule_versions v where v.schedule_id = s.id and v.version = s.spec_version offset 0) v
    order by s.id`;
}
