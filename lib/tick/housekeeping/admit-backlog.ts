import type { Sql, Tx } from "../../db/connect.ts";
import { waitForRows } from "../../db/locks.ts";
import type { Log } from "../../log/log.ts";
import type { OutgoingParcel } from "../../parcel/parcel-queue.ts";
import {
  admitTurns,
  type BacklogRow,
  dropRows,
  moveRows,
  postponeTurns,
  rowsInTurn,
  type StoredLine,
  type Turn,
  turnMax,
} from "../../plan/backlog.ts";
import { type BacklogRoom, backlogBudget, backlogRoom, type Line } from "../../plan/backlog-room.ts";
import { mayBeOfARow } from "../../quarantine/in-halves.ts";
import { letGoUnlocked } from "../../quarantine/quarantine.ts";
import { putAside } from "../../quarantine/try-rows.ts";

export interface BacklogSettings {
  /**
   * Jobs that one tick admits, spread over a minute. The limits of lines are computed from it
   * too.
   */
  budget: number;
  /** The most occurrences of one row that become jobs before the next row is served. */
  perTurn: number;
}

export const backlogDefaults: BacklogSettings = { budget: backlogBudget, perTurn: turnMax };

/** Rows read, and about the most jobs made, in one transaction. */
const rowsMax = 500;
const jobsMax = 5_000;

/** Rows of held schedules that one tick reads. */
const heldMax = 5_000;

const budgetSeconds = 60;

/** Room for jobs that this tick may still admit. */
interface Room {
  left: number;
  lines: BacklogRoom;
  /** Lines whose rows are skipped for the rest of the tick. */
  full: Map<string, StoredLine>;
}

interface BacklogDeps {
  sql: Sql;
  log: Log;
}

/**
 * Makes jobs of the backlog at a pace. Rows are served one after the other, a few occurrences each
 * time, while the budget lasts. A team that has used up its share at a target is skipped with all
 * of its rows there. Each round is a transaction that locks its rows: concurrent ticks serve different rows, and
 * a killed tick has either made a row's jobs and counted them, or neither. If a round fails, its
 * rows are tried in halves, until the failing row is alone and is set aside. Returns the parcels to
 * send.
 */
export async function admitBacklog(
  deps: BacklogDeps,
  { budget, perTurn }: BacklogSettings,
  timeIsUp: () => boolean = () => false,
): Promise<OutgoingParcel[]> {
  const start = await backlogRoom(deps.sql, budget);
  if (start === null) return [];
  const outgoing: OutgoingParcel[] = [];
  let room: Room = { left: budget, lines: start.room, full: fullOf(start.room) };
  let upTo = start.now;
  let held = 0;
  let servedInPass = 0;
  /** Rows of a round that failed. */
  let suspects: readonly string[] = [];
  let limit = rowsMax;
  const without: string[] = [];
  while (room.left > 0 && held < heldMax && !timeIsUp()) {
    const pace = { from: start.now, perSecond: budget / budgetSeconds, ahead: budget - room.left };
    const among = suspects.length === 0 ? null : suspects.slice(0, limit);
    const round = await tryRound(deps, { upTo, room, perTurn, pace, limit, among, without });
    suspects = [...round.failing, ...suspects.slice(among?.length ?? 0)];
    limit = round.nextLimit;
    if (round.done === null) continue;
    const { done } = round;
    room = done.room;
    outgoing.push(...done.outgoing);
    held += done.held;
    servedInPass += done.served;
    if (done.looked > 0 || suspects.length > 0) continue;
    if (servedInPass === 0) break;
    // Each row was served once; the next pass serves the same rows again.
    upTo = new Date(Math.max(done.now.getTime(), upTo.getTime() + 1));
    servedInPass = 0;
  }
  return outgoing;
}

/** Full lines, as the rows name them. */
function fullOf(room: BacklogRoom): Room["full"] {
  const full: Room["full"] = new Map();
  for (const line of room.full()) if (!isUnnamed(line)) shut(full, line);
  return full;
}

/** Target 0 stands for all targets of the fast queue, whose jobs share parcels. */
function shut(full: Room["full"], { target, team }: Line): void {
  const stored = { target: target ?? 0, team: team ?? 0 };
  full.set(`${stored.target} ${stored.team}`, stored);
}

/**
 * Jobs of a slow target never share parcels. A row without a number has not been given its target
 * yet.
 */
