import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { offsetChanges, withZones } from "../../lib/cadence/zone/zone-spans.ts";
import { closeGate } from "../../lib/db/locks.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { type StoredOffsets, storedZone } from "../../lib/rules/zone-data.ts";
import { dropOldZoneMoves, readZoneData, zoneMovesOf } from "../../lib/rules/zone-data-moves.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { findSchedule } from "../../lib/schedule/stored/stored-schedule.ts";
import { dueAt, firstDueAfter, timetableOf } from "../../lib/schedule/stored/timetable.ts";
import { replanZones } from "../../lib/tick/housekeeping/replan-zones.ts";
import { teamOf } from "../parcel/team-world.ts";
import { impatientTick, quarantined } from "../poison/poison.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

/** At this time Berlin is in winter time, and by the earlier rules it is still in summer time. */
const start = "2026-11-02T10:00:00.000Z";
const coversUntil = new Date("2036-01-01T00:00Z");
const berlin = { timezone: "Europe/Berlin" };
const tokyo = { timezone: "Asia/Tokyo" };

function offsetsNow(timezone: string): StoredOffsets {
  return offsetChanges(timezone, Date.UTC(2025, 0, 1), coversUntil.getTime()).map(({ from, offset }) => [
    from,
    offset,
  ]);
}

/**
 * By these rules summer time ended a month later in Berlin, and Tokyo was an hour less ahead until
 * the end of the year.
 */
const earlierRules: Record<string, StoredOffsets> = {
  "Europe/Berlin": offsetsNow("Europe/Berlin").map(([from, offset]) => [
    from === Date.UTC(2026, 9, 25, 1) ? Date.UTC(2026, 10, 25, 1) : from,
    offset,
  ]),
  "Asia/Tokyo": [
    [Date.UTC(2025, 0, 1), 8 * hour],
    [Date.UTC(2027, 0, 1), 9 * hour],
  ],
};

const earlierZones = new Map(
  Object.entries(earlierRules).map(([name, offsets]) => [name, storedZone(name, offsets, coversUntil)]),
);
const earlierZone = (timezone: string) => earlierZones.get(timezone) ?? null;

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ start, roles: functionRoles });
  await forgetZoneData();
  await world.tick({ zoneData: "2026a" });
  await storeEarlierRules("2026a");
});

afterEach(() => world.stop());

/** Removes the zone data, as in a new database. */
async function forgetZoneData(): Promise<void> {
  await world.sql`truncate carillon.zone_data, carillon.zone_updates, carillon.zone_moves`;
}

async function storeEarlierRules(version: string): Promise<void> {
  await world.sql`
    update carillon.zone_data set rules = rules || ${JSON.stringify(earlierRules)}::text::jsonb where version = ${version}`;
}

/** Creates a schedule as a runtime with the earlier rules would: its plan row follows them. */
async function putEarlier(key: string, body: object): Promise<void> {
  await world.put(key, body);
  await planEarlier(key);
}

async function planEarlier(key: string, after: Date = world.clock.now()): Promise<void> {
  const stored = await findSchedule(world.sql, key);
  if (stored === null) throw new Error(`There is no schedule ${key}.`);
  const { id, shard } = stored;
  const timetable = timetableOf(stored);
  const [state] = await world.sql<{ near: Date }[]>`
    select near_until as near from carillon.shards where id = ${shard}`;
  if (state === undefined) throw new Error(`There is no shard ${shard}.`);
  const next = withZones(earlierZone, () => firstDueAfter(timetable, after.getTime()));
  if (next === null) throw new Error(`${key} does not come any more.`);
  const due = new Date(dueAt(timetable, next));
  const rows = await world.sql`
    with near as (delete from carillon.plan where schedule_id = ${id} returning version, cadence_id, governed),
    far as (delete from carillon.plan_far where schedule_id = ${id} returning version, cadence_id, governed)
    select * from near union select * from far`;
  for (const row of rows)
    await world.sql`
      insert into carillon.${world.sql(due < state.near ? "plan" : "plan_far")}
      ${world.sql({ ...row, schedule_id: id, shard, occurrence: new Date(next), due_at: due })}`;
}

