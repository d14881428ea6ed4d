import { defineConfig } from "vitest/config";

// The first test of the day starts a Postgres, and a slow machine needs seconds for that.
export default defineConfig({ test: { testTimeout: 60_000 } });
