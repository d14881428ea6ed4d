import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

/** No tick until then; afterwards one each minute for a while. */
async function outage(until: Date): Promise<void> {
  await world.clock.setNow(until);
  for (let n = 0; n < 4; n++) {
    await world.tick();
    await world.work();
    await world.clock.advance(minute);
  }
}

/** In the order in which they ran, but only if overlaps are forbidden. */
const inOrder = (key: string) =>
  world.delivered.filter((each) => each.key === key).map(({ occurrence }) => occurrence.slice(11, 16));
const ran = (key: string) => inOrder(key).sort();
const skipped = async (key: string) =>
  (await world.jobs(key)).flatMap(({ occurrence, state, reason }) =>
    state === "skipped" ? [[occurrence.toISOString().slice(11, 16), reason]] : [],
  );
const ranges = () =>
  world.sql<{ key: string; from: Date; to: Date; count: number; reason: string }[]>`
    select s.key, from_at as from, to_at as to, count::int, reason from carillon.passed_over p join carillon.schedules s on s.id = p.schedule_id
    order by s.key, from_at`;

const cases = { cron: { when: "*/10 * * * *" }, interval: { when: "every 10m" } };

describe.each(Object.entries(cases))("after an outage, a schedule by %s", (_, body) => {
  test("By default only the newest of several missed occurrences runs", async () => {
    await world.put("latest", body);
    await outage(at("10:44:30"));
    expect(ran("latest")).toEqual(["10:40"]);
    expect(await skipped("latest")).toEqual([
      ["10:10", "missed"],
      ["10:20", "missed"],
      ["10:30", "missed"],
    ]);
  });

  test("Missed occurrences all run, oldest first, with `all`", async () => {
    await world.put("all", { ...body, catchUp: { policy: "all" } });
    await outage(at("10:44:30"));
    expect(ran("all")).toEqual(["10:10", "10:20", "10:30", "10:40"]);
    expect(await skipped("all")).toEqual([]);
  });

  test("Missed occurrences all run in order, one at a time, if overlaps queue", async () => {
    await world.put("queued", { ...body, overlap: "queue", catchUp: { policy: "all" } });
    await outage(at("14:04:30"));
    expect(inOrder("queued")).toHaveLength(24);
    expect(inOrder("queued")).toEqual(ran("queued"));
  });

  test("Missed occurrences run up to the limit, the newest ones", async () => {
    await world.put("all", { ...body, catchUp: { policy: "all", limit: 2 } });
    await outage(at("10:44:30"));
    expect(ran("all")).toEqual(["10:30", "10:40"]);
    expect(await skipped("all")).toEqual([
      ["10:10", "missed"],
      ["10:20", "missed"],
    ]);
  });

  test("Missed occurrences do not run with `skip`, and late ones still do", async () => {
    await world.put("skip", { ...body, catchUp: { policy: "skip" } });
    await outage(at("10:41:30"));
    expect(ran("skip")).toEqual(["10:40"]);
    expect(await skipped("skip")).toEqual([
      ["10:10", "missed"],
      ["10:20", "missed"],
      ["10:30", "missed"],
    ]);
  });

  test("Missed occurrences older than `within` do not run", async () => {
    await world.put("within", { ...body, catchUp: { policy: "all", within: "20m" } });
    await world.put("too-old", { ...body, catchUp: { within: "4m" } });
    await outage(at("10:44:30"));
    expect(ran("within")).toEqual(["10:30", "10:40"]);
    expect(ran("too-old")).toEqual([]);
    expect(await skipped("too-old")).toHaveLength(4);
  });

  test("Many missed occurrences are noted as one range", async () => {
    await world.put("many", { ...body, catchUp: { policy: "skip" } });
    await outage(at(30 * day + 4 * minute));
    expect(await skipped("many")).toEqual([]);
    expect(await ranges()).toEqual([
      {
        key: "many",
        from: at(10 * minute),
        to: at(30 * day),
        count: 30 * 24 * 6,
        reason: "missed",
      },
    ]);
    expect(ran("many")).toEqual(["10:10"].slice(1));
  });
});

test("A due job is not delayed by thousands of catch-up jobs", async () => {
  await world.put("flood", { when: "every 1m", catchUp: { policy: "all", limit: 5_000 } });
  await world.put("now", { when: "at 2026-03-05T10:00" });
  await world.clock.setNow(at(3 * day));
  await world.tick();
  await world.work();
  // Backlog jobs become ready over the minute, and the clock advances with them.
  const now = world.delivered.find(({ key }) => key === "now");
  expect(new Date(now?.at ?? Number.NaN).getTime() - at(3 * day).getTime()).toBeLessThan(2_000);
  for (let n = 0; n < 6; n++) {
    await world.clock.advance(minute);
    await world.tick();
    await world.work();
  }
  const flood = world.delivered.filter(({ key }) => key === "flood");
  const caughtUp = 3 * 24 * 60;
  expect(new Set(flood.map(({ occurrence }) => occurrence)).size).toBe(flood.length);
  expect(flood.length).toBeGreaterThanOrEqual(caughtUp);
}, 60_000);