/** Like `putEarlier`, for a single run at a wall time, whose instant is stored. */
async function putOnceEarlier(key: string, wall: string, body: object = berlin, by = -hour): Promise<void> {
  await world.put(key, { when: `at ${wall}`, ...body });
  const { id = "" } = (await findSchedule(world.sql, key)) ?? {};
  const moved = world.sql`${by} * interval '1 millisecond'`;
  await world.sql`
    update carillon.schedule_versions set once_at = once_at + ${moved} where schedule_id = ${id} and once_at is not null`;
  for (const table of ["plan", "plan_far"])
    await world.sql`
      update carillon.${world.sql(table)} set due_at = due_at + ${moved}, occurrence = occurrence + ${moved} where schedule_id = ${id}`;
}

async function putNoHolidays(): Promise<void> {
  const read = readCalendarRules({ dates: [] });
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  const body = { description: null, rules: read.rules };
  await putCalendar({ sql: world.sql, queue: world.queue }, { name: "c", body, caller: { name: "cal" } });
}

const nextAt = async (key: string) =>
  (await readSchedule(world.sql, key))?.nextAt?.toISOString().slice(0, 16);
const versionOf = async (key: string) => (await readSchedule(world.sql, key))?.version;
const update = async () => (await readZoneData(world.sql)).updates[0];
const moves = async (version = "2026b") => {
  const page = await zoneMovesOf(world.sql, version, { limit: 100 });
  return (page?.items ?? []).map(({ key }) => key).sort();
};
const planned = async (key: string) => {
  const rows = await world.sql<{ at: Date }[]>`
    select p.occurrence as at from (select * from carillon.plan union all select * from carillon.plan_far) p
    join carillon.schedules s on s.id = p.schedule_id and s.version = p.version where s.key = ${key}`;
  return rows.map(({ at }) => at.toISOString().slice(0, 16));
};
const states = async (key: string) =>
  (await world.jobs(key)).map(({ occurrence, state }) => `${occurrence.toISOString().slice(0, 16)} ${state}`);

/** Ticks and works only at the moments that matter, instead of each minute. */
async function visit(...moments: string[]): Promise<void> {
  for (const moment of moments) {
    await world.clock.setNow(moment);
    await world.tick({ zoneData: "2026b" });
    await world.work();
  }
}

