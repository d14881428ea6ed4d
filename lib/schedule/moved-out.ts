import type { Tx } from "../db/connect.ts";
import { readTeamState } from "../quota/team-list.ts";
import { type HeadFilter, keysBehind } from "./filter-schedules.ts";

/** Schedules of a filter's prefix that have moved to one other installation. */
export interface MovedOut {
  /** The address of its API. */
  to: string;
  schedules: number;
  /** Counting stopped at its limit. */
  more: boolean;
}

/** Left out if no schedule of the prefix has moved away. */
export interface WithMovedOut {
  movedTo?: MovedOut[];
}

/** The most moved schedules of a prefix that are looked at. */
const lookedMax = 10_000;

/**
 * The schedules that a search by prefix misses because they are in other installations now. Nearly
 * always no prefix has moved out, and no statement looks for them. A schedule whose move back has ended
 * does not count, even if it has been deleted here since.
 */
export async function movedOutOf(
  tx: Tx,
  { prefix, keys }: Pick<HeadFilter, "prefix" | "keys">,
  most: number = lookedMax,
): Promise<WithMovedOut> {
  const range = keysBehind(undefined, prefix);
  if (prefix === undefined || keys !== undefined || range === null) return {};
  const { movedOut } = await readTeamState(tx);
  if (!movedOut.some((out) => out.startsWith(prefix) || prefix.startsWith(out))) return {};
  const rows = await tx<MovedOut[]>`
    with looked as materialized (
      select s.key, s.move_id, s.taken_at from carillon.moved_schedules s
      where s.part = 0 and s.key >= ${range.from} and s.key < ${range.to} order by s.key limit ${most + 1}),
    back as materialized (
      select b.prefix, b.begun_at from carillon.moves b where b.direction = 'in' and b.ended_at is not null),
    away as (
      select distinct on (l.key) l.key, m.peer
      from (select * from looked order by key limit ${most}) l join carillon.moves m on m.id = l.move_id
      where not exists (select from back b where starts_with(l.key, b.prefix) and b.begun_at >= m.begun_at)
        and not exists (select from carillon.schedules s where s.key = l.key and s.deleted_at is null)
      order by l.key, l.taken_at desc)
    select peer as "to", count(*)::int as schedules, (select count(*) from looked) > ${most} as more
    from away group by peer order by peer`;
  return rows.length === 0 ? {} : { movedTo: [...rows] };
}
