import type { Sql } from "../../db/connect.ts";
import { isPassingFailure } from "../../db/passing-failure.ts";
import type { Log } from "../../log/log.ts";
import { OfNoRow } from "../../quarantine/in-halves.ts";
import { dropEntries } from "../../quarantine/quarantine.ts";
import { minutesKeptMs } from "../../stats/series-steps.ts";
import { addTo, nothingRolledUp, type RolledUp, rolledUp } from "../rolled-up.ts";
import { addSchedules, addTallies, addWork, beginAddition, rollUpApart } from "./roll-up-apart.ts";

const rowsMax = 20_000;

const minutesKept = `${minutesKeptMs} ms`;

/** The passed-over seconds of pulses are kept this long, for explanations. */
const passedKept = "30 days";

/** The state that the phases of one roll-up share. */
interface RollingUp {
  sql: Sql;
  log: Log;
  timeIsUp: () => boolean;
  note: (error: unknown) => void;
}

/**
 * Adds the small rows of settles, batches and edits to the minutes and counts, and deletes old
 * minutes. After a failure the rows are added in halves, and a row that fails alone is set aside.
 * Returns their sums, added to `before`.
 */
export async function rollUp(run: RollingUp, before: RolledUp = nothingRolledUp): Promise<RolledUp> {
  const { sql, timeIsUp, note } = run;
  const sum = { ...before };
  const tallies = await together(
    run,
    () => rollUpTallies(sql, timeIsUp, sum),
    async () => {
      await rollUpApart(run, "schedule_tallies", (rows) => addSchedules(sql, rows));
      await rollUpApart(run, "tallies", async (rows) => addTo(sum, await addTallies(sql, rows)));
    },
  );
  const work = await together(
    run,
    () => rollUpWork(sql, timeIsUp),
    () => rollUpApart(run, "target_work", (rows) => addWork(sql, rows)),
  );
  await forgetMinutes(sql, tallies && work).catch(note);
  return sum;
}

/**
 * Returns whether everything was added at once. A temporary failure is no row's fault: the next
 * minute adds the rest.
 */
async function together(
  { note }: RollingUp,
  all: () => Promise<void>,
  apart: () => Promise<void>,
): Promise<boolean> {
  try {
    await all();
    return true;
  } catch (error) {
    if (isPassingFailure(error)) note(error);
    else
      await apart().catch((apartError) =>
        note(apartError instanceof OfNoRow ? apartError.cause : apartError),
      );
    return false;
  }
}

async function rollUpTallies(sql: Sql, timeIsUp: () => boolean, sum: RolledUp): Promise<void> {
  for (let taken = rowsMax; taken === rowsMax && !timeIsUp(); ) {
    const [row] = await beginAddition(
      sql,
      (tx) => tx<(RolledUp & { taken: number })[]>`
        select taken, ${rolledUp(tx)} from carillon.roll_up(${rowsMax})`,
    );
    taken = row?.taken ?? 0;
    if (row !== undefined) addTo(sum, row);
  }
}

/** Adds the measured cost of jobs per target, which later parcel sizes follow. */
async function rollUpWork(sql: Sql, timeIsUp: () => boolean): Promise<void> {
  for (let taken = rowsMax; taken === rowsMax && !timeIsUp(); ) {
    const [row] = await beginAddition(
      sql,
      (tx) => tx<{ taken: number }[]>`select carillon.roll_up_work(${rowsMax}) as taken`,
    );
    taken = row?.taken ?? 0;
  }
}

/**
 * Deletes old minutes. If all small rows were added, it deletes their quarantine entries too, since
 * none of these rows is left. Each condition has a lower and an upper bound: with both, the planner
 * estimates few rows and uses the index; with one, it estimates a third of the table.
 */
async function forgetMinutes(sql: Sql, allAdded: boolean): Promise<void> {
  const before = (kept: string) => sql`between '-infinity' and (select carillon.clock()) - ${kept}::interval`;
  await beginAddition(
    sql,
    (tx) => tx`
      with added as (${dropEntries(tx, tx`q.consumer = 'tally' and ${allAdded}`)}),
      old as (delete from carillon.minutes where minute ${before(minutesKept)}),
      old_passed as (delete from carillon.pulses_passed where noted_at ${before(passedKept)}),
      old_pulses as (delete from carillon.minute_pulse_lateness where minute ${before(minutesKept)})
      delete from carillon.minute_lateness where minute ${before(minutesKept)}`,
  );
}
