import type { Sql, Tx } from "../db/connect.ts";
import { type Move, openMove } from "./moves.ts";

/** Parts of schedules by the number of the schedule here, and of the part. */
export interface PartName {
  id: string;
  part: number;
}

/** The most bytes of documents in one answer, unless the first one is larger. */
const bytesMax = 2_000_000;

/** The documents that the other installation has not confirmed, in order. */
export async function unconfirmedParts(
  sql: Sql,
  { id, limit }: { id: string; limit: number },
): Promise<unknown[]> {
  const rows = await sql<{ doc: unknown }[]>`
    select doc from (
      select doc, n, sum(octet_length(doc::text)) over (order by n) as bytes from (
        select doc, row_number() over (order by schedule_id, part) as n from (
          select * from carillon.moved_schedules where move_id = ${id} and confirmed_at is null
          order by schedule_id, part limit ${limit}) p) numbered) summed
    where n = 1 or bytes <= ${bytesMax} order by n`;
  return rows.map(({ doc }) => doc);
}

/** Notes that the other installation has these parts. Their documents are deleted. */
export function confirmParts(
  sql: Sql,
  { id, parts }: { id: string; parts: readonly PartName[] },
): Promise<number> {
  return sql.begin(async (tx) => {
    await openMove(tx, id, "out");
    const rows = await tx`
      update carillon.moved_schedules m set doc = null, confirmed_at = carillon.clock()
      from unnest(${parts.map((each) => each.id)}::bigint[], ${parts.map(({ part }) => part)}::int[]) p (id, part)
      where m.move_id = ${id} and m.schedule_id = p.id and m.part = p.part and m.confirmed_at is null`;
    return rows.count;
  });
}

/** How far a move out has come. */
export interface MoveProgress {
  /** Schedules with the prefix that are still here. More than this many are not counted. */
  left: number;
  taken: number;
  unconfirmed: number;
}

export const leftCountedMax = 10_000;

export async function progressOf(tx: Tx, { id, prefix }: Move, end: string): Promise<MoveProgress> {
  const [row] = await tx<MoveProgress[]>`
    select
      (select count(*)::int from (
        select from carillon.schedules where deleted_at is null and key >= ${prefix} and key < ${end} limit ${leftCountedMax}) l) as left,
      (select count(*)::int from carillon.moved_schedules where move_id = ${id} and part = 0) as taken,
      (select count(*)::int from carillon.moved_schedules where move_id = ${id} and confirmed_at is null) as unconfirmed`;
  return row ?? { left: 0, taken: 0, unconfirmed: 0 };
}
