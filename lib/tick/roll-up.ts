import type { Sql } from "../db/connect.ts";

/** What has happened, as the rows that a tick rolled up tell it. */
export interface RolledUp {
  fired: number;
  skipped: number;
  missed: number;
  cancelled: number;
  /** Pulses that were given up. */
  pulsesLost: number;
  /** Seconds of a shard whose pulses were passed over, and that nobody has counted. */
  pulseSecondsPassed: number;
}

const rowsMax = 20_000;

/** What is shown of the last hour and day is read from minutes; older ones have no reader. */
const minutesKept = "2 days";

/** Which seconds of pulses were passed over, for whoever asks why one did not come. */
const passedKept = "30 days";

const nothing: RolledUp = {
  fired: 0,
  skipped: 0,
  missed: 0,
  cancelled: 0,
  pulsesLost: 0,
  pulseSecondsPassed: 0,
};

/**
 * Adds the small rows of each settle, batch and edit to the minutes and counts that are read, and lets go of old minutes. Returns what
 * they told, with what this tick has been told `before`.
 */
export async function rollUp(
  sql: Sql,
  timeIsUp: () => boolean,
  before: RolledUp = nothing,
): Promise<RolledUp> {
  const sum = { ...before };
  for (let taken = rowsMax; taken === rowsMax && !timeIsUp(); ) {
    const [row] = await sql<{ [Name in keyof RolledUp | "taken"]: number }[]>`
      select taken, fired::float8, skipped::float8, missed::float8, cancelled::float8, pulses_lost::float8 as "pulsesLost",
        pulse_seconds_passed::float8 as "pulseSecondsPassed"
      from carillon.roll_up(${rowsMax})`;
    taken = row?.taken ?? 0;
    sum.fired += row?.fired ?? 0;
    sum.skipped += row?.skipped ?? 0;
    sum.missed += row?.missed ?? 0;
    sum.cancelled += row?.cancelled ?? 0;
    sum.pulsesLost += row?.pulsesLost ?? 0;
    sum.pulseSecondsPassed += row?.pulseSecondsPassed ?? 0;
  }
  await rollUpWork(sql, timeIsUp);
  await forgetMinutes(sql);
  return sum;
}

/** What jobs have cost their targets: what is packed from now on follows it. */
async function rollUpWork(sql: Sql, timeIsUp: () => boolean): Promise<void> {
  for (let taken = rowsMax; taken === rowsMax && !timeIsUp(); ) {
    const [row] = await sql<{ taken: number }[]>`select carillon.roll_up_work(${rowsMax}) as taken`;
    taken = row?.taken ?? 0;
  }
}

/** Between two bounds the planner takes a few for what it cannot know yet, and reads them by their index; below one, a third of the table. */
async function forgetMinutes(sql: Sql): Promise<void> {
  const before = (kept: string) => sql`between '-infinity' and (select carillon.clock()) - ${kept}::interval`;
  await sql`
    with old as (delete from carillon.minutes where minute ${before(minutesKept)}),
    old_passed as (delete from carillon.pulses_passed where noted_at ${before(passedKept)}),
    old_pulses as (delete from carillon.minute_pulse_lateness where minute ${before(minutesKept)})
    delete from carillon.minute_lateness where minute ${before(minutesKept)}`;
}
