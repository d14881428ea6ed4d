import { afterEach, expect, test } from "vitest";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;
afterEach(() => world.stop());
const hm = (d: Date) => d.toISOString().slice(11, 16);
async function live(until: Date, step = minute) {
  while (world.clock.now() < until) {
    await world.tick();
    await world.work();
    await world.clock.setNow(new Date(Math.min(until.getTime(), world.clock.now().getTime() + step)));
  }
  await world.tick();
  await world.work();
}

test("An `at` that is a little past runs at once, with a calendar too", async () => {
  world = await carillon();
  await world.tick();
  const read = readCalendarRules({ weekly: ["sun"] });
  if (!read.ok) throw new Error("The rules are invalid.");
  await putCalendar(
    { sql: world.sql, queue: world.queue },
    { name: "c", body: { description: null, rules: read.rules }, caller: { name: "cal" } },
  );
  await world.put("plain", { when: "at 2026-03-02T09:59:30" });
  await world.put("beside", { when: "at 2026-03-02T09:59:30", calendar: { name: "c" } });
  await live(at("10:02:00"));
  expect(world.delivered.map((d) => d.key).sort()).toEqual(["beside", "plain"]);
});

test("An `at` that is a little past runs at once, also in a list", async () => {
  world = await carillon();
  await world.tick();
  await world.put("list", { when: ["at 2026-03-02T09:59:30", "at 2026-03-02T12:00"] });
  await live(at("10:02:00"));
  expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(["2026-03-02T09:59:30.000Z"]);
});

test("With queued overlaps, jobs that a hold's end releases run before those due after it", async () => {
  world = await carillon();
  await world.tick();
  await world.put("k", { when: "every 10s", overlap: "queue" });
  await world.tick();
  await world.pause("k", { until: at("10:05:00") });
  await world.clock.setNow(at("10:04:00"));
  await world.tick();
  await world.clock.setNow(at("10:05:10"));
  const after =
    await world.sql`select id, occurrences[1] o from carillon.parcels where held_schedule is null and occurrences[1] = ${at("10:05:10")}`;
  const claimed = await claimParcel(world.sql, after[0]?.["id"] as string, 60_000);
  expect("jobs" in claimed ? claimed.jobs.map((j) => j.occurrence.toISOString()) : []).toEqual([]);
});

test("With queued overlaps, jobs of a released open hold run before those due after it", async () => {
  world = await carillon();
  await world.tick();
  await world.put("k", { when: "every 10s", overlap: "queue" });
  await world.tick();
  await world.pause("k");
  await world.clock.setNow(at("10:05:00"));
  await world.resume("k");
  await world.tick();
  await world.clock.setNow(at("10:05:10"));
  const after =
    await world.sql`select id, occurrences[1] o from carillon.parcels where ${at("10:05:10")} = any(occurrences)`;
  const claimed = await claimParcel(world.sql, after[0]?.["id"] as string, 60_000);
  expect("jobs" in claimed ? claimed.jobs.map((j) => j.occurrence.toISOString()) : []).toEqual([]);
});

test("If firing a shard fails while a hold ends, the next tick plans the schedule once", async () => {
  world = await carillon();
  await world.tick();
  await world.put("k", { when: "every 10m", catchUp: { policy: "all" } });
  await world.pause("k", { until: at("10:31:00") });
  await world.clock.setNow(at("10:45:00"));
  const [h] = await world.sql`select shard from carillon.schedules where key = 'k'`;
  // One tick in which firing this shard fails.
  await world.sql.unsafe(
    `create function pg_temp_fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`,
  );
  await world.sql.unsafe(
    `create trigger fail before update of watermark_at on carillon.shards for each row when (old.id = ${h?.["shard"]}) execute function pg_temp_fail()`,
  );
  await world.tick().catch(() => undefined);
  await world.sql.unsafe(`drop trigger fail on carillon.shards`);
  await world.tick();
  const rows = await world.sql`
  select p.due_at, p.occurrence from carillon.plan p join carillon.schedules s on s.id = p.schedule_id and s.version = p.version
  join carillon.shards h on h.id = p.shard where s.key = 'k' and (p.due_at, p.schedule_id) > (h.watermark_at, h.watermark_schedule)`;
  expect(rows.length).toBe(1);
});

test("An early resume of a hold with an end keeps `maxFires`", async () => {
  world = await carillon();
  await world.tick();
  await world.put("k", { when: "every 10s", maxFires: 5, catchUp: { policy: "all" } });
  await world.tick();
  await world.pause("k", { until: at("10:02:00") });
  await world.tick();
  await world.resume("k");
  await live(at("10:06:00"));
  expect((await world.jobs("k")).length).toBe(5);
  const [r] = await world.sql`select fires from carillon.schedules`;
  expect(r?.["fires"]).toBe(5);
});

test("A pause longer than the retention does not end a schedule, which is active after a resume", async () => {
  world = await carillon();
  await world.tick();
  await world.put("k", { when: "0 9 * * 3", catchUp: { policy: "skip" } });
  await world.pause("k");
  for (let n = 1; n <= 41; n++) {
    await world.clock.setNow(at(n * day + hour));
    await world.tick();
  }
  await world.resume("k");
  expect((await readSchedule(world.sql, "k"))?.state).toBe("active");
}, 60000);

