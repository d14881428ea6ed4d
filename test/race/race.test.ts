import { expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import { lineOf, race } from "./race.ts";

const fixedSeed = 7;
const anySeed = Math.floor(Math.random() * 1_000_000);

test.each([fixedSeed, anySeed])(
  "nothing is lost, doubled, early, stuck or started after an acknowledgement, whatever races and dies (seed %i)",
  async (seed) => {
    const database = await testDatabase();
    const report = await race({ databaseUrl: database.url, seed, ms: 9_000, schedules: 20 });
    process.stdout.write(`${lineOf(report)}\n`);
    expect(report.violations.slice(0, 20), lineOf(report)).toEqual([]);
    expect(report.owed).toBeGreaterThan(300);
    await database.drop();
  },
  120_000,
);

test(`nor where parcels wait at a handler and are worked along with others (seed ${anySeed})`, async () => {
  const database = await testDatabase();
  const report = await race({
    databaseUrl: database.url,
    seed: anySeed,
    ms: 9_000,
    schedules: 32,
    apart: true,
  });
  process.stdout.write(`${lineOf(report)}\n`);
  expect(report.violations.slice(0, 20), lineOf(report)).toEqual([]);
  expect(report.companions).toBeGreaterThan(10);
  await database.drop();
}, 120_000);