describe("newer zone data", () => {
  test("Newer zone data moves planned runs of a zone that differs, and reports them", async () => {
    await putEarlier("cron", { when: "0 9 * * *", ...berlin });
    await putEarlier("monthly", { when: "every 1 month", startsAt: "2026-10-12T10:00:00Z", ...berlin });
    await putEarlier("list", { when: ["0 9 * * *", "0 20 1 * *"], ...berlin });
    expect(await planned("cron")).toEqual(["2026-11-03T07:00"]);
    await world.tick({ zoneData: "2026b" });
    expect(await planned("cron")).toEqual(["2026-11-03T08:00"]);
    expect(await planned("list")).toEqual(["2026-11-03T08:00"]);
    expect(await planned("monthly")).toEqual(["2026-11-12T11:00"]);
    expect(await update()).toEqual({
      version: "2026b",
      from: "2026a",
      startedAt: new Date(start),
      finishedAt: new Date(start),
      zones: ["Asia/Tokyo", "Europe/Berlin"],
      checked: 3,
      moved: 3,
    });
    const items = (await zoneMovesOf(world.sql, "2026b", { limit: 100 }))?.items ?? [];
    const at = (...hours: string[]) => hours.map((each) => new Date(`2026-11-${each}:00Z`));
    expect(items.find(({ key }) => key === "cron")).toMatchObject({
      timezone: "Europe/Berlin",
      before: at("03T07", "04T07", "05T07", "06T07", "07T07"),
      after: at("03T08", "04T08", "05T08", "06T08", "07T08"),
    });
  });

  test("A change of zone data makes a version with the reason, and Carillon as its author", async () => {
    await putEarlier("cron", { when: "0 9 * * *", ...berlin });
    await world.tick({ zoneData: "2026b" });
    expect(
      await world.sql`
        select v.version, v.change::text, v.changed_by as by, a.detail from carillon.schedule_versions v
        join carillon.audit a on a.schedule_id = v.schedule_id and a.version = v.version where v.version > 1`,
    ).toEqual([
      {
        version: 2,
        change: "replanned",
        by: "carillon",
        detail: { timezone: "Europe/Berlin", zoneData: { from: "2026a", to: "2026b" } },
      },
    ]);
  });

  test("Newer zone data does not touch intervals, other zones, and schedules whose planned runs stay the same", async () => {
    await world.put("utc", { when: "0 9 * * *" });
    await world.put("paris", { when: "0 9 * * *", timezone: "Europe/Paris" });
    await world.put("interval", { when: "every 1h", ...berlin });
    await world.put("instant", { when: "at 2026-11-20T09:00:00+01:00", ...berlin });
    await world.put("relative", { when: "in 30h", ...berlin });
    await world.put("winter", { when: "0 9 1 12 *", ...berlin });
    await world.put("often", { when: "*/15 * * * *", ...berlin });
    await world.tick({ zoneData: "2026b" });
    for (const key of ["utc", "paris", "interval", "instant", "relative", "winter", "often"])
      expect([key, await versionOf(key)]).toEqual([key, 1]);
    expect(await update()).toMatchObject({ moved: 0 });
  });

  test("Newer zone data resolves wall times again, alone and in a list, and with a calendar", async () => {
    await putOnceEarlier("once", "2026-11-20T09:00");
    await world.put("list", { when: ["at 2026-11-20T09:00", "at 2026-11-21T09:00:00Z"], ...berlin });
    await putNoHolidays();
    await world.put("calendared", { when: "at 2026-11-20T09:00", calendar: { name: "c" }, ...berlin });
    await world.sql`
      update carillon.cadences set expression = replace(expression, '2026-11-20T08:00', '2026-11-20T07:00')`;
    expect(await nextAt("calendared")).toBe("2026-11-20T07:00");
    expect(await nextAt("once")).toBe("2026-11-20T07:00");
    expect(await nextAt("list")).toBe("2026-11-20T07:00");
    await world.tick({ zoneData: "2026b" });
    expect([await nextAt("once"), await planned("once")]).toEqual(["2026-11-20T08:00", ["2026-11-20T08:00"]]);
    expect([await nextAt("list"), await planned("list")]).toEqual(["2026-11-20T08:00", ["2026-11-20T08:00"]]);
    await visit(
      "2026-11-20T07:58:00Z",
      "2026-11-20T08:00:00Z",
      "2026-11-21T08:58:00Z",
      "2026-11-21T09:00:00Z",
    );
    expect(await states("once")).toEqual(["2026-11-20T08:00 succeeded"]);
    expect(await states("list")).toEqual(["2026-11-20T08:00 succeeded", "2026-11-21T09:00 succeeded"]);
  });

  test("Newer zone data withdraws jobs made ahead of time, and jobs that are due still run", async () => {
    await putEarlier("due", { when: "4 12 * * *", ...berlin });
    await putEarlier("ahead", { when: "6 12 * * *", ...berlin });
    await world.clock.advance(3 * minute);
    await world.tick({ zoneData: null });
    expect([await states("due"), await states("ahead")]).toEqual([
      ["2026-11-02T10:04 waiting"],
      ["2026-11-02T10:06 waiting"],
    ]);
    await world.clock.advance(90_000);
    await world.tick({ zoneData: "2026b" });
    await world.work();
    expect([await states("due"), await planned("due")]).toEqual([
      ["2026-11-02T10:04 succeeded"],
      ["2026-11-03T11:04"],
    ]);
    expect([await states("ahead"), await planned("ahead")]).toEqual([[], ["2026-11-02T11:06"]]);
    await visit("2026-11-02T10:06:00Z", "2026-11-02T11:04:00Z", "2026-11-02T11:06:00Z");
    expect(await states("due")).toHaveLength(1);
    expect(await states("ahead")).toEqual(["2026-11-02T11:06 succeeded"]);
  });

  test("Newer zone data acts like clocks put back: a run that fired by the old rules does not repeat that day", async () => {
    await putEarlier("ran", { when: "30 12 * * *", ...berlin });
    for (const moment of ["2026-11-02T10:28:30Z", "2026-11-02T10:30:00Z"]) {
      await world.clock.setNow(moment);
      await world.tick({ zoneData: null });
      await world.work();
    }
    await planEarlier("ran");
    await world.clock.setNow("2026-11-02T11:00:00Z");
    await putEarlier("new", { when: "30 12 * * *", ...berlin });
    expect([await planned("ran"), await planned("new")]).toEqual([
      ["2026-11-03T10:30"],
      ["2026-11-03T10:30"],
    ]);
    await world.tick({ zoneData: "2026b" });
    expect([await planned("ran"), await nextAt("ran")]).toEqual([["2026-11-03T11:30"], "2026-11-03T11:30"]);
    expect(await planned("new")).toEqual(["2026-11-02T11:30"]);
    await visit("2026-11-02T11:28:30Z", "2026-11-02T11:30:00Z", "2026-11-02T11:32:00Z");
    expect(await states("ran")).toEqual(["2026-11-02T10:30 succeeded"]);
    expect(await states("new")).toEqual(["2026-11-02T11:30 succeeded"]);
  });

  test("Newer zone data acts like clocks put forward: a skipped run fires once, at once", async () => {
    await putEarlier("fixed", { when: "15,30 18 * * *", ...tokyo });
    expect(await planned("fixed")).toEqual(["2026-11-02T10:15"]);
    await world.tick({ zoneData: "2026b" });
    expect(await states("fixed")).toEqual(["2026-11-02T09:30 waiting"]);
    expect(await planned("fixed")).toEqual(["2026-11-03T09:15"]);
    await world.work();
    await visit("2026-11-02T10:13:00Z", "2026-11-02T10:15:00Z", "2026-11-02T10:30:00Z");
    expect(await states("fixed")).toEqual(["2026-11-02T09:30 succeeded"]);
  });

  test("Runs that newer zone data skips or repeats follow the `dst` of their schedule", async () => {
    await putEarlier("fixed", { when: "30 18 * * *", ...tokyo, dst: { gap: "skip" } });
    await putEarlier("both", { when: "30 11 * * *", ...berlin, dst: { overlap: "both" } });
    await world.tick({ zoneData: "2026b" });
    expect([await states("fixed"), await planned("fixed")]).toEqual([[], ["2026-11-03T09:30"]]);
    expect(await planned("both")).toEqual(["2026-11-02T10:30"]);
  });

  test("A single time that newer zone data puts into the past runs at once", async () => {
    await putOnceEarlier("once", "2026-11-02T19:30", tokyo, hour);
    await world.clock.advance(hour);
    await world.tick({ zoneData: "2026b" });
    await world.clock.advance(1);
    await world.work();
    expect((await world.jobs("once")).map(({ state }) => state)).toEqual(["succeeded"]);
    await world.clock.setNow("2026-11-02T11:30:00Z");
    await world.tick({ zoneData: "2026b" });
    await world.work();
    expect(await world.jobs("once")).toHaveLength(1);
  });

  test("Newer zone data moves runs with a calendar, with a spread, and with a limit", async () => {
    await putNoHolidays();
    await putEarlier("calendared", { when: "0 9 * * *", calendar: { name: "c" }, ...berlin });
    await putEarlier("spread", { when: "0 9 * * *", spread: "1h", ...berlin });
    await putEarlier("limited", { when: "5 12 * * *", maxFires: 1, ...berlin });
    await world.clock.advance(3 * minute);
    await world.tick({ zoneData: null });
    expect(await states("limited")).toEqual(["2026-11-02T10:05 waiting"]);
    await world.tick({ zoneData: "2026b" });
    expect(await planned("calendared")).toEqual(["2026-11-03T08:00"]);
    expect(await planned("spread")).toEqual(["2026-11-03T08:00"]);
    expect([await states("limited"), await planned("limited")]).toEqual([[], ["2026-11-02T11:05"]]);
    await visit("2026-11-02T11:03:00Z", "2026-11-02T11:05:00Z");
    expect(await states("limited")).toEqual(["2026-11-02T11:05 succeeded"]);
    expect(await readSchedule(world.sql, "limited")).toMatchObject({ state: "ended" });
  });

  test("With newer zone data a calendar interval still begins at its instant", async () => {
    await world.put("daily", { when: "every 1 day", startsAt: "2026-11-10T09:00:00Z", ...tokyo });
    await world.sql`update carillon.cadences set expression = 'every 1 day from 2026-11-10T17:00:00.000'`;
    expect(await nextAt("daily")).toBe("2026-11-11T08:00");
    await world.tick({ zoneData: "2026b" });
    expect([await nextAt("daily"), await planned("daily")]).toEqual([
      "2026-11-10T09:00",
      ["2026-11-10T09:00"],
    ]);
  });

  test("Newer zone data moves runs planned beyond a pause that ends by itself", async () => {
    await putEarlier("cron", { when: "0 9 * * *", ...berlin });
    await world.pause("cron", { until: new Date("2026-11-05T12:00Z") });
    await planEarlier("cron", new Date("2026-11-05T12:00Z"));
    expect(await planned("cron")).toContain("2026-11-06T07:00");
    await world.tick({ zoneData: "2026b" });
    expect(await readSchedule(world.sql, "cron")).toMatchObject({
      state: "paused",
      holds: [{ owner: "ann" }],
    });
    expect(await planned("cron")).toEqual(["2026-11-03T08:00", "2026-11-06T08:00"]);
  });

  test("Newer zone data moves runs of a paused schedule", async () => {
    await putOnceEarlier("once", "2026-11-20T09:00");
    await putEarlier("cron", { when: "0 9 * * *", ...berlin });
    await world.pause("once");
    await world.pause("cron");
    await world.tick({ zoneData: "2026b" });
    expect(await readSchedule(world.sql, "once")).toMatchObject({
      state: "paused",
      holds: [{ owner: "ann" }],
    });
    await world.resume("once");
    await world.resume("cron");
    expect(await nextAt("once")).toBe("2026-11-20T08:00");
    expect(await planned("once")).toEqual(["2026-11-20T08:00"]);
    expect(await planned("cron")).toEqual(["2026-11-03T08:00"]);
  });
});

