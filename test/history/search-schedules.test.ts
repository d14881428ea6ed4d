import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ScheduleRead } from "../../lib/history/read-schedule.ts";
import {
  countSchedules,
  listSchedules,
  orderOf,
  type ScheduleFilter,
} from "../../lib/history/search-schedules.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute, second } from "../support/instants.ts";

let world: Carillon;
let all: ScheduleRead[];
/** Schedules that have dead jobs and have not succeeded since. */
const failing = new Set<string>();

const whens = [
  "every 1m",
  "every 10s",
  "every 7h",
  "*/5 * * * *",
  "in 90s",
  "in 40m",
  "at 2026-03-02T11:00:00Z",
  "at 2026-03-02T11:00:00Z; at 2026-03-04T11:00:00Z",
  "0 9 1 1 *",
];

const numbers = Array.from({ length: 72 }, (_, n) => n);
const keyOf = (n: number) => `${"abc"[n % 3]}:${n}`;

function bodyOf(n: number): object {
  const when = whens[n % whens.length] ?? "";
  return {
    when: when.includes(";") ? when.split("; ") : when,
    target: targetOf(n),
    group: n % 4 === 0 ? `g${n % 3}` : null,
    tags: n % 3 === 0 ? ["even", `t${n % 4}`] : [],
    retry: { attempts: 1 },
    ...(n % 10 === 1 ? { calendar: { name: "days" } } : {}),
    ...(n % 11 === 0 ? { maxFires: 3 } : {}),
    ...(n % 13 === 0 && when.startsWith("every 1") ? { endsAt: "2026-03-02T11:30:00Z" } : {}),
    ...(n % 17 === 0 ? { spread: "20m" } : {}),
    ...(n % 19 === 0 ? { slot: "15m" } : {}),
  };
}

function targetOf(n: number): object {
  if (n % 5 === 0) return { handler: `h${n % 3}` };
  return n % 7 === 0 ? { event: {} } : { queue: `q${n % 2}` };
}

beforeAll(async () => {
  world = await carillon();
  await world.tick();
  await putCalendar(
    { sql: world.sql, queue: world.queue },
    {
      name: "days",
      body: { description: null, rules: { dates: ["2030-01-01"], weekly: [] } },
      caller: { name: "ann" },
    },
  );
  for (const n of numbers) await world.put(keyOf(n), bodyOf(n), n % 6 === 0 ? "ben" : "ann");
  await world.tick();
  for (const key of ["a:3", "b:10", "c:26"]) await world.pause(key);
  await world.pause("a:6", { until: at(90 * minute) });
  await world.pause("b:1", { until: at(1_000 * minute) });
  await world.remove("b:22");
  world.outcome = ({ key, occurrence }) =>
    key.endsWith("8") || (key.endsWith("5") && occurrence < at(30 * minute))
      ? failed("no")
      : { kind: "done" };
  for (let passed = 2; passed <= 80; passed += 2) {
    await world.clock.setNow(at(passed * minute));
    await world.tick();
    if (passed % 8 === 0) await world.work();
  }
  await world.work();
  await world.clock.advance(20 * second);
  // Made within the horizon, and so never in the plan.
  await world.put("c:new", { when: "in 50s" });
  await world.patch("a:12", { when: "every 20s" });
  all = (await listSchedules(world.sql, { limit: 100 })).items;
  const jobs = await world.jobs();
  for (const { key } of all) {
    const own = jobs.filter((job) => job.key === key && job.occurrence <= at(80 * minute + 20 * second));
    const dead = own.findLast(({ state }) => state === "dead");
    const newest = own.findLast(({ dueAt }) => dueAt <= at(80 * minute + 20 * second));
    if (dead !== undefined && !(newest?.state === "succeeded" && newest.occurrence > dead.occurrence))
      failing.add(key);
  }
}, 120_000);

afterAll(() => world.stop());

const kindOf = ({ body: { target } }: ScheduleRead) => Object.keys(target)[0];
const nameOf = ({ body: { target } }: ScheduleRead) => {
  if ("queue" in target) return `queue/${target.queue}`;
  return "handler" in target ? `handler/${target.handler}` : "event/default";
};

/** Applies the filter to a schedule as it is read. */
function isMeant(read: ScheduleRead, filter: ScheduleFilter): boolean {
  const { prefix = "", group, tag, target, createdBy, calendar, state, nextFrom, nextTo } = filter;
  const next = read.nextAt;
  const now = at(80 * minute + 20 * second);
  return (
    read.key.startsWith(prefix) &&
    (group === undefined || read.body.group === group) &&
    (tag === undefined || read.body.tags.includes(tag)) &&
    (target === undefined || kindOf(read) === target || nameOf(read) === target) &&
    (createdBy === undefined || read.createdBy === createdBy) &&
    (calendar === undefined || read.body.calendar?.name === calendar) &&
    (state === undefined || read.state === state) &&
    (filter.failing === undefined || failing.has(read.key)) &&
    (nextFrom === undefined || (next !== null && next >= nextFrom && next >= now)) &&
    (nextTo === undefined || (next !== null && next < nextTo && next >= now))
  );
}

function inOrder(reads: ScheduleRead[], filter: ScheduleFilter): string[] {
  const byId = (a: ScheduleRead, b: ScheduleRead) => Number(a.id) - Number(b.id);
  const sorted = {
    key: () => reads.toSorted((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key))),
    age: () => reads.toSorted(byId),
    next: () => reads.toSorted((a, b) => Number(a.nextAt) - Number(b.nextAt) || byId(a, b)),
  };
  return sorted[orderOf(filter)]().map(({ key }) => key);
}

