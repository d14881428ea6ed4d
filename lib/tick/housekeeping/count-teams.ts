import type { Sql } from "../../db/connect.ts";
import type { Log } from "../../log/log.ts";

/** Schedules that one transaction looks at. */
const lookedMax = 2_000;

/**
 * Gives the schedules that are older than a team to it. It begins a minute after the team was made:
 * an edit that began before may still write a schedule without it.
 */
export async function assignTeams(sql: Sql, timeIsUp: () => boolean): Promise<void> {
  const teams = await sql<{ id: number }[]>`
    select id from carillon.teams
    where assigned_at is null and created_at <= carillon.clock() - interval '1 minute' order by id`;
  for (const { id } of teams) {
    for (let more = true; more; ) {
      if (timeIsUp()) return;
      const [step] = await sql<{ more: boolean }[]>`
        select carillon.assign_team(${id}, ${lookedMax}) as more`;
      more = step?.more === true;
    }
  }
}

/** Corrects the usage of one block of schedules. Ticks do so every ten minutes, for one block after the other. */
export async function recountUsage({ sql, log }: { sql: Sql; log: Log }): Promise<void> {
  const [row] = await sql<{ corrected: number }[]>`select carillon.recount_usage() as corrected`;
  if (row !== undefined && row.corrected > 0) log.warn("quota.corrected", { teams: row.corrected });
}
