import { availableParallelism } from "node:os";
import path from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes a minute or more: begun last, it would be waited for while nothing else is left to do. */
const long = [
  "test/time/year.test.ts",
  "test/crash/crash.test.ts",
  "test/local/start.test.ts",
  "test/readme.test.ts",
  "test/cli/cli.test.ts",
  "test/cli/help.test.ts",
  "test/client/package.test.ts",
  "test/infra/package.test.ts",
  "test/race/race.test.ts",
  "test/api/idempotency-crash.test.ts",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = long.findIndex((file) => moduleId.endsWith(file));
      return place === -1 ? long.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    environment: "node",
    pool: "forks",
    // Each file in a process of its own took a third of the run for loading the same modules again: what a file changes of its process it puts back.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // By default one of two cores is left idle, and with one worker for each a quarter of the time is: both wait for the server at times.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // Hundreds of programs are started, and each would compile the same modules again.
    env: { NODE_COMPILE_CACHE: path.join(import.meta.dirname, "node_modules", ".cache", "compiled") },
    globalSetup: ["test/support/postgres.ts"],
    setupFiles: ["test/support/after-file.ts"],
    // Long enough for a slow machine under load, short enough that a hang is a failure and not a stuck run.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
