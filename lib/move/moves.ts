import { v7 as uuidv7 } from "uuid";
import type { Sql, Tx } from "../db/connect.ts";
import { lockPlan } from "../db/locks.ts";
import { shardCount } from "../plan/shard.ts";
import { Refusal } from "../refusal.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";

/** A move of all schedules of a prefix: out of this installation, or into it. */
export interface Move {
  id: string;
  direction: "out" | "in";
  prefix: string;
  /** The address of the other installation's API. */
  peer: string;
  begunAt: Date;
  begunBy: string;
  /** Out: since when no schedule with the prefix is made here. */
  closedAt: Date | null;
  endedAt: Date | null;
}

const columns = (tx: Tx) => tx`
  id, direction, prefix, peer, begun_at as "begunAt", begun_by as "begunBy", closed_at as "closedAt", ended_at as "endedAt"`;

export interface MoveAsked {
  prefix: string;
  peer: string;
  caller: Caller;
}

/** Edits read the prefixes of all moves out. */
const movesMax = 1_000;

/**
 * Begins to move a prefix out, or finds its last move if that went to the same peer and is under way
 * or has moved all of it: the command can be repeated, also after its last step.
 */
export function beginMove(sql: Sql, asked: MoveAsked): Promise<Move> {
  return sql.begin(async (tx) => {
    const open = await lockMoves(tx);
    const [last] = await tx<Move[]>`
      select ${columns(tx)} from carillon.moves where prefix = ${asked.prefix} order by begun_at desc limit 1`;
    const goesOn = last !== undefined && (last.endedAt === null || last.closedAt !== null);
    if (goesOn && last.direction === "out" && last.peer === asked.peer) return last;
    return insertMove(tx, open, { id: uuidv7(), direction: "out", ...asked });
  });
}

/** Begins to take in a move that another installation has begun. */
export function beginArrival(sql: Sql, asked: MoveAsked & { id: string }): Promise<Move> {
  return sql.begin(async (tx) => {
    const open = await lockMoves(tx);
    const [known] = await tx<Move[]>`select ${columns(tx)} from carillon.moves where id = ${asked.id}`;
    return known ?? insertMove(tx, open, { direction: "in", ...asked });
  });
}

const overlap = (one: string, other: string) => one.startsWith(other) || other.startsWith(one);

function inTheWay({ id, direction, prefix, peer }: Move, asked: string): Refusal {
  const way = direction === "out" ? "to" : "from";
  return new Refusal(
    "conflict",
    `The prefix ${JSON.stringify(asked)} overlaps the move ${id} of ${JSON.stringify(prefix)} ${way} ${peer}. End or undo that move first.`,
  );
}

async function insertMove(
  tx: Tx,
  open: readonly Move[],
  { id, direction, prefix, peer, caller }: MoveAsked & Pick<Move, "id" | "direction">,
): Promise<Move> {
  const near = open.find((each) => overlap(each.prefix, prefix));
  if (near !== undefined) throw inTheWay(near, prefix);
  await refuseTooMany(tx);
  const [move] = await tx<Move[]>`
    insert into carillon.moves (id, direction, prefix, peer, begun_at, begun_by)
    values (${id}, ${direction}, ${prefix}, ${peer}, carillon.clock(), ${caller.name}) returning ${columns(tx)}`;
  if (move === undefined) throw new Error("The table of moves took no row.");
  if (direction === "out") await noteMovedOut(tx);
  await noteMove(tx, move, "begun", caller);
  return move;
}

/** One change of the list of moves at a time. Returns the moves that have not ended. */
async function lockMoves(tx: Tx): Promise<Move[]> {
  await tx`lock table carillon.moves in share row exclusive mode`;
  return tx<Move[]>`select ${columns(tx)} from carillon.moves where ended_at is null order by begun_at`;
}

async function refuseTooMany(tx: Tx): Promise<void> {
  const [row] = await tx<{ count: number }[]>`select count(*)::int as count from carillon.moves`;
  if (row === undefined || row.count < movesMax) return;
  throw new Refusal(
    "conflict",
    `There are ${movesMax} moves, the most that are kept. Forget old ones first.`,
  );
}

/** Edits read the prefixes with the list of teams. */
async function noteMovedOut(tx: Tx): Promise<void> {
  await tx`
    update carillon.team_list set moved_out = array(
      select distinct prefix from carillon.moves where direction = 'out' order by prefix)`;
}

async function noteMove(
  tx: Tx,
  move: Move,
  what: "begun" | "closed" | "ended" | "forgotten",
  caller: Caller,
): Promise<void> {
  const detail = { move: move.id, direction: move.direction, peer: move.peer };
  await tx`
    insert into carillon.audit (at, actor, action, subject, detail, origin, prefix)
    values (carillon.clock(), ${caller.name}, ${`move.${what}`}, ${move.prefix}, ${JSON.stringify(detail)}::text::jsonb,
      ${originText(caller)}::text::jsonb, ${move.prefix})`;
}

export async function findMove(tx: Tx, id: string, direction: Move["direction"]): Promise<Move> {
  const [move] = await tx<Move[]>`
    select ${columns(tx)} from carillon.moves where id = ${id} and direction = ${direction}`;
  if (move !== undefined) return move;
  throw new Refusal(
    "missing",
    `There is no move ${id} ${direction === "out" ? "out of" : "into"} this installation.`,
  );
}

