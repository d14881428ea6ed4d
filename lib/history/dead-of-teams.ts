import type { Tx } from "../db/connect.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";

/** The dead jobs of one team, with `before` only those that died before an instant. */
export interface DeadOfTeam {
  /** 0: of schedules without a team. */
  id: number;
  before: Date | null;
}

interface Row {
  id: number;
  length: number;
  assignedAt: Date | null;
}

/** Up to this many teams are read one by one; for more, all dead jobs are read. */
const teamsMax = 100;

/** A job that was running when its schedule was deleted may die with the team that the schedule had. */
const runsOnMs = 3_600_000;

/**
 * The teams whose dead jobs may be of schedules under the prefix: those that begin with it, and those
 * that it begins with. Of the latter the longest one has all its schedules once it is assigned, so
 * that shorter ones, and no team, count for the time before only. Null if the teams are too many.
 */
export async function teamsUnder(tx: Tx, prefix: string): Promise<DeadOfTeam[] | null> {
  const characters = Array.from(prefix);
  const shorter = characters.slice(1).map((_, index) => characters.slice(0, index + 1).join(""));
  const rows = await tx<Row[]>`
    select id, length(prefix) as length, assigned_at as "assignedAt" from (
      (select * from carillon.teams where prefix >= ${prefix} and prefix < ${prefix + highestCharacter} order by prefix limit ${teamsMax + 1}::int)
      union all
      select * from carillon.teams where prefix = any(${shorter}::text[])) t
    order by length(prefix)`;
  if (rows.length > teamsMax) return null;
  const own = rows.findLastIndex(({ length }) => length <= characters.length);
  const assignedAt = rows[own]?.assignedAt ?? null;
  const before = assignedAt === null ? null : new Date(assignedAt.getTime() + runsOnMs);
  const earlier = [0, ...rows.slice(0, Math.max(0, own)).map(({ id }) => id)];
  return [
    ...rows.slice(Math.max(0, own)).map(({ id }) => ({ id, before: null })),
    ...earlier.map((id) => ({ id, before })),
  ];
}