test("After a resume the occurrences due under the hold follow `catchUp`, as missed ones do after an outage", async () => {
  await world.put("all", { when: "every 10m", catchUp: { policy: "all" } });
  await world.put("skip", { when: "every 10m", catchUp: { policy: "skip" } });
  for (const key of ["all", "skip"]) await world.pause(key);
  await world.clock.setNow(at(hour + 5 * minute));
  for (const key of ["all", "skip"]) await world.resume(key);
  await world.work();
  expect(ran("all")).toEqual(["10:10", "10:20", "10:30", "10:40", "10:50", "11:00"]);
  expect(ran("skip")).toEqual([]);
  expect((await skipped("skip")).map(([, reason]) => reason)).toEqual(Array(6).fill("paused"));
});

describe("a hold that ends by itself", () => {
  test("A hold that ends by itself releases jobs in its very second, without a tick then", async () => {
    await world.put("waiting", { when: "at 2026-03-02T10:02" });
    await world.put("missed", { when: "at 2026-03-02T10:04" });
    await world.put("often", { when: "every 10m", catchUp: { policy: "all" } });
    await world.tick();
    for (const key of ["waiting", "missed", "often"]) await world.pause(key, { until: at("10:31:07") });
    for (let time = at("10:01:00"); time < at("10:31:00"); time = new Date(time.getTime() + minute)) {
      await world.clock.setNow(time);
      await world.tick();
      await world.work();
    }
    expect(world.delivered).toEqual([]);
    await world.clock.setNow(at("10:31:07"));
    await world.work();
    expect(world.delivered.map(({ key, occurrence }) => `${key} ${occurrence.slice(11, 16)}`).sort()).toEqual(
      ["missed 10:04", "often 10:10", "often 10:20", "often 10:30", "waiting 10:02"],
    );
    await world.clock.setNow(at("10:40:00"));
    await world.tick();
    await world.work();
    expect(ran("often").at(-1)).toBe("10:40");
    expect(world.delivered.filter(({ at: when }) => when < at("10:31:07").toISOString())).toEqual([]);
    expect(await world.sql`select from carillon.holds`).toEqual([]);
    expect(
      await world.sql`select held_since, held_until from carillon.schedules where held_since is not null`,
    ).toEqual([]);
  });

  test("When a hold ends by itself, the occurrences that the policy does not run are noted once", async () => {
    await world.put("often", { when: "every 1m" });
    await world.pause("often", { until: at("10:30:00") });
    for (let n = 1; n <= 33; n++) {
      await world.clock.setNow(at(n * minute));
      await world.tick();
      await world.work();
    }
    // The newest missed one, the late ones, and all later ones.
    expect(ran("often")).toEqual(["10:27", "10:28", "10:29", "10:30", "10:31", "10:32", "10:33"]);
    expect(await ranges()).toEqual([
      { key: "often", from: at(minute), to: at(26 * minute), count: 26, reason: "paused" },
    ]);
  });

  test("A hold that is released early applies the policy at the time of the release", async () => {
    await world.put("often", { when: "every 1m", catchUp: { policy: "skip" } });
    await world.pause("often", { until: at("10:10:00") });
    await world.clock.setNow(at("10:08:30"));
    await world.tick();
    await world.resume("often");
    await world.work();
    expect(ran("often")).toEqual(["10:07", "10:08"]);
    for (let n = 9; n <= 12; n++) {
      await world.clock.setNow(at(n * minute));
      await world.tick();
      await world.work();
    }
    expect(ran("often")).toEqual(["10:07", "10:08", "10:09", "10:10", "10:11", "10:12"]);
  });

  test("A hold that is renewed shortly before its end continues", async () => {
    await world.put("often", { when: "every 1m", maxFires: 3 });
    await world.pause("often", { until: at("10:10:00") });
    await world.clock.setNow(at("10:08:30"));
    await world.tick();
    await world.pause("often", { until: at("10:20:00") });
    for (let n = 9; n <= 22; n++) {
      await world.clock.setNow(at(n * minute));
      await world.tick();
      await world.work();
    }
    expect(ran("often")).toEqual(["10:17", "10:18", "10:19"]);
    expect(await world.sql`select fires from carillon.schedules`).toEqual([{ fires: 3 }]);
  });

  test("The occurrences due under a hold that ends during an outage run after the outage", async () => {
    await world.put("often", { when: "every 10m", catchUp: { policy: "all" } });
    await world.pause("often", { until: at("10:25:00") });
    await outage(at("11:05:30"));
    expect(ran("often").slice(0, 6)).toEqual(["10:10", "10:20", "10:30", "10:40", "10:50", "11:00"]);
  });
});
