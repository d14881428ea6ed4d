import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { migrate } from "../../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { silentLog } from "../../lib/log/log.ts";
import { ensureSealingKey } from "../../lib/sealing/first-key.ts";
import { recordRuntime } from "../../lib/tick/housekeeping/replan-zones.ts";
import { tickDefaults } from "../../lib/tick/tick.ts";
import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { templates } from "./database.ts";
import { monday } from "./instants.ts";
import { testVault } from "./test-vault.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
    postgresSocketUrl: string;
  }
}

const memoryDirectory = "/dev/shm";
const memoryNeeded = 4 * 2 ** 30;

/**
 * A directory in memory if it has enough space: a run clones thousands of databases, which takes a
 * tenth of the time there.
 */
async function quickDirectory(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(memoryDirectory);
    return bavail * bsize >= memoryNeeded ? memoryDirectory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/**
 * One server for the whole run. Its data does not outlive the run, so it never waits for a disk.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(path.join(await quickDirectory(), "carillon-test-"));
  const server = await startPostgres({
    dataDir,
    settings: {
      fsync: "off",
      synchronous_commit: "off",
      full_page_writes: "off",
      shared_buffers: "64MB",
      max_wal_size: "256MB",
      max_connections: "300",
      max_prepared_transactions: "10",
      // Autovacuum would analyze tables at moments of its own, and change plans and counts of rows
      // read. A test that needs statistics makes them.
      autovacuum: "off",
    },
  });
  const teardown = async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await makeTemplates(server.url);
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide("postgresUrl", server.url);
  project.provide("postgresSocketUrl", server.socketUrl);
  return teardown;
}

/**
 * Makes a migrated template, and another one whose clock stands still, so that a test need not make
 * either.
 */
async function makeTemplates(serverUrl: string): Promise<void> {
  const server = connect({ DATABASE_URL: serverUrl });
  const within = async (name: string, template: string, act: (sql: Sql) => Promise<unknown>) => {
    await server`create database ${server(name)} template ${server(template)}`;
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    const sql = connect({ DATABASE_URL: url.href });
    await act(sql);
    await sql.end();
  };
  const migrations = await readMigrations(migrationsDirectory);
  await within(templates.migrated, "template1", async (sql) => {
    await migrate(sql, migrations, silentLog);
    await ensureSealingKey(sql, testVault, "carillon");
  });
  await within(templates.still, templates.migrated, async (sql) => {
    await databaseClock(sql, monday);
    // The first tick of a database records the zone data. Done here, so that not every test's first
    // tick does it.
    const { zoneData } = tickDefaults;
    if (zoneData !== null) await recordRuntime({ sql, log: silentLog }, null, zoneData, () => false);
  });
  await server.end();
}
