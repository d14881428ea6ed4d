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
  type Turn,
  turnMax,
} from "../../plan/backlog.ts";
import { type BacklogRoom, backlogBudget, backlogRoom, type Destination } from "../../plan/backlog-room.ts";
import { mayBeOfARow } from "../../quarantine/in-halves.ts";
import { letGoUnlocked } from "../../quarantine/quarantine.ts";
import { putAside } from "../../quarantine/try-rows.ts";

export interface BacklogSettings {
  /** Jobs let in by one tick, spread over a minute; and how many are under way is reckoned by it. */
  budget: number;
  /** Occurrences of one row before it is the next one's turn. */
  perTurn: number;
}

export const backlogDefaults: BacklogSettings = { budget: backlogBudget, perTurn: turnMax };

/** In one transaction so many rows are looked at, and about so many jobs are made. */
const rowsMax = 500;
const jobsMax = 5_000;

/** How many rows of held schedules one tick looks at. */
const heldMax = 5_000;

const budgetSeconds = 60;

/** What may still be let in by this tick. */
interface Room {
  left: number;
  targets: BacklogRoom;
  /** Targets whose rows are passed over for the rest of the tick. */
  full: Set<number>;
}

interface BacklogDeps {
  sql: Sql;
  log: Log;
}

/**
 * Makes jobs of the backlog, at a pace. Rows are served in turn, each a little, and again while the budget lasts. A target that has its share under way is
 * passed over with all of its rows. Every round is a transaction of its own and locks its rows: ticks side by side serve different ones, and one that is killed
 * has either made a row's jobs and counted them, or neither. Where a round fails its rows are tried in halves, until the row that fails stands alone and is set
 * aside. Returns the parcels to send.
 */
export async function admitBacklog(
  deps: BacklogDeps,
  { budget, perTurn }: BacklogSettings,
  timeIsUp: () => boolean = () => false,
): Promise<OutgoingParcel[]> {
  const start = await backlogRoom(deps.sql, budget);
  if (start === null) return [];
  const outgoing: OutgoingParcel[] = [];
  let room: Room = { left: budget, targets: start.room, full: fullOf(start.room) };
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
    // Each row had a turn; the next pass takes those that were served in this one.
    upTo = new Date(Math.max(done.now.getTime(), upTo.getTime() + 1));
    servedInPass = 0;
  }
  return outgoing;
}

/** By the number that rows have for their target: 0 stands for all targets whose jobs travel together, those of the fast queue. */
function fullOf(room: BacklogRoom): Set<number> {
  const full = room.full().filter((each) => !isUnnamed(each));
  return new Set(full.map(({ target }) => target ?? 0));
}

/** A slow target's jobs travel alone: without a number its row has not been named yet. */
const isUnnamed = ({ queue, target }: Destination) => queue === "slow" && target === null;

interface RoundParams {
  upTo: Date;
  room: Room;
  perTurn: number;
  pace: Parameters<typeof admitTurns>[2];
  limit: number;
  among: readonly string[] | null;
  /** Rows that have failed in this tick, and whose entry is locked: they would fail each round. */
  without: string[];
}

interface Tried {
  done: Round | null;
  /** Its rows, one of which is at fault. */
  failing: readonly string[];
  nextLimit: number;
}

/** Where it fails, nothing of it is done; the next round is to look at fewer of its rows, and at more again once it has succeeded. */
async function tryRound({ sql, log }: BacklogDeps, params: RoundParams): Promise<Tried> {
  const { upTo, limit, among, without } = params;
  let looked: readonly BacklogRow[] = [];
  try {
    const full = [...params.room.full];
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
  /** What may still be let in after it. */
  room: Room;
  /** 0 if no row is left that was due by then at a target with room. */
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
  const left: Room = { left: room.left, targets: room.targets.copy(), full: new Set(room.full) };
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

/**
 * Shares the round out: how many jobs each row gets, in turn, until the round is full; takes them off the room. A row of a full target keeps its turn, and
 * all rows of that target are passed over. Rows without a target's number cannot be passed over together: such a row waits as a held one does.
 */
function shareOut(rows: readonly BacklogRow[], room: Room, perTurn: number) {
  const turns: Turn[] = [];
  const held: string[] = [];
  const deleted: string[] = [];
  const moved = rows.filter(({ hint, target, standing }) => standing !== "deleted" && hint !== (target ?? 0));
  let jobs = 0;
  let looked = 0;
  for (const row of rows) {
    if (jobs >= jobsMax || room.left === 0) break;
    looked += 1;
    const take = Math.min(row.owing, perTurn, room.left, room.targets.of(row));
    if (row.standing === "deleted") deleted.push(row.id);
    else if (row.standing === "held" || (take === 0 && isUnnamed(row))) held.push(row.id);
    else if (take === 0) room.full.add(row.target ?? 0);
    else {
      turns.push({ id: row.id, take });
      jobs += take;
      room.left -= take;
      room.targets.take(row, take);
    }
  }
  return { turns, held, deleted, moved, looked };
}
