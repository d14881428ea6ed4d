import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { sqlState } from "../../lib/db/sql-state.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { backfillSchedule } from "../../lib/plan/backfill.ts";
import { fireNow } from "../../lib/plan/fire-now.ts";
import { admitBacklog } from "../../lib/tick/admit-backlog.ts";
import { carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { until } from "../support/until.ts";

const name = "backlog-race";

/** Acts again and again until told; what a killed connection looks like is no failure. */
async function repeat(isOver: () => boolean, act: () => Promise<unknown>): Promise<void> {
  while (!isOver()) {
    await act().catch((error: unknown) => {
      if (!(error instanceof ConnectionLost) && sqlState(error) !== "shutdown") throw error;
    });
  }
}

/**
 * Three ticks admit, three callers backfill overlapping times and one fires, while connections are killed at any moment. Nobody
 * can say which of the backfills were committed, so at the end one more asks for all of the time: then each occurrence has run
 * once, and nothing that was acknowledged is missing.
 */
test("whatever is killed, each occurrence that is backfilled runs once, and so does each fire that was answered", async () => {
  const world = await carillon();
  try {
    await world.put("minutes", { when: "every 1m" });
    await world.clock.advance(10 * hour);
    await world.tick();
    await world.clock.run(50);
    let over = false;
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
        repeat(
          () => over,
          async () => {
            const parcels = await admitBacklog(ticking, { budget: 120, perTurn: 9 });
            await handOver(world.sql, world.queue, parcels);
          },
        ),
        repeat(
          () => over,
          () => {
            const from = at(((round++ * 37) % 500) * minute);
            const to = new Date(from.getTime() + 90 * minute);
            return backfillSchedule(
              { sql: calling, queue: world.queue },
              { key: "minutes", from, to, limit: 60, caller },
            );
          },
        ),
      ];
    });
    const firing = own();
    const fires = repeat(
      () => over,
      async () => {
        fired.push((await fireNow({ sql: firing, queue: world.queue }, { key: "minutes", caller })).id);
      },
    );
    let killed = 0;
    // On a slow machine it takes more of them until enough fires have been answered.
    for (let kill = 0; kill < 60 || (fired.length <= 5 && kill < 600); kill++) {
      await pause(25);
      const victims = await world.sql`
        select pg_terminate_backend(pid) from (
          select pid from pg_stat_activity where application_name = ${name} and datname = current_database() order by random() limit 2) v`;
      killed += victims.length;
    }
    over = true;
    await Promise.all([...actors, fires]);
    await Promise.all(connections.map((sql) => sql.end()));
    expect(killed).toBeGreaterThan(60);
    expect(fired.length).toBeGreaterThan(5);

    await world.clock.run(0);
    await world.tick();
    const end = { key: "minutes", from: at(0), to: at(10 * hour), limit: 10_000, caller };
    await backfillSchedule({ sql: world.sql, queue: world.queue }, end);
    await until("nothing is owed and nothing waits", async () => {
      await world.clock.advance(minute);
      await world.tick();
      await handOver(world.sql, world.queue, await admitBacklog(world.sql, { budget: 6_000, perTurn: 100 }));
      await world.work();
      const [left] = await world.sql<{ any: boolean }[]>`
        select exists (select from carillon.backlog) or exists (
          select from carillon.jobs where state = 'waiting' and due_at < carillon.clock()) as any`;
      return left?.any === false;
    });
    const ran = await world.sql<{ occurrence: Date; runs: number }[]>`
      select occurrence, count(*)::int as runs from carillon.jobs
      where kind in ('cadence', 'backfill') and state = 'succeeded' and occurrence <= ${at(10 * hour)} group by 1 order by 1`;
    expect(ran).toEqual(
      Array.from({ length: 600 }, (_, index) => ({ occurrence: at((index + 1) * minute), runs: 1 })),
    );
    const [manual] = await world.sql<{ jobs: number; done: number; told: number }[]>`
      select count(*)::int as jobs, count(*) filter (where state = 'succeeded')::int as done,
        count(*) filter (where schedule_id || '-' || (extract(epoch from occurrence) * 1000)::bigint || '-m' || n = any(${fired}::text[]))::int as told
      from carillon.jobs where kind = 'manual'`;
    expect(manual).toEqual({ jobs: manual?.jobs, done: manual?.jobs, told: fired.length });
    const beside = await world.sql`
      select from carillon.jobs j where kind <> 'cadence' and not exists (
        select from carillon.jobs_beside b
        where (b.schedule_id, b.occurrence, b.kind, b.n) = (j.schedule_id, j.occurrence, j.kind, j.n))`;
    expect(beside).toHaveLength(0);
  } finally {
    await world.stop();
  }
}, 60_000);
