import { spawnSync } from "node:child_process";
import { benchStack } from "./bench-stack.ts";
import { type Figures, machine, number, type Options, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";

export const does = "stores schedules quickly, for other benches to use with the same --data-dir";

export const options = { schedules: "30000000" };

/**
 * Settings for storing quickly. Nothing is durable until the end, so an interrupted store must be
 * started over.
 */
const hasty = {
  fsync: "off",
  full_page_writes: "off",
  wal_level: "minimal",
  max_wal_senders: "0",
  autovacuum: "off",
  max_wal_size: "4GB",
  maintenance_work_mem: "1GB",
};

export async function bench(options: Options, say: Say): Promise<Figures> {
  const dataDir = options["data-dir"];
  if (dataDir === undefined) throw new Error("store needs --data-dir: the folder for the schedules.");
  const schedules = number(options, "schedules");
  say(machine());
  await using stack = await benchStack(dataDir, 2, hasty);
  const startedAt = performance.now();
  await seedSchedules(stack.sql, schedules, say);
  await stack.sql`checkpoint`;
  // Data that was not synced while it was stored must be on disk before another server uses it.
  const synced = spawnSync("sync", ["-f", dataDir], { stdio: "ignore" }).status === 0;
  if (!synced) say("sync -f is missing here: wait until the operating system has written its cache.");
  const minutes = Number(((performance.now() - startedAt) / 60_000).toFixed(1));
  const tables = await stack.sql<{ name: string; heap: string; indexes: string }[]>`
    select relname as name, pg_size_pretty(pg_table_size(c.oid)) as heap, pg_size_pretty(pg_indexes_size(c.oid)) as indexes
    from pg_class c where c.oid = any(array['carillon.schedules', 'carillon.schedule_versions', 'carillon.plan_far']::regclass[])`;
  const [size] = await stack.sql<{ gib: number }[]>`
    select round(pg_database_size(current_database()) / 2.0 ^ 30, 1)::float8 as gib`;
  for (const { name, heap, indexes } of tables) say(`${name}: ${heap}, its indexes ${indexes}`);
  say(`${schedules.toLocaleString("en")} schedules in ${minutes} minutes, ${size?.gib} GiB`);
  return { schedules, minutes, gib: size?.gib, tables, machine: machine() };
}
