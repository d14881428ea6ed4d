import type { Tx } from "../db/connect.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";

/** Schedules that an open move out has taken or stopped a while ago, and not brought to their destination. */
export interface UnfinishedMove {
  prefix: string;
  peer: string;
  /** Schedules that have left, and have not arrived in full. */
  away: number;
  awaySince: Date | null;
  /** There are more parts on their way than are counted. */
  more: boolean;
  /** Schedules under the hold of the move, among the first of the prefix. */
  stopped: number;
  stoppedSince: Date | null;
}

/** One move runs at a time, so there are seldom two. */
const movesMax = 10;
/** Parts on their way, and schedules of a prefix, that are looked at. */
const lookedMax = 5_000;

/**
 * The open moves out of this installation with schedules that left or were stopped before an instant.
 * While `carillon move` runs, nearly all arrive within seconds.
 */
export function readUnfinishedMoves(tx: Tx, before: Date): PromiseLike<UnfinishedMove[]> {
  return tx<UnfinishedMove[]>`
    select m.prefix, m.peer, a.away, a.since as "awaySince", a.more, f.stopped, f.since as "stoppedSince"
    from (
      select id, prefix, peer from carillon.moves where direction = 'out' and ended_at is null order by begun_at limit ${movesMax}) m
    cross join lateral (
      select count(distinct schedule_id) filter (where taken_at <= ${before})::int as away, min(taken_at) as since, count(*) = ${lookedMax}::int as more
      from (
        select schedule_id, taken_at from carillon.moved_schedules
        where move_id = m.id and confirmed_at is null order by schedule_id, part limit ${lookedMax}::int) p) a
    cross join lateral (
      select count(*)::int as stopped, min(h.since) as since
      from (
        select id, held_since from carillon.schedules
        where deleted_at is null and key >= m.prefix and key < m.prefix || ${highestCharacter}::text order by key limit ${lookedMax}::int) s
      join carillon.holds h
        on h.schedule_id = s.id and h.scope = 'schedule' and h.name = '' and h.owner = 'move ' || m.id and h.since <= ${before}
      where s.held_since is not null) f
    where a.away + f.stopped > 0`;
}
