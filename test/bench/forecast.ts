import { readFile } from "node:fs/promises";
import type { Sql } from "../../lib/db/connect.ts";
import { shardCount } from "../../lib/plan/shard.ts";
import { readForecast } from "../../lib/stats/forecast.ts";
import { readStats } from "../../lib/stats/stats.ts";
import { benchStack, measuredOn } from "./bench-stack.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";

export const does = "the fires of the hour and the day to come, and the stats";

export const options = { schedules: "3000000", due: "500000", runs: "5" };

/**
 * Many schedules with many occurrences in the next hour → the forecast of that hour, and the stats.
 */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const schedules = number(options, "schedules");
  const due = number(options, "due");
  const runs = number(options, "runs");
  say(machine());
  await using stack = await benchStack(options["data-dir"], 4);
  const { sql } = stack;
  await seedSchedules(sql, schedules, say);
  await sql`delete from carillon.plan`;
  await sql`
    insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, cadence_id, shard)
    select at, at, id, case when i % 2 = 0 then 3600000 + i % 1000 * 60000 end, 1, case when i % 2 = 1 then c.ids[1 + i % 500] end, id % ${shardCount}::int
    from generate_series(1, ${due}::int) i cross join (select array_agg(id order by id) as ids from carillon.cadences) c
    cross join lateral (select 1 + (i::bigint * 2654435761) % ${schedules}::bigint as id,
      date_trunc('minute', carillon.clock()) + interval '4 minutes' + i % 55 * interval '1 minute' + case when i % 2 = 0 then i % 60 else 0 end * interval '1 second' as at) r`;
  await sql`vacuum (analyze) carillon.plan`;
  const timed = async (read: () => Promise<unknown>) => {
    const ms: number[] = [];
    const cpuMs: number[] = [];
    for (let run = 0; run < runs; run++) {
      const [startedAt, cpuAt] = [performance.now(), await databaseCpuMs(sql)];
      await read();
      ms.push(Math.round(performance.now() - startedAt));
      cpuMs.push((await databaseCpuMs(sql)) - cpuAt);
    }
    return { median: median(ms), most: Math.max(...ms), databaseCpu: median(cpuMs) };
  };
  const hour = await timed(() => readForecast(sql, { minutes: 60 }));
  const day = await timed(() => readForecast(sql, { minutes: 1_440 }));
  const byPrefix = await timed(() => readForecast(sql, { minutes: 60, by: "prefix" }));
  const from = new Date(Date.now() + aheadMs);
  const ahead = await timed(() => readForecast(sql, { minutes: 1_440, from, by: "prefix" }));
  const stats = await timed(() => readStats(sql));
  const { total } = await readForecast(sql, { minutes: 60 });
  say(
    `forecast of an hour with ${total} fires: ${hour.median} ms (${hour.databaseCpu} ms of CPU in the database); of a day: ${day.median} ms (${day.databaseCpu} ms); of an hour by prefix: ${byPrefix.median} ms (${byPrefix.databaseCpu} ms); of a day in twenty days, by prefix: ${ahead.median} ms (${ahead.databaseCpu} ms); stats: ${stats.median} ms (${stats.databaseCpu} ms)`,
  );
  return {
    schedules,
    due,
    total,
    hour,
    day,
    byPrefix,
    ahead,
    stats,
    ...measuredOn(stack),
  };
}

const aheadMs = 20 * 86_400_000;

const tickMs = 10;

/**
 * CPU time of this stack's connections so far: on a machine with other load, the elapsed time says
 * little.
 */
async function databaseCpuMs(sql: Sql): Promise<number> {
  const backends = await sql<
    { pid: number }[]
  >`select pid from pg_stat_activity where datname = current_database()`;
  let ticks = 0;
  for (const { pid } of backends) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    ticks += Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  }
  return ticks * tickMs;
}
