import { expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import { seedOfRun } from "../support/seed.ts";
import { lineOf, race } from "./race.ts";

const minutes = 60_000;
const fixedSeed = 7;
const volume = { edits: 120, killed: 20, stalls: 1 };

test.each([...new Set([fixedSeed, seedOfRun])])(
  "no job is lost, doubled, early, stuck, or started after an acknowledged edit removed it, under races and deaths (seed %i)",
  async (seed) => {
    const database = await testDatabase();
    const report = await race({ databaseUrl: database.url, seed, volume, schedules: 12 });
    expect(report.violations.slice(0, 20), lineOf(report)).toEqual([]);
    expect(report.owed, lineOf(report)).toBeGreaterThan(150);
    expect(report.claims, lineOf(report)).toBeGreaterThan(50);
    await database.drop();
  },
  5 * minutes,
);

test(
  `no job is lost, doubled, early or stuck when parcels wait at a handler and are worked together with others (seed ${seedOfRun})`,
  async () => {
    const database = await testDatabase();
    const report = await race({
      databaseUrl: database.url,
      seed: seedOfRun,
      volume: { ...volume, companions: 10 },
      schedules: 20,
      apart: true,
    });
    expect(report.violations.slice(0, 20), lineOf(report)).toEqual([]);
    expect(report.companions, lineOf(report)).toBeGreaterThanOrEqual(10);
    await database.drop();
  },
  5 * minutes,
);
