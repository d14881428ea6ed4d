import { expect, test } from "vitest";
import { movedPartShape } from "../../lib/move/moved-doc.ts";
import { testDatabase } from "../support/database.ts";
import { seedOfRun } from "../support/seed.ts";
import { lineOfMoves, moveRace } from "./move-race.ts";

const minutes = 60_000;

test(
  `no occurrence is lost or doubled while schedules move between two installations, and drivers, workers and connections die (seed ${seedOfRun})`,
  async () => {
    const databases = [await testDatabase(), await testDatabase()] as const;
    const [old, other] = databases;
    const report = await moveRace({ databaseUrls: [old.url, other.url], seed: seedOfRun, moves: 2 });
    expect(report.violations.slice(0, 20), lineOfMoves(report)).toEqual([]);
    expect(report.moved, lineOfMoves(report)).toBeGreaterThanOrEqual(2 * 36);
    expect(report.diedDrivers, lineOfMoves(report)).toBeGreaterThan(5);
    for (const database of databases) await database.drop();
  },
  5 * minutes,
);

test(
  `the oracle of moves finds the occurrences that a driver loses (seed ${seedOfRun})`,
  async () => {
    const databases = [await testDatabase(), await testDatabase()] as const;
    const [old, other] = databases;
    const report = await moveRace({
      databaseUrls: [old.url, other.url],
      seed: seedOfRun,
      moves: 1,
      // It confirms what it has not brought.
      mutate: ({ source, destination }) => ({
        source,
        destination: {
          ...destination,
          bring: async (parts) =>
            parts.map((part) => ({ ...movedPartShape.parse(part), became: "arrived" as const })),
        },
      }),
    });
    expect(
      report.violations.some((each) => each.startsWith("lost: ")),
      lineOfMoves(report),
    ).toBe(true);
    for (const database of databases) await database.drop();
  },
  5 * minutes,
);
