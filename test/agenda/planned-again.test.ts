import { afterEach, beforeEach, expect, test } from "vitest";
import { readLastRuns } from "../../lib/agenda/last-runs.ts";
import { readStrip } from "../../lib/agenda/strip.ts";
import { explain } from "../../lib/explain/explain.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

/**
 * An edit plans occurrences of the same cadence again that are not due yet. They follow the spread and
 * the limit of the new version, also those that occurred before the edit.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

/** With a spread of 10 minutes, its occurrences are due 9 minutes and some seconds later. */
const key = "moved";

async function goOn(until: Date): Promise<void> {
  while (world.clock.now() < until) {
    await world.clock.setNow(new Date(Math.min(until.getTime(), world.clock.now().getTime() + minute)));
    await world.tick();
    await world.work();
  }
}

const time = (instant: Date) => instant.toISOString().slice(11, 16);

/** The occurrences up to now, after it is shown that strip and last runs agree on them. */
async function past(): Promise<string[]> {
  const now = world.clock.now().getTime();
  const { items } = await readStrip(world.sql, {
    key,
    window: { from: at(0).getTime(), to: now + 1 },
    limit: 100,
  });
  const shown = items
    .filter(({ occurrence }) => occurrence)
    .map((item) => `${time(item.at)} ${item.outcome}`);
  const { items: last } = await readLastRuns(world.sql, { keys: [key], most: 20 });
  expect(last[0]?.runs.map(({ occurrence, outcome }) => `${time(occurrence)} ${outcome}`)).toEqual(shown);
  return shown;
}

test("An occurrence that an edit plans again is due by the new spread", async () => {
  await world.put(key, { when: "*/5 * * * *", spread: "10m" });
  await goOn(at("10:06:30"));
  await world.patch(key, { spread: "1h" });
  const { outcome, dueAt } = await explain(world.sql, { key, at: at("10:05:00") });
  expect([outcome, time(dueAt ?? at(0))]).toEqual(["planned", "10:44"]);
  await goOn(at("10:16:30"));
  expect(await past()).toEqual(["10:05 planned", "10:10 planned", "10:15 planned"]);
});

test("A lowered `maxFires` excludes occurrences before the edit that were not due yet", async () => {
  await world.put(key, { when: "*/5 * * * *", spread: "10m", maxFires: 20 });
  await goOn(at("10:21:30"));
  await world.patch(key, { maxFires: 1 });
  expect(await past()).toEqual(["10:05 ran", "10:10 ran"]);
  await goOn(at("10:40:30"));
  expect(await past()).toEqual(["10:05 ran", "10:10 ran"]);
});

test("A lowered `maxFires` excludes occurrences under a hold, also those before the edit", async () => {
  await world.put(key, { when: "*/5 * * * *", maxFires: 20 });
  await goOn(at("10:11:00"));
  await world.pause(key);
  await goOn(at("10:17:00"));
  await world.patch(key, { maxFires: 1 });
  expect(await past()).toEqual(["10:05 ran", "10:10 ran"]);
  await world.patch(key, { when: "*/7 * * * *" });
  await world.resume(key);
  await goOn(at("10:23:00"));
  expect(await past()).toEqual(["10:05 ran", "10:10 ran"]);
});

test("A raised `maxFires` brings back occurrences that were not due yet, and none before them", async () => {
  await world.put(key, { when: "*/5 * * * *", spread: "10m", maxFires: 1 });
  await goOn(at("10:26:30"));
  await world.patch(key, { maxFires: null });
  await goOn(at("10:41:30"));
  expect(await past()).toEqual([
    "10:05 ran",
    ...["10:20", "10:25", "10:30"].map((each) => `${each} ran`),
    ...["10:35", "10:40"].map((each) => `${each} planned`),
  ]);
});

test("A limit that an edit removes while the ticks are behind excludes the occurrences due before the edit", async () => {
  await world.put(key, { when: "*/5 * * * *", maxFires: 1 });
  await goOn(at("10:06:00"));
  await world.clock.setNow(at("10:32:00"));
  await world.patch(key, { maxFires: null });
  expect(await past()).toEqual(["10:05 ran"]);
});

test("A longer spread under a hold leaves the limit of runs to the occurrences under the hold", async () => {
  await world.put(key, { when: "*/5 * * * *", maxFires: 2 });
  await goOn(at("10:06:00"));
  await world.pause(key);
  await world.patch(key, { spread: "10m" });
  await goOn(at("10:11:00"));
  expect(await past()).toEqual(["10:05 ran", "10:10 held"]);
});

test("An occurrence that was not due yet at a deletion is deleted, also if an edit came before", async () => {
  await world.put(key, { when: "*/5 * * * *", spread: "10m" });
  await goOn(at("10:06:30"));
  await world.patch(key, { payload: 1 });
  await goOn(at("10:07:30"));
  await world.remove(key);
  expect(await past()).toEqual(["10:05 deleted"]);
});
