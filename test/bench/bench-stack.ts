import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { migrate } from "../../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { ParcelQueue } from "../../lib/parcel/parcel-queue.ts";
import { parcelQueueFrom } from "../../lib/parcel/parcel-queue-from.ts";
import { clusterFiles } from "../../lib/tools/local/postgres/cluster.ts";
import { serverState } from "../../lib/tools/local/postgres/leftover.ts";
import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { machine } from "./report.ts";
import { restless } from "./restless.ts";

/**
 * Durable, as in production: every commit waits for its WAL on disk, and pages are written whole
 * after a checkpoint. Shared buffers are a quarter of 24 GiB, as on RDS. As there, the server uses
 * huge pages where the system has reserved some.
 */
const durable = {
  shared_buffers: "6GB",
  max_wal_size: "16GB",
  checkpoint_timeout: "30min",
  wal_buffers: "64MB",
  maintenance_work_mem: "512MB",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
};

export interface BenchStack extends AsyncDisposable {
  sql: Sql;
  queue: ParcelQueue;
  settings: string;
  /** The version of Postgres, its build, and its settings. */
  server: string;
  /** The server's log file, for `hotPlan`. */
  serverLog: string;
  /** The postmaster's process id, for `cpuSplit`. */
  postgresPid: number;
  /** The environment of the stack's functions. */
  env: Readonly<Record<string, string>>;
  walBytes(): Promise<number>;
}

/** Starts a Postgres and an SQS emulator for this bench alone; `others` overrides settings. */
export async function benchStack(
  dataDir: string | undefined,
  connections: number,
  others: Readonly<Record<string, string>> = {},
): Promise<BenchStack> {
  const settings = { ...durable, ...others };
  const directory = dataDir ?? (await mkdtemp(path.join(tmpdir(), "carillon-bench-")));
  const postgresDir = path.join(directory, "postgres");
  // npm's build is optimised for size; those of distributions and of RDS for speed.
  const programs = process.env["BENCH_POSTGRES"];
  const postgres = await startPostgres({ dataDir: postgresDir, settings, programs });
  const running = serverState(clusterFiles(postgresDir).clusterDir);
  if (running === undefined) throw new Error(`No Postgres runs in ${postgresDir}.`);
  const queues = await startQueues({
    dataDir: path.join(directory, "queues"),
    port: 0,
    queues: [
      { name: "bench-fast", attributes: {} },
      { name: "bench-slow", attributes: {} },
    ],
  });
  const sql = connect({ DATABASE_URL: postgres.url }, { max: connections });
  await migrate(sql, await readMigrations(migrationsDirectory), silentLog);
  const env = {
    AWS_REGION: "us-east-1",
    AWS_ENDPOINT_URL_SQS: queues.url,
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    DATABASE_URL: postgres.url,
    // To compare with a pooler, which keeps no plans.
    DATABASE_PREPARE: process.env["DATABASE_PREPARE"] ?? "on",
    CARILLON_LOG: "silent",
    FAST_QUEUE_URL: queues.queueUrl("bench-fast"),
    SLOW_QUEUE_URL: queues.queueUrl("bench-slow"),
  };
  const queue = { ...parcelQueueFrom(env, silentLog), timing: restless };
  const server = await serverOf(sql);
  return {
    sql,
    queue,
    env,
    serverLog: clusterFiles(postgresDir).logFile,
    postgresPid: running.pid,
    server,
    settings: Object.entries(settings)
      .map(([name, value]) => `${name}=${value}`)
      .join(" "),
    walBytes: async () => {
      const [row] = await sql<
        { bytes: string }[]
      >`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as bytes`;
      return Number(row?.bytes);
    },
    [Symbol.asyncDispose]: async () => {
      queue.sqs.destroy();
      await sql.end();
      await queues.stop();
      await postgres.stop();
      if (dataDir === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The conditions that every bench prints with its figures. */
export function measuredOn({ settings, server }: BenchStack) {
  return { machine: machine(), settings, server };
}

async function serverOf(sql: Sql): Promise<string> {
  const [row] = await sql<{ version: string; built: string | null; huge: string }[]>`
    select current_setting('server_version') as version, current_setting('huge_pages_status') as huge,
      (select substring(setting from '.*(-O\\S+)') from pg_config where name = 'CFLAGS') as built`;
  if (row === undefined) throw new Error("The server returned no version.");
  const { version, built, huge } = row;
  return `Postgres ${version.split(" ")[0]}, built with ${built ?? "no -O"}, ${huge === "on" ? "with" : "without"} huge pages`;
}
