import type { Sql } from "../../lib/db/connect.ts";
import type { CrashWorld } from "./world.ts";

const stepMs = 15_000;
const stepsOfMinute = 4;
const minutesMax = 30;

/**
 * An entry that no consumer has retried for this long belongs to a row that no longer exists, and
 * must expire.
 */
const untriedAfter = "2 minutes";
const forgottenAfterMs = 3_600_000;

type Healed = Pick<CrashWorld, "clock" | "tick" | "work">;

/**
 * Runs ordinary ticks and workers until all jobs due by now are settled and every mended row has
 * left the quarantine. Returns how many minutes that took, or null if it did not happen. Entries
 * that a death left behind expire after an hour.
 */
export async function heal(sql: Sql, world: Healed): Promise<number | null> {
  const until = world.clock.now();
  for (let step = 0; step < minutesMax * stepsOfMinute; step++) {
    if (step % stepsOfMinute === 0) await world.tick();
    await world.work();
    if (await isHealed(sql, until)) {
      await forget(sql, world);
      return step / stepsOfMinute;
    }
    await world.clock.advance(stepMs);
  }
  return null;
}

async function isHealed(sql: Sql, until: Date): Promise<boolean> {
  const [row] = await sql<{ healed: boolean }[]>`
    select not exists (
        select from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
        where j.state = 'waiting' and j.due_at <= ${until} and (s.held_since is null or s.held_until <= carillon.clock() or s.deleted_at is not null))
      and not exists (
        select from carillon.quarantine
        where consumer in ('plan', 'shared-hold') or next_at > carillon.clock() - ${untriedAfter}::interval) as healed`;
  return row?.healed === true;
}

async function forget(sql: Sql, world: Healed): Promise<void> {
  const [last] = await sql<{ at: Date | null }[]>`select max(next_at) as at from carillon.quarantine`;
  if (last?.at == null) return;
  await world.clock.setNow(new Date(last.at.getTime() + forgottenAfterMs + 1));
  await world.tick();
}