/** As `findMove`, for a step of a move that has not ended. Locks its row, so that no other step ends it meanwhile. */
export async function openMove(tx: Tx, id: string, direction: Move["direction"]): Promise<Move> {
  await tx`select from carillon.moves where id = ${id} for share`;
  const move = await findMove(tx, id, direction);
  if (move.endedAt === null) return move;
  throw new Refusal("conflict", `The move ${id} ended at ${move.endedAt.toISOString()}.`);
}

/** All moves, the newest first. */
export function listMoves(tx: Tx, prefix: string): PromiseLike<Move[]> {
  return tx<Move[]>`
    select ${columns(tx)} from carillon.moves where starts_with(prefix, ${prefix}) order by begun_at desc, id`;
}

/** From here on no schedule with the prefix is made here. */
export function closeMove(sql: Sql, { id, caller }: { id: string; caller: Caller }): Promise<Move> {
  return sql.begin(async (tx) => {
    await lockMoves(tx);
    const move = await findMove(tx, id, "out");
    if (move.closedAt !== null || move.endedAt !== null) return move;
    await tx`
      update carillon.moves set closed_at = carillon.clock() where id = ${id}`;
    await noteMove(tx, move, "closed", caller);
    return findMove(tx, id, "out");
  });
}

/**
 * Ends a move. A move out ends when each of its schedules has been confirmed, and none is left here.
 * With `abandon` those that are left stay, and the prefix stays open for new ones.
 */
export function endMove(
  sql: Sql,
  {
    id,
    direction,
    abandon,
    caller,
  }: { id: string; direction: Move["direction"]; abandon: boolean; caller: Caller },
): Promise<Move> {
  return sql.begin(async (tx) => {
    await lockMoves(tx);
    // A take that is under way holds the row: the schedules that it has taken must count below. It ends
    // before this transaction takes the locks of plans.
    await tx`select from carillon.moves where id = ${id} for no key update`;
    const move = await findMove(tx, id, direction);
    if (move.endedAt !== null) return move;
    if (direction === "out") {
      if (!abandon) await awaitCreates(tx);
      await refuseUnfinished(tx, move, abandon);
    }
    await tx`
      update carillon.moves set ended_at = carillon.clock(), closed_at = case when not ${abandon} then closed_at end where id = ${id}`;
    await noteMove(tx, move, "ended", caller);
    return findMove(tx, id, direction);
  });
}

/**
 * Waits for all creates that began before the prefix was closed: they hold the lock of a plan, and
 * read the closed prefixes after they have got it. Until this transaction ends, no schedule is made.
 */
async function awaitCreates(tx: Tx): Promise<void> {
  for (let shard = 0; shard < shardCount; shard++) await lockPlan(tx, shard);
}

async function refuseUnfinished(tx: Tx, { id, prefix, closedAt }: Move, abandon: boolean): Promise<void> {
  const [row] = await tx<{ unconfirmed: boolean; left: string | null }[]>`
    select exists (select from carillon.moved_schedules where move_id = ${id} and confirmed_at is null) as unconfirmed,
      (select key from carillon.schedules where deleted_at is null and key >= ${prefix} and starts_with(key, ${prefix}) order by key limit 1) as left`;
  const why =
    row?.unconfirmed === true
      ? "schedules that it has taken are not confirmed by the other installation"
      : abandon
        ? null
        : closedAt === null
          ? "its prefix is not closed"
          : row?.left != null
            ? `the schedule ${row.left} is still here`
            : null;
  if (why !== null) throw new Refusal("conflict", `The move ${id} cannot end: ${why}.`);
}

/**
 * Deletes the record of a move that has ended. The keys of a move out are free here again: requests
 * are no longer told where they went.
 */
export function forgetMove(sql: Sql, { id, caller }: { id: string; caller: Caller }): Promise<void> {
  return sql.begin(async (tx) => {
    await lockMoves(tx);
    const [move] = await tx<Move[]>`select ${columns(tx)} from carillon.moves where id = ${id}`;
    if (move === undefined) throw new Refusal("missing", `There is no move ${id}.`);
    if (move.endedAt === null) throw new Refusal("conflict", `The move ${id} has not ended.`);
    if (move.direction === "in") await refuseBeforeMoveOut(tx, move);
    await tx`delete from carillon.moves where id = ${id}`;
    await noteMovedOut(tx);
    await noteMove(tx, move, "forgotten", caller);
  });
}

/** The record of a move back tells that an older move out of its keys does not count any more. */
async function refuseBeforeMoveOut(tx: Tx, { id, prefix, begunAt }: Move): Promise<void> {
  const [older] = await tx<{ id: string }[]>`
    select id from carillon.moves
    where direction = 'out' and begun_at <= ${begunAt} and (starts_with(prefix, ${prefix}) or starts_with(${prefix}, prefix))
    order by begun_at limit 1`;
  if (older === undefined) return;
  throw new Refusal(
    "conflict",
    `The move ${id} has brought back keys of the older move ${older.id}. Forget that one first.`,
  );
}
