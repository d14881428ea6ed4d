import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readAgenda } from "../../lib/agenda/agenda.ts";
import { readLastRuns } from "../../lib/agenda/last-runs.ts";
import { readStrip, type StripItem } from "../../lib/agenda/strip.ts";
import { connect } from "../../lib/db/connect.ts";
import { explain } from "../../lib/explain/explain.ts";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { countRoundTrips } from "../support/round-trips.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const key = "k";

async function goOn(minutes: number): Promise<void> {
  for (let n = 0; n < minutes; n++) {
    await world.clock.advance(minute);
    await world.tick();
    await world.work();
  }
}

/** The whole strip of the first hours, page by page. */
async function strip(limit: number, hours = 4): Promise<StripItem[]> {
  const items: StripItem[] = [];
  let from: number | undefined = at(0).getTime();
  for (let page = 0; from !== undefined; page++) {
    if (page > 50) throw new Error("The strip does not end.");
    const window = { from, to: at(hours * hour).getTime() };
    const read = await readStrip(world.sql, { key, window, limit });
    items.push(...read.items);
    from = read.next;
  }
  return items;
}

const shown = (items: readonly StripItem[]) =>
  items.map(({ at: instant, outcome }) => [(instant.getTime() - at(0).getTime()) / minute, outcome]);

describe("after the last run that maxFires allows", () => {
  beforeEach(async () => {
    await world.put(key, { when: "*/1 * * * *", maxFires: 2 });
    await goOn(6);
  });

  test.each([1, 2, 100])(
    "A strip goes on with the runs of a raised maxFires, on pages of %i",
    async (limit) => {
      await world.patch(key, { maxFires: 4 });
      await goOn(1);
      expect(shown(await strip(limit))).toEqual([
        [1, "ran"],
        [2, "ran"],
        [7, "ran"],
        [8, "planned"],
      ]);
    },
  );

  test("A strip goes on with jobs that were fired by hand, each with the outcome of its own state", async () => {
    await fireNow({ sql: world.sql, queue: world.queue }, { key, caller: { name: "ann" } });
    expect(shown(await strip(2)).at(-1)).toEqual([6, "waiting"]);
    world.outcome = () => failed("no route");
    await world.work();
    expect(shown(await strip(2)).at(-1)).toEqual([6, "retrying"]);
  });

  test("A hold holds no occurrence back: neither strip nor `next` list one", async () => {
    await world.pause(key, { until: at(20 * minute) });
    await goOn(2);
    expect(shown(await strip(5))).toEqual([
      [1, "ran"],
      [2, "ran"],
    ]);
    expect((await nextOccurrences(world.sql, { key, n: 5 })).occurrences).toEqual([]);
    await goOn(14);
    expect((await strip(5)).length).toBe(2);
  });
});

describe("before now", () => {
  const lastRuns = async () => {
    const { items } = await readLastRuns(world.sql, { keys: [key], most: 4 });
    return items[0]?.runs.map(({ occurrence, outcome }) => [
      (occurrence.getTime() - at(0).getTime()) / minute,
      outcome,
    ]);
  };

  test("The last runs of a schedule without runs left are its real ones, also those before an edit", async () => {
    await world.put(key, { when: "*/1 * * * *", maxFires: 3 });
    await goOn(7);
    expect(await lastRuns()).toEqual([
      [1, "ran"],
      [2, "ran"],
      [3, "ran"],
    ]);
    await world.patch(key, { maxFires: 5 });
    await goOn(8);
    await world.pause(key);
    await goOn(3);
    await world.resume(key);
    await goOn(3);
    const raised = [
      [2, "ran"],
      [3, "ran"],
      [8, "ran"],
      [9, "ran"],
    ];
    expect(await lastRuns()).toEqual(raised);
    await world.patch(key, { maxFires: 6 });
    expect(await lastRuns()).toEqual(raised);
  });

  test("The last runs end with those that a hold's end released, if they used up maxFires and no tick came since", async () => {
    await world.put(key, { when: "*/1 * * * *", maxFires: 1 });
    await world.pause(key, { until: at(3 * minute) });
    await goOn(1);
    await world.clock.setNow(at(6 * minute));
    const past = [
      [1, "waiting"],
      [2, "held"],
      [3, "held"],
    ];
    expect(await lastRuns()).toEqual(past);
    expect(shown(await strip(9))).toEqual(past);
  });

  test("The last runs of a schedule that has ended are its real ones", async () => {
    await world.put(key, { when: "*/1 * * * *", endsAt: at(3 * minute).toISOString() });
    await goOn(7);
    expect(await lastRuns()).toEqual([
      [1, "ran"],
      [2, "ran"],
    ]);
  });

  test("The last runs of a schedule that ended ten days ago are found in a bounded number of steps", async () => {
    await world.put(key, { when: "every 1s", maxFires: 2 });
    await goOn(1);
    await world.clock.setNow(at(10 * 24 * hour));
    await world.tick();
    const counting = await countRoundTrips(world.databaseUrl);
    const sql = connect({ DATABASE_URL: counting.url }, { max: 1 });
    const { items } = await readLastRuns(sql, { keys: [key], most: 4 });
    await sql.end();
    expect(items[0]?.runs.map(({ occurrence }) => occurrence)).toEqual([at(1_000), at(2_000)]);
    expect(counting.taken()).toBeLessThan(70);
  });
});

describe("with a limit of runs to come", () => {
  test.each([
    ["a spread", { when: "*/10 * * * *", maxFires: 3, spread: "25m" }, null],
    ["a slot", { when: "*/10 * * * *", maxFires: 3, slot: "15m" }, null],
    ["a hold with an end", { when: "*/10 * * * *", maxFires: 3 }, 35],
    ["a hold with an end and a spread", { when: "*/10 * * * *", maxFires: 4, spread: "25m" }, 35],
    ["a hold that releases all", { when: "*/10 * * * *", maxFires: 3, catchUp: { policy: "all" } }, 25],
  ])("Explain, strip, agenda and `next` agree on the last run: %s", async (_, body, heldFor) => {
    await world.put(key, body);
    await goOn(2);
    if (heldFor !== null) await world.pause(key, { until: at(heldFor * minute) });
    for (const pause of [0, 9, 13, 20]) {
      await goOn(pause);
      const now = world.clock.now().getTime();
      const { occurrences } = await nextOccurrences(world.sql, { key, n: 50, from: now });
      const next = occurrences.map((each) => each.at);
      const isComing = (instant: number) => instant > now;
      const listed = (await strip(7)).map((item) => item.at.getTime());
      expect(listed.filter(isComing)).toEqual(next);
      const window = { from: now + 1, to: at(4 * hour).getTime() };
      const { items } = await readAgenda(world.sql, { window, filter: {}, limit: 100 });
      expect(items.map(({ occurrence }) => occurrence.getTime())).toEqual(next);
      const last = next.at(-1) ?? now - (now % (10 * minute));
      const beyond = await explain(world.sql, { key, at: new Date(last + 10 * minute) });
      expect(beyond).toMatchObject({ outcome: "after-end", reason: "maxFires" });
    }
  });
});
