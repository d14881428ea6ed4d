import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    environment: "node",
    pool: "forks",
    // By default one of two cores is left idle, and much of the time is spent waiting for disks.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    globalSetup: ["test/support/postgres.ts"],
    // Long enough for a slow machine under load, short enough that a hang is a failure and not a stuck run.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
