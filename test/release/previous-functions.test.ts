import { execFile, spawnSync } from "node:child_process";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { previousRelease } from "../../lib/tools/migration/previous-release.ts";

const repository = fileURLToPath(new URL("../../", import.meta.url));
const taken = ["lib", "functions", "test", "package.json", "vitest.config.ts", "tsconfig.json"];
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

const { status } = spawnSync("git", ["cat-file", "-e", `${previousRelease.commit}^{commit}`], {
  cwd: repository,
});
const hasHistory = status === 0;

let previous: string;
beforeAll(async () => {
  previous = await mkdtemp(join(tmpdir(), "carillon-previous-"));
  if (!hasHistory) return;
  const archive = join(previous, "release.tar");
  await run("git", ["archive", "--output", archive, previousRelease.commit, ...taken], repository);
  await run("tar", ["-xf", archive], previous);
  await cp(join(repository, "migrations"), join(previous, "migrations"), { recursive: true });
  await symlink(join(repository, "node_modules"), join(previous, "node_modules"));
});
afterAll(() => rm(previous, { recursive: true, force: true }));

// An archive or a shallow clone has no history, and so lacks the code of the previous release.
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
    const breaking = join(previous, "migrations", `${number}-renames.sql`);
    await writeFile(breaking, "alter table carillon.jobs rename column state to condition;");
    try {
      await expect(runItsTests(["test/db/roles.test.ts"])).rejects.toThrow(/column .*state.* does not exist/);
    } finally {
      await rm(breaking);
    }
  });
});

function runItsTests(files: readonly string[]): Promise<void> {
  return run(process.execPath, [join("node_modules", "vitest", "vitest.mjs"), "run", ...files], previous);
}

/**
 * Runs a program. Its output goes into the error, which else would not say which of the many tests
 * of the previous release failed.
 */
function run(program: string, words: readonly string[], cwd: string): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST")));
  return new Promise((resolve, reject) => {
    execFile(program, [...words], { cwd, env, maxBuffer: 2 ** 26 }, (error, out, faults) => {
      if (error === null) resolve();
      else reject(new Error(`${program} ${words.join(" ")} failed:\n${out}\n${faults}`, { cause: error }));
    });
  });
}
