import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import type { ReplanPlace } from "./calendar-replans.ts";
import { byOlderRules, type ReferringSchedule, referringOfTeam } from "./referring.ts";

/**
 * The turns of teams after the edit of a calendar: a row for each team with schedules that may be
 * planned by older rules, with its place among them. The edit sets `replan_team`, the place in the
 * list of teams. A team whose row is deleted is done. The rows only divide the work: the walk that
 * follows finds each schedule that they missed.
 */
export interface TeamTurn {
  team: number;
  rulesVersion: number;
  /** The schedules of the team up to this id are done. */
  after: string;
  /** The first turn of a team after the edit. */
  isFirst: boolean;
}

/** Teams listed in one step. */
const listedMax = 1_000;

/**
 * Gives the next teams of the calendar their rows. It steps from team to team through the index,
 * however many schedules each has. If the rules were edited meanwhile, the list has begun again.
 */
export async function listTeams(
  tx: Tx,
  { calendarId, rulesVersion, listed }: ReplanPlace,
  most: number = listedMax,
): Promise<void> {
  const nextTeam = (after: postgres.Fragment) => tx`
    select coalesce(team_id, 0) as team from carillon.schedules
    where calendar_id = ${calendarId} and coalesce(team_id, 0) > ${after} and deleted_at is null
    order by coalesce(team_id, 0) limit 1`;
  await tx`
    with recursive teams as (
      (select team, 1 as n from (${nextTeam(tx`${listed}::int`)}) first)
      union all
      select next.team, t.n + 1 from teams t cross join lateral (${nextTeam(tx`t.team`)}) next where t.n < ${most}
    ), made as (
      insert into carillon.calendar_turns (calendar_id, team_id, rules_version)
      select ${calendarId}, team, ${rulesVersion} from teams order by team
      on conflict (calendar_id, team_id) do update set rules_version = excluded.rules_version, turns = 0, replan_after = 0
      where calendar_turns.rules_version < excluded.rules_version
    )
    update carillon.calendars
    set replan_team = case when (select count(*) from teams) = ${most} then (select max(team) from teams) end
    where id = ${calendarId} and rules_version = ${rulesVersion} and replan_team = ${listed}`;
}

/**
 * The team that has had the fewest turns; null if no team is left. Two processes at once get two
 * teams, while there are two.
 */
export async function takeTeamTurn(tx: Tx, calendarId: number): Promise<TeamTurn | null> {
  const [row] = await tx<TeamTurn[]>`
    update carillon.calendar_turns t set turns = t.turns + 1
    from (
      select team_id from carillon.calendar_turns where calendar_id = ${calendarId}
      order by turns, team_id limit 1 for update) next
    where t.calendar_id = ${calendarId} and t.team_id = next.team_id
    returning t.team_id as team, t.rules_version as "rulesVersion", t.replan_after as after, t.turns = 1 as "isFirst"`;
  return row ?? null;
}

/** The next schedules of the team by id. */
export async function nextOfTeam(
  tx: Tx,
  { calendarId, rulesId }: ReplanPlace,
  { team, after }: TeamTurn,
  limit: number,
): Promise<ReferringSchedule[]> {
  const from = { team: tx`${team}::int`, after: tx`${after}::bigint` };
  return tx<ReferringSchedule[]>`
    select s.id, s.shard, s.alone, r.older
    from (${referringOfTeam(tx, calendarId, from, limit)}) s cross join ${byOlderRules(tx, rulesId)} order by s.id`;
}

/** Notes that the schedules of the team up to `after` are done, unless its row is of another edit. */
export async function moveTeam(
  tx: Tx,
  calendarId: number,
  { team, rulesVersion }: TeamTurn,
  after: string,
): Promise<void> {
  await tx`
    update carillon.calendar_turns set replan_after = greatest(replan_after, ${after}::bigint)
    where calendar_id = ${calendarId} and team_id = ${team} and rules_version = ${rulesVersion}`;
}

/** Ends the turns of a team without further schedules, unless its row is of another edit. */
export async function endTeam(tx: Tx, calendarId: number, { team, rulesVersion }: TeamTurn): Promise<void> {
  await tx`
    delete from carillon.calendar_turns
    where calendar_id = ${calendarId} and team_id = ${team} and rules_version = ${rulesVersion}`;
}

export async function hasTurns(tx: Tx, calendarId: number): Promise<boolean> {
  const found = await tx`select from carillon.calendar_turns where calendar_id = ${calendarId} limit 1`;
  return found.length > 0;
}

/** SQL: the schedules that the teams have not reached in their turns. */
export const leftToTurns = (
  tx: Tx,
  calendarId: number,
  limit: number,
): postgres.PendingQuery<postgres.Row[]> => tx`
  select s.* from carillon.calendar_turns t cross join lateral (
    ${referringOfTeam(tx, calendarId, { team: tx`t.team_id`, after: tx`t.replan_after` }, limit)}) s
  where t.calendar_id = ${calendarId} limit ${limit}`;
