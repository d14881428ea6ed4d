import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

/** Edits of the spread under a hold. The due times move, and each occurrence still has one record. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

/** With a spread of 10 minutes, its occurrences are due 9 minutes and some seconds later. */
const key = "moved";

async function live(until: Date): Promise<void> {
  while (world.clock.now() < until) {
    await world.tick();
    await world.work();
    await world.clock.setNow(new Date(Math.min(until.getTime(), world.clock.now().getTime() + minute)));
  }
  await world.tick();
  await world.work();
}

const time = (instant: Date) => instant.toISOString().slice(11, 16);

async function ledger(of = key): Promise<string[]> {
  const ranges = await world.sql<{ from: Date; to: Date; reason: string }[]>`
    select from_at as "from", to_at as "to", reason from carillon.passed_over`;
  return [
    ...(await world.jobs(of)).map(({ occurrence, state }) => `${time(occurrence)} ${state}`),
    ...ranges.map(({ from, to, reason }) => `${time(from)}-${time(to)} ${reason}`),
  ].sort();
}

test("A pause and a smaller spread in one edit lose no occurrence", async () => {
  const body = { when: "*/5 * * * *", spread: "10m", catchUp: { policy: "all" } };
  await world.put(key, body);
  await live(at("10:06:30"));
  await world.put(key, { ...body, spread: "0s", paused: true });
  await live(at("10:08:30"));
  await world.resume(key);
  await live(at("10:11:30"));
  expect(await ledger()).toEqual(["10:05 succeeded", "10:10 succeeded"]);
});

test("A pause and a larger spread in one edit pass over no occurrence that ran", async () => {
  const body = { when: "*/5 * * * *", spread: "0s", maxFires: 3 };
  await world.put(key, body);
  await live(at("10:10:30"));
  await world.put(key, { ...body, spread: "10m", paused: true });
  await live(at("10:11:30"));
  await world.resume(key);
  await live(at("10:40:30"));
  expect(await ledger()).toEqual(["10:05 succeeded", "10:10 succeeded", "10:15 succeeded"]);
});

test("After a larger spread under a hold that ends by itself, occurrences that ran before the hold do not count again", async () => {
  await world.put(key, { when: "* * * * *", maxFires: 3 });
  await live(at("10:02:30"));
  await world.pause(key, { until: at("10:04:30") });
  await world.patch(key, { spread: "10m" });
  await live(at("10:30:30"));
  expect(await ledger()).toEqual(["10:01 succeeded", "10:02 succeeded", "10:03 succeeded"]);
});

test("A slot in place of a spread does not bring back occurrences that ran", async () => {
  await world.put("late", { when: "* * * * *", spread: "10m", maxFires: 3 });
  await live(at("10:05:30"));
  await world.patch("late", { spread: "0s", slot: "10m" });
  await world.patch("late", { payload: 1 });
  await live(at("10:20:30"));
  expect(await ledger("late")).toEqual(["10:01 succeeded", "10:02 succeeded", "10:03 succeeded"]);
});

test("After a larger spread under a hold that ends by itself, an occurrence that was missed before the hold does not run", async () => {
  await world.put(key, { when: "* * * * *", catchUp: { policy: "skip" } });
  await world.clock.setNow(at("10:30:30"));
  await live(at("10:30:30"));
  await world.pause(key, { until: at("10:31:30") });
  await world.patch(key, { spread: "10m" });
  await live(at("10:41:30"));
  expect(await ledger()).toEqual([
    ...["10:01", "10:02", "10:03"].map((each) => `${each} succeeded`),
    "10:04-10:28 missed",
    ...["10:29", "10:30", "10:31", "10:32"].map((each) => `${each} succeeded`),
    ...["10:33", "10:34", "10:35"].map((each) => `${each} waiting`),
  ]);
});
