import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour } from "../support/instants.ts";
import { type Counting, countStatements } from "./counted-statements.ts";

/** The cost of a batch grows linearly with the number of its operations. */

let world: Carillon;
let counting: Counting;

const caller = { name: "ann" };

beforeAll(async () => {
  world = await carillon();
  await world.tick();
  const deps = { sql: world.sql, queue: world.queue };
  const read = readCalendarRules({ weekly: ["sat", "sun"], dates: ["12-24..12-26"] });
  if (!read.ok) throw new Error("The calendar rules could not be read.");
  await putCalendar(deps, { name: "work", body: { description: null, rules: read.rules }, caller });
  const unbounded = { most: 1_000_000, timeIsUp: () => false };
  await pauseLabel(deps, { label: { scope: "group", name: "held" }, caller }, unbounded);
  await pauseLabel(deps, { label: { scope: "tag", name: "held" }, caller, until: at(hour) }, unbounded);
  counting = countStatements(world.databaseUrl);
});

afterAll(async () => {
  await counting.sql.end();
  await world.stop();
});

const sizes = [50, 100, 200, 400];
const sizesAlone = [6, 12, 24];

const bodies: Record<string, object> = {
  plain: { when: "every 1h" },
  cron: { when: "0 9 * * *", timezone: "Europe/Berlin", spread: "10m" },
  grouped: { when: "every 1h", group: "g", tags: ["a", "b"] },
  calendared: { when: "0 9 * * *", spread: "1h", calendar: { name: "work", on: "next" } },
  held: { when: "every 1h", group: "held" },
  "held for a time": { when: "every 1h", tags: ["held", "a"] },
  paused: { when: "every 1h", paused: true },
};

type Kind = [name: string, operation: (key: string, body: object) => Operation];

const put = (key: string, body: object): Operation => ({
  kind: "put",
  key,
  caller,
  body: parseScheduleBody({ target: { queue: "demo" }, ...body }),
});

/** Applied one after the other, each to the result of those before. */
const kinds: Kind[] = [
  ["put of a new schedule", put],
  ["put of the same body", put],
  ["put of another payload", (key, body) => put(key, { ...body, payload: 1 })],
  ["patch", (key) => ({ kind: "patch", key, caller, patch: { payload: 2 } })],
  ["pause", (key) => ({ kind: "pause", key, caller, owner: "bob", reason: "audit" })],
  ["resume", (key) => ({ kind: "resume", key, caller, owner: "bob" })],
  ["delete", (key) => ({ kind: "delete", key, caller })],
  ["delete of a missing schedule", (key) => ({ kind: "delete", key: `none:${key}`, caller })],
];

/**
 * Operations that a batch does one by one, 25 at most in a transaction: edits of held
 * schedules, and further holds beside one that ends.
 */
const oneByOne: Record<string, readonly string[]> = {
  held: ["put of another payload", "patch", "delete"],
  "held for a time": ["put of another payload", "patch", "pause", "resume", "delete"],
  paused: ["put of another payload", "patch", "delete"],
};

/** Number of statements for each batch size. */
async function statementsBySize(
  operation: (key: string) => Operation,
  batches: readonly number[],
): Promise<number[]> {
  const counts: number[] = [];
  for (const size of batches) {
    const operations = Array.from({ length: size }, (_, n) => operation(`${size}:${n}`));
    counting.taken();
    const applied = await applyOperations({ sql: counting.sql, queue: world.queue }, operations);
    counts.push(counting.taken().length);
    expect(applied).toHaveLength(size);
  }
  return counts;
}

describe.each(Object.entries(bodies))("a batch of schedules that are %s", (name, body) => {
  test("a batch takes the same number of statements for 400 operations as for 50, or the same number for each operation that it does alone", async () => {
    const wrong: Record<string, number[]> = {};
    if (oneByOne[name] !== undefined)
      await statementsBySize((key) => put(`${name}:${key}`, body), sizesAlone);
    for (const [kind, operation] of kinds) {
      const alone = oneByOne[name]?.includes(kind) === true;
      const make = (key: string) => operation(`${name}:${key}`, body);
      const counts = await statementsBySize(make, alone ? sizesAlone : sizes);
      const [least = 0, ...more] = counts;
      // The first batch inserts the cadence that all of them share.
      const isFlat = more.every((count) => count <= least);
      const isLinear = more.every((count, index) => count <= (counts[index] ?? 0) * 2);
      if (!(alone ? isLinear : isFlat)) wrong[kind] = counts;
    }
    expect(wrong).toEqual({});
  });
});
