import type { Tx } from "../db/connect.ts";
import { Refusal } from "../refusal.ts";

/** Where a key is, if it has moved to another installation. */
interface Away {
  id: string;
  peer: string;
  at: Date;
  /** Set if the move has closed this prefix and never had the key. */
  closed: string | null;
}

/**
 * Refuses to make a schedule whose key is in another installation, or whose prefix is. `movedOut` are
 * the prefixes of all moves out: nearly always there is none, and no statement is needed.
 */
export async function refuseMovedAway(tx: Tx, movedOut: readonly string[], key: string): Promise<void> {
  if (!movedOut.some((prefix) => key.startsWith(prefix))) return;
  const away = await findAway(tx, key);
  if (away !== null)
    throw new Refusal(
      "conflict",
      away.closed === null ? awayText(key, away) : closedText(key, away, away.closed),
      [],
      away.peer,
    );
}

/**
 * Refuses to put a schedule into a group whose serial jobs run in another installation: they would
 * run in both at once.
 */
export async function refuseMovedGroup(
  tx: Tx,
  movedOut: readonly string[],
  { key, group }: { key: string; group: string | null },
): Promise<void> {
  if (group === null || !movedOut.some((prefix) => key.startsWith(prefix))) return;
  const [away] = await tx<{ id: string; peer: string }[]>`
    select m.id, m.peer from carillon.moved_schedules s join carillon.moves m on m.id = s.move_id
    where s.lane_group = ${group} and s.lane_group is not null limit 1`;
  if (away !== undefined)
    throw new Refusal(
      "conflict",
      `The serial group ${group} is at ${away.peer} (move ${away.id}).`,
      [{ path: "group", message: "has moved to another installation: make the schedule there" }],
      away.peer,
    );
}

/** The refusal for a schedule that does not exist here. */
export async function missingSchedule(tx: Tx, key: string): Promise<Refusal> {
  return (await awayRefusal(tx, key)) ?? new Refusal("missing", `There is no schedule ${key}.`);
}

/** The refusal for a schedule that has moved away; null if it has not. */
export async function awayRefusal(tx: Tx, key: string): Promise<Refusal | null> {
  const away = await findAway(tx, key);
  if (away === null) return null;
  const { closed, peer } = away;
  const text =
    closed === null ? awayText(key, away) : `There is no schedule ${key}. ${closedText(key, away, closed)}`;
  return new Refusal("missing", text, [], peer);
}

/**
 * A move that has taken the key decides before one that has only closed a prefix of it: moves of
 * longer and shorter prefixes may go to different installations. A move out does not count once its
 * keys have moved back here. While they do, its prefix is open for keys that it never had.
 */
async function findAway(tx: Tx, key: string): Promise<Away | null> {
  const [last] = await tx<Away[]>`
    select m.id, m.peer, coalesce(s.taken_at, m.closed_at) as at, case when s.taken_at is null then m.prefix end as closed
    from carillon.moves m
    left join carillon.moved_schedules s on s.move_id = m.id and s.key = ${key} and s.part = 0
    where m.direction = 'out' and starts_with(${key}, m.prefix) and coalesce(s.taken_at, m.closed_at) is not null
      and not exists (
        select from carillon.moves b
        where b.direction = 'in' and starts_with(${key}, b.prefix) and b.begun_at >= m.begun_at
          and (b.ended_at is not null or (m.ended_at is not null and s.taken_at is null)))
    order by s.taken_at desc nulls last, m.begun_at desc limit 1`;
  return last ?? null;
}

function awayText(key: string, { id, peer, at }: Away): string {
  return `The schedule ${key} is at ${peer} since ${at.toISOString()} (move ${id}). Send the request there.`;
}

function closedText(key: string, { id, peer, at }: Away, prefix: string): string {
  return `The schedules of ${JSON.stringify(prefix)} have moved to ${peer} since ${at.toISOString()} (move ${id}). Make ${key} there.`;
}
