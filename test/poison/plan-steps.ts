import type { Carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";

export const unknownZone = "Mars/Olympus_Mons";

/**
 * Steps of tests in which a schedule cannot be planned. `world` is called at each step, because
 * each test makes its own.
 */
export function planSteps(world: () => Carillon) {
  return {
    /** Puts all schedules into one shard, so that their rows are worked together. */
    together: async () => {
      const { sql } = world();
      await sql`update carillon.schedules set shard = 3`;
      await sql`update carillon.plan set shard = 3`;
      await sql`update carillon.plan_far set shard = 3`;
    },
    inQuarantine: () => world().sql<{ key: string; reason: string; tries: number }[]>`
      select s.key, q.reason, q.tries from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id
      where q.consumer = 'plan' order by s.key`,
    /** The occurrences of its jobs, without skipped ones. */
    occurrencesOf: async (key: string) =>
      (await world().jobs(key))
        .filter(({ state }) => state !== "skipped")
        .map(({ occurrence }) => occurrence.toISOString()),
    zoneOf: (from: string, to: string) =>
      world().sql`update carillon.cadences set timezone = ${to} where timezone = ${from}`,
    /** Makes each write of a job of this schedule fail, until the trigger is dropped. */
    refuseJobsOf: async (key: string) => {
      const { sql } = world();
      const [refused] = await sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`;
      await sql.unsafe(`
        create function carillon.test_refuse() returns trigger language plpgsql as
          $$ begin if new.schedule_id = ${refused?.id} then raise exception 'a secret'; end if; return new; end $$;
        create trigger test_refuse before insert on carillon.jobs for each row execute function carillon.test_refuse()`);
    },
    /** Advances a minute and ticks, this many times. */
    ticks: async (count: number) => {
      for (let each = 0; each < count; each++) {
        await world().clock.advance(minute);
        await world().tick();
      }
    },
  };
}
