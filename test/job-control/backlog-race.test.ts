import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { sqlState } from "../../lib/db/sql-state.ts";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { admitBacklog } from "../../lib/tick/housekeeping/admit-backlog.ts";
import { killOne } from "../race/actors.ts";
import { type Dice, diceOf, seeded } from "../race/seeded.ts";
import { carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { seedOfRun } from "../support/seed.ts";

const name = "backlog-race";

const volume = { killed: 60, fired: 6 };

/** State that all actors share. */
interface Race {
  over: boolean;
  /** Number of completed acts of all actors. */
  steps: number;
}

/** Repeats the act until the race is over. An error from a killed connection is no failure. */
async function repeat(race: Race, act: () => Promise<unknown>): Promise<void> {
  while (!race.over) {
    try {
      await act();
      race.steps += 1;
    } catch (error) {
      if (!(error instanceof ConnectionLost) && sqlState(error) !== "shutdown") throw error;
    }
  }
}

/**
 * Kills connections at random moments, but only after the actors have completed a few steps, so
 * that they progress on a slow machine too.
 */
async function killing(
  race: Race,
  dice: Dice,
  kill: () => Promise<boolean>,
  isEnough: (killed: number) => boolean,
) {
  for (let killed = 0; !isEnough(killed); ) {
    const from = race.steps + dice.between(1, 4);
    while (race.steps < from && !race.over) await pause(1);
    if (race.over) return;
    await pause(dice.between(0, 15));
    if (await kill()) killed += 1;
  }
}

/**
 * Three ticks admit, three callers backfill overlapping ranges and one fires, while connections are
 * killed at random moments. A call that lost its connection may or may not be committed, so at the
 * end one more backfill covers the whole range: then each occurrence has run once, and no
 * acknowledged job is missing.
 */
test("each backfilled occurrence and each acknowledged fire runs once, whichever connections are killed", async () => {
  const world = await carillon();
  try {
    await world.put("minutes", { when: "every 1m" });
    await world.clock.advance(10 * hour);
    await world.tick();
    await world.clock.run(50);
    const race: Race = { over: false, steps: 0 };
    let round = 0;
    const fired: string[] = [];
    const caller = { name: "ann" };
    const connections: Sql[] = [];
    const own = () => {
      const sql = connect({ DATABASE_URL: world.databaseUrl }, { applicationName: name });
      connections.push(sql);
      return sql;
    };
    const actors = [1, 2, 3].flatMap(() => {
      const [ticking, calling] = [own(), own()];
      return [
        repeat(race, async () => {
          const parcels = await admitBacklog({ sql: ticking, log: world.log }, { budget: 120, perTurn: 9 });
          await handOver(world.sql, world.queue, parcels);
        }),
        repeat(race, () => {
          const from = at(((round++ * 37) % 500) * minute);
          const to = new Date(from.getTime() + 90 * minute);
          return backfillSchedule(
            { sql: calling, queue: world.queue },
            { key: "minutes", from, to, limit: 60, caller },
          );
        }),
      ];
    });
    const firing = own();
    const fires = repeat(race, async () => {
      fired.push((await fireNow({ sql: firing, queue: world.queue }, { key: "minutes", caller })).id);
    });
    const acting = Promise.all([...actors, fires]).finally(() => {
      race.over = true;
    });
    const dice = diceOf(seeded(seedOfRun));
    const kill = () => killOne(world.sql, name, dice);
    const isEnough = (killed: number) => killed >= volume.killed && fired.length >= volume.fired;
    await killing(race, dice, kill, isEnough);
    race.over = true;
    await acting;
    await Promise.all(connections.map((sql) => sql.end()));

    await world.clock.run(0);
    await world.tick();
    const end = { key: "minutes", from: at(0), to: at(10 * hour), limit: 10_000, caller };
    await backfillSchedule({ sql: world.sql, queue: world.queue }, end);
    // Limited by rounds and not by time, since the time of a round depends on the machine.
    let isLeft = true;
    for (let round = 0; isLeft && round < 100; round++) {
      await world.clock.advance(minute);
      await world.tick();
      await handOver(world.sql, world.queue, await admitBacklog(world, { budget: 6_000, perTurn: 100 }));
      await world.work();
      const [left] = await world.sql<{ any: boolean }[]>`
        select exists (select from carillon.backlog) or exists (
          select from carillon.jobs where state = 'waiting' and due_at < carillon.clock()) as any`;
      isLeft = left?.any !== false;
    }
    expect(isLeft).toBe(false);
    const ran = await world.sql<{ occurrence: Date; runs: number }[]>`
      select occurrence, count(*)::int as runs from carillon.jobs
      where kind in ('cadence', 'backfill') and state = 'succeeded' and occurrence <= ${at(10 * hour)} group by 1 order by 1`;
    expect(ran).toEqual(
      Array.from({ length: 600 }, (_, index) => ({ occurrence: at((index + 1) * minute), runs: 1 })),
    );
    const [manual] = await world.sql<{ jobs: number; done: number; answered: number }[]>`
      select count(*)::int as jobs, count(*) filter (where state = 'succeeded')::int as done,
        count(*) filter (where schedule_id || '-' || (extract(epoch from occurrence) * 1000)::bigint || '-m' || n = any(${fired}::text[]))::int as answered
      from carillon.jobs where kind = 'manual'`;
    expect(manual).toEqual({ jobs: manual?.jobs, done: manual?.jobs, answered: fired.length });
    const beside = await world.sql`
      select from carillon.jobs j where kind <> 'cadence' and not exists (
        select from carillon.jobs_beside b
        where (b.schedule_id, b.occurrence, b.kind, b.n) = (j.schedule_id, j.occurrence, j.kind, j.n))`;
    expect(beside).toHaveLength(0);
  } finally {
    await world.stop();
  }
}, 120_000);
