import { availableParallelism } from "node:os";
import path from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The slowest test files, run first: a slow file that starts last would run alone at the end. */
const long = [
  "test/time/year.test.ts",
  "test/functions/migrate.test.ts",
  "test/crash/workers.test.ts",
  "test/crash/ticks.test.ts",
  "test/page/views.test.ts",
  "test/release/previous-functions.test.ts",
  "test/local/start-killed.test.ts",
  "test/release/mixed-releases.test.ts",
  "test/local/start-stops.test.ts",
  "test/crash/edits.test.ts",
  "test/abuse/abuse.test.ts",
  "test/crash/pairs.test.ts",
  "test/crash/aside.test.ts",
  "test/crash/house.test.ts",
  "test/race/race.test.ts",
  "test/readme.test.ts",
  "test/cli/cli.test.ts",
  "test/cli/help.test.ts",
  "test/client/package.test.ts",
  "test/infra/package.test.ts",
  "test/infra/template/written.test.ts",
  "test/infra/template/same-as-construct.test.ts",
  "test/published/carillon-dev.test.ts",
  "test/published/kit-runners.test.ts",
  "test/published/start-page.test.ts",
  "test/published/create-carillon.test.ts",
  "test/history/query-plans.test.ts",
  "test/api/idempotency-crash.test.ts",
  "test/local/start.test.ts",
  "test/dev/dev.test.ts",
  "test/dev/doctor.test.ts",
  "test/supply/without-scripts.test.ts",
];

/**
 * Seed of random tests. It is fixed, so that a passing test keeps passing. CARILLON_SEED=random
 * draws one, and CARILLON_SEED=<that one> repeats the run.
 */
const seed =
  process.env["CARILLON_SEED"] === "random"
    ? Math.floor(Math.random() * 1e9)
    : Number(process.env["CARILLON_SEED"] ?? 1);
if (!Number.isSafeInteger(seed))
  throw new Error(`CARILLON_SEED is ${process.env["CARILLON_SEED"]}: it must be an integer or "random".`);
process.stdout.write(`CARILLON_SEED=${seed}\n`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = long.findIndex((file) => moduleId.endsWith(file));
      return place === -1 ? long.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

const inThis = (file: string) => path.join(import.meta.dirname, file);

export default defineConfig({
  // The examples of docs/testing.md and the project of create-carillon import the packages by their names.
  resolve: {
    alias: {
      "carillon/job": inThis("lib/job/main.ts"),
      "carillon-dev/testing": inThis("test/kit/own-testing.ts"),
    },
  },
  test: {
    include: ["test/**/*.test.ts", "lib/tools/create/project/**/*.test.ts"],
    environment: "node",
    pool: "forks",
    // A process for each file spent a third of the run on loading the same modules again. So a test
    // file must restore what it changes in its process.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // The default leaves one of two cores idle. One worker for each core leaves a quarter of the
    // time idle, since workers wait for the server at times.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // The tests start hundreds of programs, and each would compile the same modules again.
    env: {
      CARILLON_SEED: String(seed),
      NODE_COMPILE_CACHE: path.join(import.meta.dirname, "node_modules", ".cache", "compiled"),
    },
    globalSetup: ["test/support/postgres.ts", "test/support/page-folder.ts"],
    setupFiles: ["test/support/fixed-seed.ts", "test/support/after-file.ts"],
    // The default of 1 s is too short for a loaded machine to start a process or to be granted a
    // lock.
    expect: { poll: { timeout: 15_000 } },
    // Long enough for a slow machine under load, and short enough that a hang fails instead of
    // blocking the run.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    teardownTimeout: 10_000,
  },
});
