import type { Tx } from "../db/connect.ts";

/** The rows of one team that a prefix reads, with `before` only those that were made before an instant. */
export interface TeamOfPrefix {
  /** 0: of schedules without a team. */
  id: number;
  before: Date | null;
}

interface Row {
  id: number;
  length: number;
  assignedAt: Date | null;
}

/** Up to this many teams are read one by one. */
const teamsMax = 100;

/** A job that was running when its schedule was deleted may die with the team that the schedule had. */
const runsOnMs = 3_600_000;

/**
 * The teams that the jobs of schedules under the prefix may name: those that begin with it, and those
 * that it begins with. Of the latter the longest one has all its schedules once it is assigned, so
 * that shorter ones, and no team, count for the time before only. Null if the teams are too many.
 */
export async function teamsUnder(tx: Tx, prefix: string): Promise<TeamOfPrefix[] | null> {
  const read = await readTeams(tx, prefix);
  if (read === null) return null;
  const { rows, own, assignedAt } = read;
  const before = assignedAt === null ? null : new Date(assignedAt.getTime() + runsOnMs);
  const earlier = [0, ...rows.slice(0, own).map(({ id }) => id)];
  return [
    ...rows.slice(own).map(({ id }) => ({ id, before: null })),
    ...earlier.map((id) => ({ id, before })),
  ];
}

/**
 * The teams that have all live schedules under the prefix. Null if some may have none or another, as
 * before a team is assigned, or if the teams are too many.
 */
export async function teamsWith(tx: Tx, prefix: string): Promise<number[] | null> {
  const read = await readTeams(tx, prefix);
  if (read === null || read.assignedAt === null) return null;
  return read.rows.slice(read.own).map(({ id }) => id);
}

/** The teams of a prefix, the shortest first, and the place of the longest one that it begins with. */
async function readTeams(
  tx: Tx,
  prefix: string,
): Promise<{ rows: readonly Row[]; own: number; assignedAt: Date | null } | null> {
  const characters = Array.from(prefix);
  const shorter = characters.slice(1).map((_, index) => characters.slice(0, index + 1).join(""));
  const rows = await tx<Row[]>`
    select id, length(prefix) as length, assigned_at as "assignedAt" from (
      (select * from carillon.teams where prefix >= ${prefix} and prefix < ${prefix}::text || chr(1114111) order by prefix limit ${teamsMax + 1}::int)
      union all
      select * from carillon.teams where prefix = any(${shorter}::text[])) t
    order by length(prefix)`;
  if (rows.length > teamsMax) return null;
  const own = rows.findLastIndex(({ length }) => length <= characters.length);
  return { rows, own: Math.max(0, own), assignedAt: rows[own]?.assignedAt ?? null };
}
