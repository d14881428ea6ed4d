import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { migrate } from "../../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { silentLog } from "../../lib/log/log.ts";
import { clusterFiles } from "../../lib/tools/local/postgres/cluster.ts";
import { serverState } from "../../lib/tools/local/postgres/leftover.ts";
import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { monday } from "../support/instants.ts";

export interface CrashedCluster {
  /** A connection to the present server. */
  sql: Sql;
  clock: Awaited<ReturnType<typeof databaseClock>>;
  /** From here on only flushes that a statement waits for reach the disk. */
  holdWriter(): Promise<void>;
  /** Shuts the server down at once, as `pg_ctl stop -m immediate` does, and starts it. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** The background writer is off: it flushes pages, and the log before them. */
const settings = {
  fsync: "off",
  shared_buffers: "16MB",
  bgwriter_lru_maxpages: "0",
  autovacuum: "off",
  wal_writer_delay: "10s",
};

/**
 * A separate, migrated cluster with a stopped clock, so that losses by a crash affect no other
 * test.
 */
export async function crashedCluster(): Promise<CrashedCluster> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "carillon-crashed-"));
  let server = await startPostgres({ dataDir, settings });
  let writer: number | undefined;
  const open = () => connect({ DATABASE_URL: server.url }, { max: 2 });
  const sql = open();
  await migrate(sql, await readMigrations(migrationsDirectory), silentLog);
  const cluster: CrashedCluster = {
    sql,
    clock: await databaseClock(sql, monday),
    holdWriter: async () => {
      const [found] = await cluster.sql<{ pid: number }[]>`
        select pid from pg_stat_activity where backend_type = 'walwriter'`;
      if (found === undefined) throw new Error("The server has no writer of its log.");
      writer = found.pid;
      process.kill(writer, "SIGSTOP");
    },
    crash: async () => {
      const pid = serverState(clusterFiles(dataDir).clusterDir)?.pid;
      if (pid === undefined) throw new Error("The server does not run.");
      process.kill(pid, "SIGQUIT");
      if (writer !== undefined) process.kill(writer, "SIGKILL");
      await server.exited;
      await cluster.sql.end();
      server = await startPostgres({ dataDir, settings });
      cluster.sql = open();
    },
    stop: async () => {
      await cluster.sql.end();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return cluster;
}