describe("a runtime", () => {
  test("The first runtime records its rules and moves nothing", async () => {
    await forgetZoneData();
    await putEarlier("cron", { when: "0 9 * * *", ...berlin });
    await world.tick({ zoneData: "2026b" });
    expect(await update()).toMatchObject({ version: "2026b", from: null, zones: [], moved: 0 });
    expect(await versionOf("cron")).toBe(1);
    const [row] = await world.sql<{ zones: number }[]>`
      select count(*)::int as zones from carillon.zone_data, jsonb_object_keys(rules)`;
    expect(row?.zones).toBeGreaterThan(400);
  });

  test("An older or equal runtime does nothing, in any order", async () => {
    await world.tick({ zoneData: "2026b" });
    await putEarlier("cron", { when: "0 9 * * *", ...berlin });
    for (const zoneData of ["2026a", "2026b", "2025z", "2026b", "odd", null]) await world.tick({ zoneData });
    expect(await versionOf("cron")).toBe(1);
    expect((await readZoneData(world.sql, "2026a")).updates.map(({ version }) => version)).toEqual([
      "2026b",
      "2026a",
    ]);
  });

  test("A newer runtime with the same rules moves nothing", async () => {
    await forgetZoneData();
    await world.tick({ zoneData: "2026b" });
    await world.put("cron", { when: "0 9 * * *", ...berlin });
    await world.tick({ zoneData: "2027a" });
    expect(await update()).toMatchObject({ version: "2027a", zones: [], checked: 0, moved: 0 });
    expect((await update())?.finishedAt).not.toBeNull();
    expect(await world.sql`select version from carillon.zone_data order by 1`).toEqual([
      { version: "2026b" },
      { version: "2027a" },
    ]);
  });

  test("Plans that a runtime with older rules makes after the update are corrected a day later", async () => {
    await world.tick({ zoneData: "2026b" });
    await putEarlier("late", { when: "0 9 5 * *", ...berlin });
    await world.put("right", { when: "0 9 5 * *", ...berlin });
    await world.clock.advance(day);
    await world.tick({ zoneData: "2026b" });
    expect(await planned("late")).toEqual(["2026-11-05T08:00"]);
    expect([await versionOf("late"), await versionOf("right")]).toEqual([2, 1]);
    expect(await moves()).toEqual(["late"]);
  });
});

