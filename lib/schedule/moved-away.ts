import type { Tx } from "../db/connect.ts";
import { Refusal } from "../refusal.ts";

/** Where a key is, if it has moved to another installation. */
interface Away {
  id: string;
  peer: string;
  at: Date;
}

/**
 * Refuses to make a schedule whose key is in another installation, or whose prefix is. `movedOut` are
 * the prefixes of all moves out: nearly always there is none, and no statement is needed.
 */
export async function refuseMovedAway(tx: Tx, movedOut: readonly string[], key: string): Promise<void> {
  if (!movedOut.some((prefix) => key.startsWith(prefix))) return;
  const away = await findAway(tx, key);
  if (away !== null) throw new Refusal("conflict", awayText(key, away));
}

/** The refusal for a schedule that does not exist here. */
export async function missingSchedule(tx: Tx, key: string): Promise<Refusal> {
  const away = await findAway(tx, key);
  return new Refusal("missing", away === null ? `There is no schedule ${key}.` : awayText(key, away));
}

/** The last move of a prefix of the key that has come to an end, or has taken the key, decides. */
async function findAway(tx: Tx, key: string): Promise<Away | null> {
  const [last] = await tx<(Away & { direction: string; closedAt: Date | null; movedAt: Date | null })[]>`
    select m.id, m.peer, m.direction, m.closed_at as "closedAt", s.taken_at as "movedAt", coalesce(s.taken_at, m.closed_at) as at
    from carillon.moves m
    left join carillon.moved_schedules s on s.move_id = m.id and s.key = ${key} and s.part = 0
    where starts_with(${key}, m.prefix) and (m.direction = 'out' or m.ended_at is not null)
    order by m.begun_at desc limit 1`;
  if (last === undefined || last.direction === "in") return null;
  return last.closedAt === null && last.movedAt === null ? null : last;
}

function awayText(key: string, { id, peer, at }: Away): string {
  return `The schedule ${key} is at ${peer} since ${at.toISOString()} (move ${id}). Send the request there.`;
}