const moved = new Set(numbers.filter((n) => n % 17 === 0 || n % 19 === 0).map(keyOf));

async function pagesOf(filter: ScheduleFilter, limit: number): Promise<string[]> {
  const keys: string[] = [];
  let after: string | undefined;
  for (let page = 0; page < 200; page++) {
    const { items, next } = await listSchedules(world.sql, { ...filter, limit, after });
    expect(items.length).toBeLessThanOrEqual(limit);
    keys.push(...items.map(({ key }) => key));
    if (next === undefined) return keys;
    expect(next).not.toBe(after);
    after = next;
  }
  throw new Error("The list does not end.");
}

const heads: ScheduleFilter[] = [
  {},
  { prefix: "a:" },
  { group: "g0" },
  { tag: "even" },
  { tag: "t3", prefix: "a:" },
  { target: "queue" },
  { target: "handler", prefix: "b" },
  { target: "queue/q1" },
  { createdBy: "ben" },
  { createdBy: "ben", tag: "even" },
  { calendar: "days" },
  { calendar: "days", prefix: "b:" },
  { group: "g0", tag: "even", target: "queue/q0" },
];

describe.each(heads)("a search among the schedules of %o", (head) => {
  test.each<ScheduleFilter>([
    {},
    { state: "active" },
    { state: "paused" },
    { state: "ended" },
    { failing: true },
    { failing: true, state: "ended" },
  ])(
    "Pages of every size for %o hold all matching schedules, once and in order, and the count agrees",
    async (rest) => {
      const filter = { ...head, ...rest };
      const meant = inOrder(
        all.filter((read) => isMeant(read, filter)),
        filter,
      );
      for (const limit of [4, 100]) expect(await pagesOf(filter, limit)).toEqual(meant);
      expect(await countSchedules(world.sql, filter)).toEqual({ count: meant.length, more: false });
    },
  );

  test.each([
    ["now", undefined, 80 * minute + 45 * second],
    ["the horizon", 80 * minute + 30 * second, 83 * minute],
    ["the next hours", undefined, 300 * minute],
    ["next week", 2 * day, 9 * day],
    ["whenever", 0, undefined],
  ])("The next occurrences in %s are found, soonest first", async (_, from, to) => {
    const filter = {
      ...head,
      ...(from === undefined ? {} : { nextFrom: at(from) }),
      ...(to === undefined ? {} : { nextTo: at(to) }),
    };
    // Occurrences moved by spread and slot are ordered and bounded by their due time.
    const straight = (keys: string[]) => keys.filter((key) => !moved.has(key));
    const meant = inOrder(
      all.filter((read) => isMeant(read, filter)),
      filter,
    );
    for (const limit of [4, 100]) {
      const found = await pagesOf(filter, limit);
      expect(new Set(found).size).toBe(found.length);
      expect(straight(found)).toEqual(straight(meant));
    }
    const { count } = await countSchedules(world.sql, filter);
    expect(count).toBe((await pagesOf(filter, 100)).length);
  });
});

test("The test data has schedules of every kind", () => {
  const states = Object.groupBy(all, ({ state }) => state);
  expect(states.active?.length).toBeGreaterThan(20);
  expect(states.ended?.length).toBeGreaterThan(10);
  expect(states.paused).toHaveLength(5);
  expect(failing.size).toBeGreaterThan(3);
  expect(all.filter(({ key }) => key.endsWith("5") && !failing.has(key)).length).toBeGreaterThan(1);
});

test("An occurrence moved by a spread is found once among all coming ones", async () => {
  const found = await pagesOf({ nextFrom: at(0) }, 7);
  const coming = all.filter(
    ({ key, nextAt }) => moved.has(key) && nextAt !== null && nextAt >= at(80 * minute + 20 * second),
  );
  expect(coming.length).toBeGreaterThan(2);
  for (const { key } of coming) expect(found.filter((each) => each === key)).toEqual([key]);
});

test("A search by tag finds the schedules that have the tag now, not those that had it", async () => {
  const tagged = async (tag: string) => (await pagesOf({ tag }, 10)).filter((key) => key.startsWith("tag:"));
  await world.put("tag:1", { when: "every 7h", tags: ["red", "green"] });
  await world.put("tag:2", { when: "every 7h", tags: ["red"] });
  await world.put("tag:3", { when: "every 7h" });
  expect(await tagged("red")).toEqual(["tag:1", "tag:2"]);
  await world.patch("tag:1", { tags: ["green", "blue"] });
  await world.patch("tag:3", { tags: ["red"] });
  expect(await tagged("red")).toEqual(["tag:2", "tag:3"]);
  expect(await tagged("green")).toEqual(["tag:1"]);
  expect(await tagged("blue")).toEqual(["tag:1"]);
  await world.remove("tag:2");
  expect(await tagged("red")).toEqual(["tag:3"]);
  await world.put("tag:2", { when: "every 7h", tags: ["blue"] });
  expect(await tagged("red")).toEqual(["tag:3"]);
  expect(await tagged("blue")).toEqual(["tag:1", "tag:2"]);
  const left = await world.sql`
    select t.* from carillon.schedule_tags t where not exists (
      select from carillon.schedules s where s.key = t.key and s.deleted_at is null and t.tag = any(s.tags collate "C"))`;
  expect(left).toEqual([]);
});
