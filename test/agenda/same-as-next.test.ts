import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgendaPlace, readAgenda } from "../../lib/agenda/agenda.ts";
import { explain } from "../../lib/explain/explain.ts";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import "../support/fixed-seed.ts";
import { at, day, hour, minute } from "../support/instants.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
  await world.tick();
});

afterAll(() => world.stop());

const crons = [
  "*/10 * * * *",
  "0 9 * * 1-5",
  "30 2 * * *",
  "H H * * *",
  "0 0 L * *",
  "15,45 */2 * * *",
  "0 12 * * 7#4",
];
const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"];

const when = fc.oneof(
  fc.constantFrom(...crons),
  fc.integer({ min: 60, max: 90_000 }).map((seconds) => `every ${seconds}s`),
  fc.integer({ min: 1, max: 30 }).map((days) => `every ${days} days`),
  fc.integer({ min: 5, max: 40_000 }).map((minutes) => `at ${at(minutes * minute).toISOString()}`),
  fc.constantFrom(["0 6 * * *", "0 7 * * 1"], ["30 1 * * *", "every 5h"]),
);

const body = fc.record(
  {
    when,
    timezone: fc.constantFrom(...zones),
    spread: fc.constantFrom("0s", "10m", "3h"),
    slot: fc.constantFrom(null, "15m"),
    maxFires: fc.constantFrom(null, 1, 3),
    startsAt: fc.constantFrom(null, at(2 * day).toISOString()),
    endsAt: fc.constantFrom(null, at(26 * day).toISOString()),
    dst: fc.constantFrom(null, { gap: "skip" as const }),
  },
  { requiredKeys: ["when"] },
);

// Both clock changes of Berlin and New York are within reach of the windows.
const windows = fc.record({
  from: fc.integer({ min: 1, max: 27 * 24 * 60 }).map((minutes) => minutes * minute),
  length: fc.constantFrom(5 * minute, 3 * hour, 2 * day),
});

const key = "same";

/** The occurrences that the agenda lists for the one schedule. */
async function listed(from: Date, to: Date, filter: object): Promise<number[]> {
  const found: number[] = [];
  let after: AgendaPlace | undefined;
  do {
    const window = { from: from.getTime(), to: to.getTime() };
    const page = await readAgenda(world.sql, { window, filter, after, limit: 100 });
    found.push(...page.items.map(({ occurrence }) => occurrence.getTime()));
    after = page.next;
  } while (after !== undefined);
  return found;
}

test("The agenda of any schedule and window lists what `next` lists", async () => {
  await fc.assert(
    fc.asyncProperty(body, windows, async (asked, { from, length }) => {
      const made = await world.put(key, { target: { queue: "demo" }, ...asked }).catch(() => null);
      fc.pre(made !== null);
      const [begin, end] = [at(from), at(from + length)];
      const next = await nextOccurrences(world.sql, { key, n: 1_000, from: begin.getTime() - 1 });
      const expected = next.occurrences.map((each) => each.at).filter((each) => each < end.getTime());
      expect(await listed(begin, end, { prefix: key })).toEqual(expected.slice(0, 1_000));
      expect(await listed(begin, end, {})).toEqual(expected.slice(0, 1_000));
      const [first] = expected;
      if (first !== undefined)
        expect((await explain(world.sql, { key, at: new Date(first) })).outcome).toBe("planned");
    }),
    { numRuns: 60 },
  );
}, 300_000);
