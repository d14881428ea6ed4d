import { afterEach, beforeEach, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";

let world: Carillon;
beforeEach(async () => {
  world = await carillon();
  await world.tick();
});
afterEach(() => world.stop());
const hm = (d: Date) => d.toISOString().slice(11, 16);
const all = async (key: string) => (await world.jobs(key)).map((j) => `${hm(j.occurrence)} ${j.state}`);
async function live(until: Date, step = minute) {
  while (world.clock.now() < until) {
    await world.tick();
    await world.work();
    await world.clock.setNow(new Date(Math.min(until.getTime(), world.clock.now().getTime() + step)));
  }
  await world.tick();
  await world.work();
}
const planRows = (key: string) => world.sql`
  select p.due_at, p.occurrence from carillon.plan p join carillon.schedules s on s.id = p.schedule_id and s.version = p.version
  join carillon.shards h on h.id = p.shard where s.key = ${key} and (p.due_at, p.schedule_id) > (h.watermark_at, h.watermark_schedule)`;

test("An unchanged put of a schedule whose hold has ended, while ticks lag, leaves it one plan row", async () => {
  const body = { when: "every 10m", catchUp: { policy: "all" } };
  await world.put("k", body);
  await world.pause("k", { until: at("10:31:00") });
  await world.clock.setNow(at("10:45:00"));
  const { change } = await world.put("k", body);
  expect(change).toBe("unchanged");
  const counts: number[] = [];
  for (let n = 0; n < 5; n++) {
    await world.tick();
    counts.push((await planRows("k")).length);
    await world.clock.advance(10 * minute);
  }
  expect(counts).toEqual([1, 1, 1, 1, 1]);
});

test("With `maxFires` and a backlog, an unchanged put after a hold that ended while ticks lagged counts each fire once", async () => {
  const body = { when: "every 1m", catchUp: { policy: "all", limit: 1000 }, maxFires: 1000 };
  await world.put("k", body);
  await world.pause("k", { until: at("10:31:00") });
  await world.clock.setNow(at("12:00:00"));
  await world.put("k", body);
  await world.tick();
  const [row] =
    await world.sql`select fires, (select count(*)::int from carillon.jobs j where j.schedule_id = s.id and state <> 'skipped') as jobs, (select coalesce(sum(owing),0)::int from carillon.backlog b where b.schedule_id = s.id) as owed from carillon.schedules s where key = 'k'`;
  expect(row?.["fires"]).toBe(row?.["jobs"] + row?.["owed"]);
});

test("`maxFires` is not exceeded if a hold ends before the watermark", async () => {
  await world.put("k", { when: "every 10s", maxFires: 3 });
  await world.tick();
  await world.pause("k", { until: at("10:01:00") });
  await live(at("10:05:00"));
  expect((await all("k")).length).toBe(3);
});

test("`maxFires` is not exceeded if an edit meets an ended hold while ticks lag", async () => {
  await world.put("k", { when: "every 10m", maxFires: 3, catchUp: { policy: "all" } });
  await world.pause("k", { until: at("10:31:00") });
  await world.clock.setNow(at("10:45:00"));
  await world.patch("k", { payload: { a: 1 } });
  await live(at("11:30:00"));
  expect((await all("k")).length).toBe(3);
});

test("After a hold under `maxFires` the ledger has the runs at its end, and the other occurrences as paused", async () => {
  await world.put("k", { when: "every 10m", maxFires: 1 });
  await world.pause("k", { until: at("14:05:00") });
  await live(at("14:10:00"));
  const ran = await all("k");
  const ranges = await world.sql`select count::int, reason from carillon.passed_over`;
  expect([ran, ranges]).toEqual([["14:00 succeeded"], [{ count: 23, reason: "paused" }]]);
});

test("With `maxFires` and catch-up `all`, the end of a hold runs the oldest occurrences that were due under it", async () => {
  await world.put("k", { when: "every 10m", maxFires: 3, catchUp: { policy: "all" } });
  await world.pause("k", { until: at("14:05:00") });
  await live(at("14:10:00"));
  const ran = await all("k");
  const ranges = await world.sql`select count::int, reason from carillon.passed_over`;
  expect([ran, ranges]).toEqual([["10:10 succeeded", "10:20 succeeded", "10:30 succeeded"], []]);
});

test.each([
  ["in time", minute],
  ["late", hour],
])(
  "Occurrences skipped by a hold are in the ledger, also if runs after its end use up `maxFires` (ticks %s)",
  async (_, step) => {
    await world.put("k", { when: "*/5 * * * *", maxFires: 1, catchUp: { policy: "skip" } });
    await world.pause("k", { until: at("10:14:00") });
    await live(at("10:16:00"), step);
    expect(await all("k")).toEqual(["10:05 skipped", "10:10 skipped", "10:15 succeeded"]);
  },
);

test.each([
  ["in time", minute],
  ["late", hour],
])("No occurrence is in the ledger after a hold whose end uses up `maxFires` (ticks %s)", async (_, step) => {
  await world.put("k", { when: "*/5 * * * *", maxFires: 1, catchUp: { policy: "all" } });
  await world.pause("k", { until: at("10:14:00") });
  await live(at("10:40:30"), step);
  expect(await all("k")).toEqual(["10:05 succeeded"]);
});

test("A run of the old cadence that an edit has kept still waits after a hold is renewed", async () => {
  await world.put("k", { when: "*/10 * * * *", slot: "15m" });
  await live(at("10:12:00"));
  await world.patch("k", { when: "0 * * * *" });
  expect(await all("k")).toContain("10:10 waiting");
  await world.clock.setNow(at("10:13:00"));
  await world.pause("k", { until: at("11:30:00") });
  await live(at("10:20:00"));
  expect(await all("k")).toContain("10:10 waiting");
  await world.pause("k", { until: at("11:40:00") });
  expect(await all("k")).toContain("10:10 waiting");
});

test("A smaller slot under a hold loses no occurrence", async () => {
  await world.put("k", { when: "*/10 * * * *", slot: "15m", catchUp: { policy: "all" } });
  await live(at("10:12:00"));
  await world.pause("k");
  await world.clock.setNow(at("10:14:00"));
  await world.patch("k", { slot: null });
  await world.clock.setNow(at("10:16:00"));
  await world.resume("k");
  await live(at("10:21:00"));
  expect(await all("k")).toContain("10:10 succeeded");
});

test("An occurrence that is not due yet when the cadence changes under a hold is in the ledger", async () => {
  await world.put("k", { when: "*/10 * * * *", slot: "15m" });
  await live(at("10:05:00"));
  await world.pause("k");
  await world.clock.setNow(at("10:12:00"));
  await world.patch("k", { when: "0 * * * *" });
  await world.resume("k");
  await live(at("10:31:00"));
  const ledger = [
    ...(await world.jobs("k")).map((j) => hm(j.occurrence)),
    ...(await world.sql`select from_at, to_at from carillon.passed_over`).map(
      (r) => `${hm(r["from_at"])}-${hm(r["to_at"])}`,
    ),
  ];
  expect(ledger.join()).toContain("10:10");
});

test("A payload edit does not bring back occurrences from before the schedule was created", async () => {
  await world.clock.setNow(at("10:12:00"));
  await world.put("plain", { when: "*/5 * * * *", slot: "1h" });
  await world.put("edited", { when: "*/5 * * * *", slot: "1h" });
  const next = (await readSchedule(world.sql, "plain"))?.nextAt;
  await world.clock.setNow(at("10:20:00"));
  await world.patch("edited", { payload: { a: 1 } });
  await live(at("11:01:00"));
  expect((await world.jobs("edited")).map((j) => hm(j.occurrence))).toEqual(
    (await world.jobs("plain")).map((j) => hm(j.occurrence)),
  );
  expect(next).toEqual((await world.jobs("plain"))[0]?.occurrence);
});

test("A hold that lasts longer than jobs are kept ends by itself too", async () => {
  await world.put("k", { when: "0 9 * * 3", catchUp: { policy: "skip" } });
  await world.pause("k", { until: at(40 * day) });
  for (let n = 1; n <= 41; n++) {
    await world.clock.setNow(at(n * day + hour));
    await world.tick();
  }
  await world.patch("k", { payload: { a: 1 } });
  expect((await readSchedule(world.sql, "k"))?.state).toBe("active");
}, 60000);

test("One batch releases a bounded number of jobs at the end of holds", async () => {
  for (let n = 0; n < 64; n++) {
    await world.put(`k${n}`, { when: "every 1m", catchUp: { policy: "all", limit: 10000 } });
    await world.pause(`k${n}`, { until: at(7 * day) });
  }
  await world.clock.setNow(at(7 * day - minute));
  await world.tick({});
  const rows =
    await world.sql`select shard, sum(cardinality(occurrences))::int n, count(distinct xmin::text)::int tx from carillon.backlog group by 1 order by 1`;
  expect(Math.max(...rows.map((r) => r["n"] / r["tx"]))).toBeLessThan(35_000);
}, 120000);
