import type { Tx } from "../db/connect.ts";

/** How many schedules a move has brought here. */
export interface ArrivalProgress {
  arrived: number;
  /** Schedules that are not taken in any more: their source has them back. */
  refused: number;
}

export async function arrivalProgress(tx: Tx, id: string): Promise<ArrivalProgress> {
  const [row] = await tx<ArrivalProgress[]>`
    select count(schedule_id)::int as arrived, (count(*) - count(schedule_id))::int as refused
    from carillon.arrived_schedules where move_id = ${id} and part = 0`;
  return row ?? { arrived: 0, refused: 0 };
}
