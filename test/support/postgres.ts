import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../lib/local/postgres/start-postgres.ts";
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
  await makeTemplate(server.url);
  project.provide("postgresUrl", server.url);
  return async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}

async function makeTemplate(url: string): Promise<void> {
  const sql = postgres(url, { max: 1 });
  await sql`create database ${sql(templateName)}`;
  await sql.end();
}
