import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    environment: "node",
    pool: "forks",
    globalSetup: ["test/support/postgres.ts"],
    // Long enough for a slow machine under load, short enough that a hang is a failure and not a stuck run.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