describe("an update", () => {
  const keys = ["a", "b", "c", "d", "e", "f"];

  beforeEach(async () => {
    for (const key of keys) await putEarlier(key, { when: "0 9 * * *", ...berlin });
  });

  /** Replans until the check of the clock with this number, at which time is up. */
  const go = (looks: number) => {
    let left = looks;
    return replanZones(world, "2026b", {
      timeIsUp: () => left-- <= 0,
      note: (error) => {
        throw error;
      },
    });
  };

  /** Leaves an update as a tick does that recorded a release and was then killed. */
  async function beginUpdate(version: string): Promise<void> {
    await world.sql`
      insert into carillon.zone_updates (version, from_versions, zones, started_at, replan_after)
      values (${version}, '{2026a}', '{Europe/Berlin}', carillon.clock(), 0)`;
    const now = { "Europe/Berlin": offsetsNow("Europe/Berlin"), "Asia/Tokyo": offsetsNow("Asia/Tokyo") };
    await world.sql`
      insert into carillon.zone_data select ${version}, covers_from, covers_until, rules || ${JSON.stringify(now)}::text::jsonb
      from carillon.zone_data`;
  }

  test("An update continues where it was stopped, and counts each schedule once", async () => {
    await beginUpdate("2026b");
    await go(0);
    expect(await moves()).toEqual([]);
    // The clock is checked once for the page, once for its part, and once for each schedule.
    await go(4);
    expect(await moves()).toEqual(["a", "b"]);
    await go(5);
    expect(await moves()).toEqual(["a", "b", "c"]);
    await go(100);
    expect(await update()).toMatchObject({ checked: keys.length, moved: keys.length });
    expect(await moves()).toEqual(keys);
    for (const key of keys) expect(await versionOf(key)).toBe(2);
  });

  test("An update replans a team with few schedules before the rest of a team with many", async () => {
    const puts = Array.from({ length: 150 }, (_, n) => `evil-${n}`);
    const body = parseScheduleBody({ when: "0 9 * * *", target: { queue: "demo" }, ...berlin });
    await applyOperations(
      { sql: world.sql, queue: world.queue },
      puts.map((key) => ({ kind: "put", key, body, caller: { name: "ann" } })),
    );
    for (const key of puts) await planEarlier(key);
    await putEarlier("good", { when: "0 9 * * *", ...berlin });
    await teamOf(world, "evil");
    await beginUpdate("2026b");
    // The first page, its parts of a hundred, and their schedules: those above, a hundred of the
    // large team, and the small one.
    await go(1 + 2 + keys.length + 100 + 1);
    expect(await versionOf("good")).toBe(2);
    expect(await update()).toMatchObject({ moved: 107 });
    await go(10_000);
    expect(await update()).toMatchObject({ checked: 157, moved: 157 });
  });

  test("Concurrent ticks do an update once", async () => {
    await Promise.all([1, 2, 3].map(() => world.tick({ zoneData: "2026b" })));
    await world.tick({ zoneData: "2026b" });
    for (const key of keys)
      expect([await versionOf(key), await planned(key)]).toEqual([2, ["2026-11-03T08:00"]]);
    expect(await moves()).toEqual(keys);
    expect(await update()).toMatchObject({ checked: keys.length, moved: keys.length });
  });

  test("An update plans each schedule once, also those that are edited, paused or deleted meanwhile", async () => {
    await Promise.all([
      world.tick({ zoneData: "2026b" }),
      world.patch("a", { payload: 1 }),
      world.patch("b", { when: "0 10 * * *" }),
      world.pause("c").then(() => world.resume("c")),
      world.remove("d"),
      world.patch("e", { timezone: "UTC" }),
    ]);
    await world.tick({ zoneData: "2026b" });
    expect(await planned("a")).toEqual(["2026-11-03T08:00"]);
    expect(await planned("b")).toEqual(["2026-11-03T09:00"]);
    expect(await planned("c")).toEqual(["2026-11-03T08:00"]);
    expect(await planned("e")).toEqual(["2026-11-03T09:00"]);
    expect(await planned("f")).toEqual(["2026-11-03T08:00"]);
  });

  test("A newer update takes over the schedules that an unfinished one has not reached", async () => {
    await beginUpdate("2026b");
    await world.tick({ zoneData: "2026c" });
    const { updates } = await readZoneData(world.sql);
    expect(updates.map(({ version, finishedAt, moved }) => [version, finishedAt !== null, moved])).toEqual([
      ["2026c", true, keys.length],
      ["2026b", false, 0],
      ["2026a", true, 0],
    ]);
  });

  test("An update keeps the newest of its moves, and counts them all", async () => {
    await world.tick({ zoneData: "2026b" });
    await dropOldZoneMoves(world.sql, 2);
    const page = await zoneMovesOf(world.sql, "2026b", { limit: 1 });
    expect(page?.items).toHaveLength(1);
    const rest = await zoneMovesOf(world.sql, "2026b", { limit: 1, before: page?.next });
    expect([rest?.items.length, rest?.next]).toEqual([1, undefined]);
    expect(await update()).toMatchObject({ moved: keys.length });
  });

  test("An update retries a schedule that fails, which is set aside, and delays no other", async () => {
    await world.sql`
      create function carillon.refuse() returns trigger language plpgsql as $$ begin
        if new.key = 'c' then raise 'refused'; end if; return new; end $$`;
    await world.sql`
      create trigger refuse before insert on carillon.zone_moves for each row execute function carillon.refuse()`;
    await world.tick({ zoneData: "2026b" });
    expect(await moves()).toEqual(keys.filter((key) => key !== "c"));
    const aside = await world.sql`
      select q.consumer, s.key, q.reason from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id`;
    expect(aside).toEqual([{ consumer: "zone-replan", key: "c", reason: expect.stringContaining("P0001") }]);
    expect(await planned("c")).toEqual(["2026-11-03T07:00"]);
    expect((await update())?.finishedAt).toBeNull();
    await world.sql`drop trigger refuse on carillon.zone_moves`;
    await world.tick({ zoneData: "2026b" });
    expect(await versionOf("c")).toBe(1);
    await world.clock.advance(10 * minute);
    await world.tick({ zoneData: "2026b" });
    expect(await moves()).toEqual(keys);
    expect(await update()).toMatchObject({ checked: keys.length, moved: keys.length });
    expect(await world.sql`select from carillon.quarantine`).toEqual([]);
  });

  test("An update blames no schedule if the lock of its shard is not granted, and replans those of other shards", async () => {
    await world.sql`update carillon.schedules set shard = case when key = 'c' then 3 else 2 end`;
    for (const table of ["plan", "plan_far"])
      await world.sql`
        update carillon.${world.sql(table)} p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
    await impatientTick(world);
    await world.sql.begin(async (tx) => {
      await closeGate(tx, 3);
      await expect(world.tick({ zoneData: "2026b" })).rejects.toThrow(
        /^1 parts? of the tick failed: .*lock timeout/,
      );
      expect(await moves()).toEqual(keys.filter((key) => key !== "c"));
      expect(await quarantined(world)).toEqual([]);
    });
    await world.clock.advance(10 * minute);
    await world.tick({ zoneData: "2026b" });
    expect(await moves()).toEqual(keys);
  });
});
