import { afterAll, beforeAll, expect, test } from "vitest";
import { listSchedules } from "../../lib/history/search-schedules.ts";
import { spreadOffset } from "../../lib/schedule/stored/timetable.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

const occurrence = 60 * minute;
const spread = 120 * minute;
const keys = Array.from({ length: 12 }, (_, n) => `spread:${n}`);
/** The due time of each, soonest first. */
const due = keys
  .map((key): [string, number] => [key, occurrence + spreadOffset(key, spread)])
  .sort(([, a], [, b]) => a - b);

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
  await world.tick();
  for (const key of keys) await world.put(key, { when: `at ${at(occurrence).toISOString()}`, spread: "2h" });
});

afterAll(() => world.stop());

async function found(from: number, to?: number, limit = 5): Promise<string[]> {
  const nextTo = to === undefined ? {} : { nextTo: at(to) };
  const keysFound: string[] = [];
  for (let after: string | undefined, page = 0; page < 50; page++) {
    const { items, next } = await listSchedules(world.sql, { nextFrom: at(from), ...nextTo, after, limit });
    keysFound.push(...items.map(({ key }) => key));
    if (next === undefined) return keysFound;
    after = next;
  }
  throw new Error("The list does not end.");
}

const dueWithin = (from: number, to = Number.POSITIVE_INFINITY) =>
  due.flatMap(([key, when]) => (when >= from && when < to ? [key] : []));

test("An occurrence moved by its spread is found by its due time", async () => {
  const halves = [occurrence, occurrence + spread / 2, occurrence + spread];
  for (const [from = 0, to = 0] of [halves, halves.slice(1)]) {
    expect(dueWithin(from, to).length).toBeGreaterThan(0);
    expect(await found(from, to)).toEqual(dueWithin(from, to));
  }
});

test("An occurrence moved by its spread is found once, also after its job is made", async () => {
  const [, when = 0] = due[5] ?? [];
  await world.clock.setNow(at(when - 100 * second));
  await world.tick();
  const made = (await world.jobs()).filter(({ dueAt }) => dueAt > at(when - 100 * second));
  expect(made.length).toBeGreaterThan(0);
  for (const limit of [1, 5])
    expect(await found(0, undefined, limit)).toEqual(dueWithin(when - 100 * second));
});

test("An occurrence moved by its spread is found once if its job is made before the occurrence", async () => {
  const early = at(occurrence + spread + 30 * minute);
  const key = Array.from({ length: 1_000 }, (_, n) => `soon:${n}`).find((each) => {
    const offset = spreadOffset(each, 10 * minute);
    return offset > 20 * second && offset < 60 * second;
  });
  await world.clock.setNow(at(occurrence + spread));
  await world.put(key ?? "", { when: `at ${early.toISOString()}`, spread: "10m" });
  await world.clock.setNow(new Date(early.getTime() - minute));
  await world.tick();
  expect(await world.jobs(key)).toHaveLength(1);
  expect(await found(0)).toEqual([key]);
});
