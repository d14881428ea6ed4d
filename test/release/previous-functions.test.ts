import { cp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { hasHistory, type PreviousCode, previousCode, repository, run } from "./previous-code.ts";

/**
 * Tests of the previous release that together run all of its functions, each with its own login
 * where the test says so.
 */
const wholeWay = [
  "test/db/roles.test.ts",
  "test/functions/order-unshipped.test.ts",
  "test/api/schedules.test.ts",
  "test/api/jobs.test.ts",
  "test/api/batch.test.ts",
  "test/worker/worker.test.ts",
  "test/ingest/any-order.test.ts",
  "test/ingest/ingest.test.ts",
  "test/ingest/dead-commands.test.ts",
];

let previous: PreviousCode;
beforeAll(async () => {
  previous = await previousCode();
  await cp(join(repository, "migrations"), join(previous.directory, "migrations"), { recursive: true });
});
afterAll(() => previous.remove());

describe.runIf(hasHistory)("the previous release's code, on the tables of this one", () => {
  test("the previous release's code passes its tests of API, tick, workers and commands on the tables of this release", {
    timeout: 300_000,
  }, async () => {
    await runItsTests(wholeWay);
  });

  test("the previous release's code fails on tables that it does not know, so a break would be noticed", {
    timeout: 120_000,
  }, async () => {
    const present = await readMigrations(migrationsDirectory);
    const number = String(present.length + 1).padStart(4, "0");
    const breaking = join(previous.directory, "migrations", `${number}-renames.sql`);
    await writeFile(breaking, "alter table carillon.jobs rename column state to condition;");
    try {
      await expect(runItsTests(["test/db/roles.test.ts"])).rejects.toThrow(/column .*state.* does not exist/);
    } finally {
      await rm(breaking);
    }
  });
});

function runItsTests(files: readonly string[]): Promise<void> {
  return run(
    process.execPath,
    [join("node_modules", "vitest", "vitest.mjs"), "run", ...files],
    previous.directory,
  );
}