test("A patch to a smaller slot under a hold with an end loses no occurrence", async () => {
  world = await carillon();
  await world.tick();
  await world.put("k", { when: "*/10 * * * *", slot: "15m", catchUp: { policy: "all" } });
  await live(at("10:12:00"));
  await world.pause("k", { until: at("10:16:00") });
  await world.clock.setNow(at("10:14:00"));
  await world.patch("k", { slot: null });
  await live(at("10:21:00"));
  expect((await world.jobs("k")).map((j) => hm(j.occurrence))).toContain("10:10");
});

test("A patch to a `when` with an `at` that is a little past runs that `at` at once", async () => {
  world = await carillon();
  await world.tick();
  await world.put("k", { when: "every 1h" });
  await world.patch("k", { when: ["at 2026-03-02T09:59:30", "0 0 1 1 *"] });
  await live(at("10:02:00"));
  expect(world.delivered.map((d) => d.occurrence)).toEqual(["2026-03-02T09:59:30.000Z"]);
});
test("A schedule created paused and then resumed runs nothing from before its creation", async () => {
  world = await carillon();
  await world.tick();
  await world.clock.setNow(at("10:12:00"));
  await world.put("k", { when: "*/5 * * * *", slot: "1h", paused: true, catchUp: { policy: "all" } });
  await world.clock.setNow(at("10:20:00"));
  await world.resume("k");
  await live(at("11:01:00"));
  expect((await world.jobs("k")).map((j) => hm(j.occurrence))[0]).toBe("10:15");
});

test("A payload edit on the day of creation does not start a daily run with a spread on that day", async () => {
  world = await carillon();
  await world.tick();
  await world.put("a", { when: "0 9 * * *", spread: "24h" });
  const { changes } = await world.patch("a", { payload: { x: 1 } });
  expect(changes.before[0]).toEqual(at(day - hour));
  await live(at("23:59:00"), 30 * minute);
  await live(at(1 * day), 30 * minute);
  expect((await world.jobs("a")).map((j) => j.occurrence.toISOString())).not.toContain(
    "2026-03-02T09:00:00.000Z",
  );
}, 60000);

test("A schedule with `maxFires` and queued overlaps keeps its limit through holds, outages and edits, under the functions' roles", async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
  await world.put("k", {
    when: "every 1m",
    catchUp: { policy: "all", limit: 100 },
    maxFires: 60,
    overlap: "queue",
  });
  await world.pause("k", { until: at("10:40:00") });
  await live(at("10:50:00"));
  await world.clock.setNow(at(1 * day));
  await world.patch("k", { payload: { a: 1 } });
  await live(at(day + 10 * minute));
  const n = (await world.jobs("k")).filter((j) => j.state === "succeeded").length;
  expect(n).toBe(60);
});

test("A `when` changed under a hold to one with a slot runs nothing from before the change", async () => {
  world = await carillon();
  await world.tick();
  await world.put("k", { when: "at 2026-03-02T23:00" });
  await world.pause("k");
  await world.clock.setNow(at("10:12:00"));
  await world.patch("k", { when: "*/5 * * * *", slot: "1h" });
  await world.clock.setNow(at("10:20:00"));
  await world.resume("k");
  expect((await world.jobs("k")).map((j) => hm(j.occurrence))).not.toContain("10:05");
  await live(at("11:01:00"));
  expect((await world.jobs("k")).map((j) => hm(j.occurrence))[0]).toBe("10:15");
});

test("A `when` and a payload changed while a slot delays runs give no occurrence from before the change", async () => {
  world = await carillon();
  await world.tick();
  await world.put("k", { when: "*/10 * * * *", slot: "15m" });
  await live(at("10:12:00"));
  await world.patch("k", { when: "*/5 * * * *" });
  await world.clock.setNow(at("10:13:00"));
  await world.patch("k", { payload: { a: 1 } });
  await live(at("10:31:00"));
  expect((await world.jobs("k")).map((j) => hm(j.occurrence))).not.toContain("10:05");
});

test("An occurrence that a calendar excludes is noted once ahead of time, and no longer once it is allowed", async () => {
  world = await carillon();
  const put = (rules: object) => {
    const read = readCalendarRules(rules);
    if (!read.ok) throw new Error("The rules are invalid.");
    const body = { description: null, rules: read.rules };
    return putCalendar({ sql: world.sql, queue: world.queue }, { name: "c", body, caller: { name: "cal" } });
  };
  await put({ weekly: ["mon"] });
  await world.put("k", { when: "*/5 * * * * *", calendar: { name: "c" } });
  await world.tick();
  for (let n = 0; n < 5; n++) await world.patch("k", { payload: { n } });
  const noted = () => world.sql`select coalesce(sum(count), 0)::int as count from carillon.passed_over`;
  expect(await noted()).toEqual([{ count: 36 }]);
  await put({ weekly: ["tue"] });
  await live(at("10:01:00"));
  expect(await noted()).toEqual([{ count: 0 }]);
  expect(world.delivered).toHaveLength(12);
});

test("Concurrent puts of a calendar each return the version that they wrote", async () => {
  world = await carillon();
  const put = (date: string) => {
    const read = readCalendarRules({ dates: [date] });
    if (!read.ok) throw new Error("The rules are invalid.");
    const body = { description: null, rules: read.rules };
    return putCalendar({ sql: world.sql, queue: world.queue }, { name: "c", body, caller: { name: "cal" } });
  };
  await put("12-01");
  const dates = ["12-02", "12-03", "12-04", "12-05"];
  const done = await Promise.all(dates.map(put));
  expect(done.map(({ calendar }) => calendar.rules.dates)).toEqual(dates.map((date) => [date]));
  expect(done.map(({ calendar }) => calendar.version).sort()).toEqual([2, 3, 4, 5]);
});
