import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { civilFromDays, daysFromCivil } from "../../lib/cadence/zone/civil.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { connectThrough } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";
import { planSteps } from "./plan-steps.ts";

let world: Carillon;
let counted: Sql;
/** The largest answer of the database since the last reset, in bytes. */
let largest = 0;

beforeEach(async () => {
  world = await carillon();
  counted = connectThrough(world.databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      line.run(statement);
      const note = (rows: unknown) => {
        largest = Math.max(largest, JSON.stringify(rows).length);
      };
      statement.then(note, () => {});
    },
  }));
  largest = 0;
});

afterEach(async () => {
  await counted.end();
  await world.stop();
});

const { together } = planSteps(() => world);
const caller = { name: "ann" };

const dayText = (days: number) => {
  const { year, month, day: date } = civilFromDays(days);
  return [year, month, date].map((part) => String(part).padStart(2, "0")).join("-");
};

/**
 * 2,000 ranges of two days, of which one begins on every fourth day from the day after tomorrow on.
 */
function largeRules(from = daysFromCivil(2026, 3, 4)) {
  const dates = Array.from(
    { length: 2_000 },
    (_, n) => `${dayText(from + 4 * n)}..${dayText(from + 4 * n + 1)}`,
  );
  const read = readCalendarRules({ dates });
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  return read.rules;
}

const rulesBytes = 50_000;
const count = 60;
const keysOf = (name: string) => Array.from({ length: count }, (_, n) => `${name}:${n}`);
const large = { calendar: { name: "large", on: "next" } };

const deps = () => ({ sql: world.sql, queue: world.queue });

async function putLarge(rules = largeRules()): Promise<void> {
  const params = { name: "large", body: { description: null, rules }, caller };
  await putCalendar(deps(), params, { most: 0, ms: 0 });
}

/** Puts as many schedules with the large calendar as without one, all in one shard. */
async function putBoth(body: object): Promise<void> {
  await putLarge();
  const put = (name: string, more: object) =>
    keysOf(name).map((key) => ({
      kind: "put" as const,
      key,
      caller,
      body: parseScheduleBody({ target: { queue: "demo" }, ...body, ...more }),
    }));
  await applyOperations(deps(), [...put("large", large), ...put("plain", {})]);
  await together();
}

/** The answers to the tick grow with the calendar, and not with the number of its schedules. */
async function tickCounted(): Promise<void> {
  expect(JSON.stringify(largeRules()).length).toBeGreaterThanOrEqual(rulesBytes);
  world.as.tick = counted;
  largest = 0;
  await world.tick();
  expect(largest).toBeGreaterThanOrEqual(rulesBytes);
  expect(largest).toBeLessThan(4 * rulesBytes);
}

const ran = async () => [
  ...new Set((await world.jobs()).filter(({ state }) => state !== "skipped").map(({ key }) => key)),
];

test.each([
  ["spread over some minutes", { spread: "2m" }],
  ["with rules of their own", { catchUp: { policy: "all" } }],
])(
  "Schedules with a calendar of 50 KB (%s) fire in one batch with others, and the batch reads the calendar once",
  async (_, body) => {
    await putBoth({ when: "5 * * * *", ...body });
    await world.clock.advance(4 * minute);
    await tickCounted();
    expect((await ran()).toSorted()).toEqual([...keysOf("large"), ...keysOf("plain")].toSorted());
  },
);

test("Schedules with a calendar of 50 KB are caught up together with others after a day without a tick", async () => {
  await putBoth({ when: "0 * * * *", catchUp: { policy: "all" } });
  await world.clock.advance(day);
  await tickCounted();
  const made = await world.jobs();
  expect(made.filter(({ key }) => key === "large:7").length).toBeGreaterThan(20);
  expect(made.filter(({ key }) => key === "plain:7").length).toBeGreaterThan(20);
});

test("Schedules with a calendar of 50 KB are released together with others when their hold of eight days ends", async () => {
  await putBoth({ when: "0 9 * * *" });
  const until = at(8 * day);
  await applyOperations(
    deps(),
    [...keysOf("large"), ...keysOf("plain")].map((key) => ({ kind: "pause", key, caller, until })),
  );
  await world.clock.advance(8 * day + minute);
  await tickCounted();
  expect((await ran()).length).toBe(2 * count);
  expect(await world.sql`select from carillon.holds`).toEqual([]);
});

test("Ended schedules with a calendar of 50 KB are deleted together with others, and the calendar is read once", async () => {
  await putBoth({ when: "5 * * * *", endsAt: at(10 * minute).toISOString(), deleteOnEnd: true });
  await world.clock.advance(4 * minute);
  await world.tick();
  await world.clock.advance(minute);
  await world.work();
  await world.clock.advance(6 * minute);
  await world.sql`update carillon.schedules set end_look_at = carillon.clock()`;
  await tickCounted();
  expect(await world.sql`select from carillon.schedules where deleted_at is null`).toEqual([]);
});

test("Schedules with a calendar of 50 KB that are over are marked for the purge together with others, and the calendar is read once", async () => {
  await putBoth({ when: ["at 2026-03-02T10:05", "at 2026-03-02T10:06"] });
  await world.tick();
  await world.clock.advance(10 * minute);
  await world.work();
  await world.tick();
  await world.clock.advance(2 * day);
  await tickCounted();
  expect((await world.sql`select from carillon.over_schedules`).length).toBe(2 * count);
});

test("A hold of a group is set on members with a calendar of 50 KB together with others, and the calendar is read once", async () => {
  await putBoth({ when: "0 9 * * *", group: "shop" });
  const label = { scope: "group", name: "shop" } as const;
  // The caller stops before any member was held.
  await pauseLabel(deps(), { label, caller }, { most: 0, timeIsUp: () => false });
  await tickCounted();
  expect((await world.sql`select from carillon.schedules where held_since is not null`).length).toBe(
    2 * count,
  );
});

test("Schedules with a calendar of 50 KB are edited in one batch with others, which reads it once", async () => {
  await putBoth({ when: "0 9 * * *" });
  const patch = (key: string) => ({ kind: "patch" as const, key, patch: { when: "0 8 * * *" }, caller });
  largest = 0;
  const done = await applyOperations(
    { sql: counted, queue: world.queue },
    [...keysOf("large"), ...keysOf("plain")].map(patch),
  );
  expect(done.every(({ change }) => change === "changed")).toBe(true);
  expect(largest).toBeLessThan(4 * rulesBytes);
});

test("Schedules with a calendar of 50 KB are replanned by the tick after its edit", async () => {
  await putBoth({ when: "0 9 * * *" });
  await putLarge(largeRules(daysFromCivil(2026, 3, 3)));
  await world.tick();
  const [row] = await world.sql<{ replanned: number }[]>`
    select count(*)::int as replanned from carillon.schedules where version = 2`;
  expect(row?.replanned).toBe(count);
  await world.clock.setNow(at(day - hour - minute));
  await world.tick();
  // The edited calendar excludes the third of March.
  expect((await ran()).toSorted()).toEqual(keysOf("plain").toSorted());
});
