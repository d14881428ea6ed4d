import type { Sql, Tx } from "../db/connect.ts";
import { waitForRows } from "../db/locks.ts";
import type { Log } from "../log/log.ts";
import type { OutgoingParcel, QueueClass } from "../parcel/parcel-queue.ts";
import {
  admitTurns,
  type BacklogRow,
  backlogRoom,
  dropRows,
  postponeTurns,
  rowsInTurn,
  type Turn,
  turnMax,
} from "../plan/backlog.ts";
import { mayBeOfARow } from "../quarantine/in-halves.ts";
import { letGoUnlocked } from "../quarantine/quarantine.ts";
import { putAside } from "../quarantine/try-rows.ts";

export interface BacklogSettings {
  /** Jobs let in by one tick, spread over a minute; and so many of each queue are under way at most. */
  budget: number;
  /** Occurrences of one row before it is the next one's turn. */
  perTurn: number;
}

export const backlogDefaults: BacklogSettings = { budget: 60_000, perTurn: turnMax };

/** In one transaction so many rows are looked at, and about so many jobs are made. */
const rowsMax = 500;
const jobsMax = 5_000;

/** So many rows that cannot be served one tick looks at: held ones, and those of a queue that is full. */
const idleMax = 5_000;

const budgetSeconds = 60;

/** What may still be let in by this tick. */
interface Room {
  left: number;
  queues: Record<QueueClass, number>;
}

interface BacklogDeps {
  sql: Sql;
  log: Log;
}

/**
 * Lets in what is owed, at a pace. Rows are served in turn, each a little, and again while the budget lasts. Every round is
 * a transaction of its own and locks its rows: ticks side by side serve different ones, and one that is killed has either
 * made a row's jobs and counted them, or neither. A round that fails is made with half as many rows, until the row that fails stands alone
 * and is set aside. Returns the parcels to send.
 */
export async function admitBacklog(
  deps: BacklogDeps,
  { budget, perTurn }: BacklogSettings,
  timeIsUp: () => boolean = () => false,
): Promise<OutgoingParcel[]> {
  const start = await backlogRoom(deps.sql, budget);
  if (start === null) return [];
  const outgoing: OutgoingParcel[] = [];
  let room: Room = { left: budget, queues: start.room };
  let upTo = start.now;
  let idle = 0;
  let servedInPass = 0;
  let limit = rowsMax;
  const without: string[] = [];
  while (room.left > 0 && idle < idleMax && !timeIsUp()) {
    const pace = { from: start.now, perSecond: budget / budgetSeconds, ahead: budget - room.left };
    const round = await tryRound(deps, { upTo, room, perTurn, pace, limit, without });
    limit = round.nextLimit;
    if (round.done === null) continue;
    const { done } = round;
    room = done.room;
    outgoing.push(...done.outgoing);
    idle += done.idle;
    servedInPass += done.served;
    if (!done.last) continue;
    if (servedInPass === 0) break;
    // Everybody had a turn; the next pass takes those that were served in this one.
    upTo = new Date(Math.max(done.now.getTime(), upTo.getTime() + 1));
    servedInPass = 0;
  }
  return outgoing;
}

interface RoundWish {
  upTo: Date;
  room: Room;
  perTurn: number;
  pace: Parameters<typeof admitTurns>[2];
  limit: number;
  /** Rows that have failed in this tick, and whose entry is locked: they would fail each round. */
  without: string[];
}

/** Where it fails, nothing of it is done; the next round is to look at fewer rows, and at more again once it has succeeded. */
async function tryRound(
  { sql, log }: BacklogDeps,
  wish: RoundWish,
): Promise<{ done: Round | null; nextLimit: number }> {
  const { limit, without } = wish;
  let looked: readonly BacklogRow[] = [];
  try {
    const done = await sql.begin(async (tx) => {
      [looked] = await Promise.all([rowsInTurn(tx, wish.upTo, { limit, without }), waitForRows(tx, limit)]);
      return admitRound(tx, looked, wish);
    });
    return { done, nextLimit: Math.min(rowsMax, limit * 2) };
  } catch (error) {
    const [row] = looked;
    if (row === undefined || !mayBeOfARow(error)) throw error;
    if (looked.length > 1) return { done: null, nextLimit: Math.ceil(looked.length / 2) };
    const failed = { item: row.id, scheduleId: row.scheduleId, error };
    const locked = await putAside({ sql, log, consumer: "backlog" }, [failed]);
    without.push(...locked.map(({ item }) => item));
    return { done: null, nextLimit: Math.min(rowsMax, limit * 2) };
  }
}

interface Round {
  outgoing: OutgoingParcel[];
  /** What may still be let in after it. */
  room: Room;
  served: number;
  idle: number;
  /** Nobody is left whose turn came by then. */
  last: boolean;
  now: Date;
}

async function admitRound(
  tx: Tx,
  rows: readonly BacklogRow[],
  { upTo, room, perTurn, pace, limit }: RoundWish,
): Promise<Round> {
  const left: Room = { left: room.left, queues: { ...room.queues } };
  const shares = shareOut(rows, left, perTurn);
  const outgoing = await admitTurns(tx, shares.turns, pace);
  await postponeTurns(tx, shares.idle);
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
    served: shares.turns.length,
    idle: shares.idle.length,
    last: shares.looked === rows.length && rows.length < limit,
    now: clock?.now ?? upTo,
  };
}

/** Who gets how much, in turn, until the round is full; takes it off the room. */
function shareOut(rows: readonly BacklogRow[], room: Room, perTurn: number) {
  const turns: Turn[] = [];
  const idle: string[] = [];
  const deleted: string[] = [];
  let jobs = 0;
  let looked = 0;
  for (const { id, owing, queue, standing } of rows) {
    if (jobs >= jobsMax || room.left === 0) break;
    looked += 1;
    const take = Math.min(owing, perTurn, room.left, room.queues[queue]);
    if (standing === "deleted") deleted.push(id);
    else if (standing === "held" || take <= 0) idle.push(id);
    else {
      turns.push({ id, take });
      jobs += take;
      room.left -= take;
      room.queues[queue] -= take;
    }
  }
  return { turns, idle, deleted, looked };
}
