import type { Sql, Tx } from "../db/connect.ts";
import { waitBriefly } from "../db/locks.ts";
import { sqlState } from "../db/sql-state.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import {
  endReplanRound,
  findReplanPlace,
  moveReplanPlace,
  nextReferring,
  noteReplanFailed,
  type ReplanPlace,
} from "./calendar-replans.ts";
import { endTeam, listTeams, moveTeam, nextOfTeam, type TeamTurn, takeTeamTurn } from "./calendar-turns.ts";
import { type PageBounds, replanPage } from "./replan-page.ts";

export interface ReplanBounds extends PageBounds {
  /** Largest number of turns. Each reads a bounded number of schedules, and may replan none. */
  turns: number;
}

/**
 * Schedules read in one turn. The first turn of a team is short: a team with few schedules does not
 * wait for long ones of many others.
 */
const readMax = { first: 100, later: 400 };

export interface ReplanDone {
  replanned: number;
  /** No schedule is left except failed ones. */
  done: boolean;
}

/**
 * Replans schedules by the current rules of their calendar, some of each team in turn, until none is
 * left or a limit is reached. It may be killed at any point and run twice at once: a schedule that
 * follows the rules is left unchanged.
 */
export async function replanCalendar(
  deps: EditDeps,
  calendarId: number,
  bounds: ReplanBounds,
): Promise<ReplanDone> {
  let replanned = 0;
  for (let turn = 0; turn < bounds.turns && replanned < bounds.most && !bounds.timeIsUp(); turn++) {
    const place = await findReplanPlace(deps.sql, calendarId);
    if (place === null) return { replanned, done: true };
    const taken = await takeTurn(deps, place, { ...bounds, most: bounds.most - replanned });
    replanned += taken.replanned;
    if (taken.next !== "goes on") return { replanned, done: taken.next === "done" };
  }
  return { replanned, done: false };
}

interface Taken {
  replanned: number;
  /** Whether the round is done. `stops`: another transaction keeps the place from being written. */
  next: "goes on" | "done" | "stops";
}

async function takeTurn(deps: EditDeps, place: ReplanPlace, bounds: ReplanBounds): Promise<Taken> {
  if (place.listed !== null) {
    const isListed = await writePlace(deps.sql, bounds, (tx) => listTeams(tx, place));
    return { replanned: 0, next: isListed ? "goes on" : "stops" };
  }
  const team = await takeTeamTurn(deps.sql, place.calendarId);
  if (team === null) return walk(deps, place, bounds);
  // The calendar was edited since the place was read.
  if (team.rulesVersion > place.rulesVersion) return { replanned: 0, next: "goes on" };
  return turnOfTeam(deps, place, team, bounds);
}

async function turnOfTeam(
  deps: EditDeps,
  place: ReplanPlace,
  team: TeamTurn,
  bounds: ReplanBounds,
): Promise<Taken> {
  const limit = team.isFirst ? readMax.first : readMax.later;
  const page = await nextOfTeam(deps.sql, place, team, limit);
  const { replanned, failed, after } = await replanPage(deps, place, page, bounds);
  if (failed && !(await noteFailed(deps.sql, place, bounds))) return { replanned, next: "stops" };
  if (after !== null) await moveTeam(deps.sql, place.calendarId, team, after);
  const isThrough = page.length < limit && after === (page.at(-1)?.id ?? null);
  if (isThrough) await endTeam(deps.sql, place.calendarId, team);
  return { replanned, next: "goes on" };
}

async function walk(deps: EditDeps, place: ReplanPlace, bounds: ReplanBounds): Promise<Taken> {
  const page = await nextReferring(deps.sql, place, readMax.later);
  if (page.length === 0) {
    const isEnded = await writePlace(deps.sql, bounds, (tx) => endReplanRound(tx, place));
    return { replanned: 0, next: isEnded ? "done" : "stops" };
  }
  const { replanned, failed, after } = await replanPage(deps, place, page, bounds);
  if (failed && !(await noteFailed(deps.sql, place, bounds))) return { replanned, next: "stops" };
  if (after === null) return { replanned, next: "goes on" };
  const isMoved = await writePlace(deps.sql, bounds, (tx) => moveReplanPlace(tx, place, after));
  return { replanned, next: isMoved ? "goes on" : "stops" };
}

const noteFailed = (sql: Sql, place: ReplanPlace, bounds: ReplanBounds) =>
  writePlace(sql, bounds, (tx) => noteReplanFailed(tx, place));

/**
 * Writes to the row of the calendar, which each edit that names the calendar has locked. False if a
 * caller waits and the lock is not granted soon: the tick then goes on from the place before.
 */
async function writePlace(
  sql: Sql,
  { briefly = false }: ReplanBounds,
  write: (tx: Tx) => Promise<void>,
): Promise<boolean> {
  if (!briefly) {
    await write(sql);
    return true;
  }
  try {
    await sql.begin(async (tx) => {
      await waitBriefly(tx);
      await write(tx);
    });
    return true;
  } catch (error) {
    if (sqlState(error) === "lock_timeout") return false;
    throw error;
  }
}
