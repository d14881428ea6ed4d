import type { Sql } from "../db/connect.ts";
import type { ClaimedPulses } from "../parcel/claim.ts";
import { type Settled, type SettleRow, settledOf } from "../parcel/settle.ts";

/** The most teams that get a parcel each. The others share one, which is divided later. */
const teamsMax = 31;

export interface Divided extends Settled {
  /** The only team with pulses: the parcel is not divided, and the worker goes on with it. */
  team: number | null;
}

/**
 * Divides a claimed parcel whose pulses need more than one page by teams, so that no team waits for
 * the pages of another. Before any pulse is sent: a place in the pulses is one of a single team.
 */
export async function dividePulses(
  sql: Sql,
  { id, fence }: Pick<ClaimedPulses, "id" | "fence">,
): Promise<Divided> {
  const rows = await sql<(SettleRow & { team: number | null })[]>`
    select held as settled, team, id, queue, 0::float8 as "waitMs" from carillon.divide_pulses(${id}, ${fence}, ${teamsMax})`;
  return { ...settledOf(rows), team: rows[0]?.team ?? null };
}