const isUnnamed = ({ queue, target }: Line) => queue === "slow" && target === null;

interface RoundParams {
  upTo: Date;
  room: Room;
  perTurn: number;
  pace: Parameters<typeof admitTurns>[2];
  limit: number;
  among: readonly string[] | null;
  /** Rows that failed in this tick and whose entry is locked: they would fail in each round. */
  without: string[];
}

interface Tried {
  done: Round | null;
  /** Rows of the failed round, one of which is at fault. */
  failing: readonly string[];
  nextLimit: number;
}

/**
 * Runs one round. A failed round is rolled back, the next one reads fewer of its rows, and after a
 * success the limit grows again.
 */
async function tryRound({ sql, log }: BacklogDeps, params: RoundParams): Promise<Tried> {
  const { upTo, limit, among, without } = params;
  let looked: readonly BacklogRow[] = [];
  try {
    const full = [...params.room.full.values()];
    const done = await sql.begin(async (tx) => {
      [looked] = await Promise.all([
        rowsInTurn(tx, { upTo, limit, full, among, without }),
        waitForRows(tx, limit),
      ]);
      return admitRound(tx, looked, params);
    });
    return { done, failing: [], nextLimit: Math.min(rowsMax, limit * 2) };
  } catch (error) {
    const [row] = looked;
    if (row === undefined || !mayBeOfARow(error)) throw error;
    if (looked.length > 1)
      return { done: null, failing: looked.map(({ id }) => id), nextLimit: Math.ceil(looked.length / 2) };
    const failed = { item: row.id, scheduleId: row.scheduleId, error };
    const locked = await putAside({ sql, log, consumer: "backlog" }, [failed]);
    without.push(...locked.map(({ item }) => item));
    return { done: null, failing: [], nextLimit: Math.min(rowsMax, limit * 2) };
  }
}

interface Round {
  outgoing: OutgoingParcel[];
  /** The room that is left after the round. */
  room: Room;
  /**
   * The number of rows that were read; 0 if no row that was due by then is left in a line with
   * room.
   */
  looked: number;
  served: number;
  held: number;
  now: Date;
}

async function admitRound(
  tx: Tx,
  rows: readonly BacklogRow[],
  { upTo, room, perTurn, pace }: RoundParams,
): Promise<Round> {
  const left: Room = { left: room.left, lines: room.lines.copy(), full: new Map(room.full) };
  const shares = shareOut(rows, left, perTurn);
  await moveRows(tx, shares.moved);
  const outgoing = await admitTurns(tx, shares.turns, pace);
  await postponeTurns(tx, shares.held);
  await dropRows(tx, shares.deleted);
  const again = rows.slice(0, shares.looked).filter(({ aside }) => aside);
  await letGoUnlocked(
    tx,
    "backlog",
    again.map(({ id }) => id),
  );
  const [clock] = await tx<{ now: Date }[]>`select carillon.clock() as now`;
  return {
    outgoing,
    room: left,
    looked: rows.length,
    served: shares.turns.length,
    held: shares.held.length,
    now: clock?.now ?? upTo,
  };
}

const isMisplaced = ({ hint, teamHint, target, team }: BacklogRow): boolean =>
  hint !== (target ?? 0) || teamHint !== (team ?? 0);

/**
 * Gives each row its number of jobs, one row after the other until the round is full, and subtracts
 * them from the room. A row of a full line keeps its position in the backlog, and all rows of that
 * line are skipped. Rows without a target number cannot be skipped together: such a row
 * waits as a held one does.
 */
function shareOut(rows: readonly BacklogRow[], room: Room, perTurn: number) {
  const turns: Turn[] = [];
  const held: string[] = [];
  const deleted: string[] = [];
  const moved = rows.filter((row) => row.standing !== "deleted" && isMisplaced(row));
  let jobs = 0;
  let looked = 0;
  for (const row of rows) {
    if (jobs >= jobsMax || room.left === 0) break;
    looked += 1;
    const take = Math.min(row.owing, perTurn, room.left, room.lines.of(row));
    if (row.standing === "deleted") deleted.push(row.id);
    else if (row.standing === "held" || (take === 0 && isUnnamed(row))) held.push(row.id);
    else if (take === 0) shut(room.full, row);
    else {
      turns.push({ id: row.id, take });
      jobs += take;
      room.left -= take;
      room.lines.take(row, take);
    }
  }
  return { turns, held, deleted, moved, looked };
}
