import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { connect } from "../../lib/db/connect.ts";
import { migrate, migrationsDirectory, readMigrations } from "../../lib/db/migrate.ts";
import { startPostgres } from "../../lib/local/postgres/start-postgres.ts";
import { silentLog } from "../../lib/log/log.ts";
import { templateName } from "./database.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

/** One server for the whole run. Nothing in it outlives the run, so it never waits for a disk. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "carillon-test-"));
  const server = await startPostgres({
    dataDir,
    settings: {
      fsync: "off",
      synchronous_commit: "off",
      full_page_writes: "off",
      shared_buffers: "64MB",
      max_connections: "300",
    },
  });
  const teardown = async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await makeTemplate(server.url);
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide("postgresUrl", server.url);
  return teardown;
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const server = connect({ DATABASE_URL: serverUrl });
  await server`create database ${server(templateName)}`;
  await server.end();
  const url = new URL(serverUrl);
  url.pathname = `/${templateName}`;
  const sql = connect({ DATABASE_URL: url.href });
  await migrate(sql, await readMigrations(migrationsDirectory), silentLog);
  await sql.end();
}
