import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import {
  type CalendarDone,
  putCalendar,
  type ReplanAtOnce,
  readCalendarWithCounts,
  removeCalendar,
} from "../../lib/rules/calendar-edits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { until } from "../support/until.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

interface Rules {
  dates?: string[];
  weekly?: string[];
  except?: string[];
}

/** Defines the calendar `c`. */
function put(
  rules: Rules,
  { atOnce, description = null }: { atOnce?: ReplanAtOnce; description?: string | null } = {},
): Promise<CalendarDone> {
  const read = readCalendarRules(rules);
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  const params = { name: "c", body: { description, rules: read.rules }, caller: { name: "cal" } };
  return putCalendar({ sql: world.sql, queue: world.queue }, params, atOnce);
}

const remove = () =>
  removeCalendar({ sql: world.sql, queue: world.queue }, { name: "c", caller: { name: "cal" } });
const by = (on: "skip" | "next" | "previous" = "skip") => ({ calendar: { name: "c", on } });
const nothingAtOnce: ReplanAtOnce = { most: 0, ms: 0 };
const ledger = async (key?: string) =>
  (await world.jobs(key)).map(({ occurrence, state, reason }) => [
    occurrence.toISOString().slice(5, 16),
    reason ?? state,
  ]);
const ranges = () =>
  world.sql`select from_at, to_at, count::int, reason from carillon.passed_over order by from_at, reason`;
const nextAt = async (key: string) => (await readSchedule(world.sql, key))?.nextAt;

/** Ticks and works at each of these moments, as the minutes around them would. */
async function visit(...moments: (Date | string)[]): Promise<void> {
  for (const moment of moments) {
    await world.clock.setNow(moment);
    await world.tick();
    await world.work();
  }
}

/** The minute before nine, and nine o'clock, of some days of March 2026. */
const nines = (...days: number[]) =>
  days.flatMap((day) => {
    const date = `2026-03-${String(day).padStart(2, "0")}`;
    return [`${date}T08:58:30Z`, `${date}T09:00:00Z`];
  });

describe("a schedule with a calendar", () => {
  test("A schedule with a calendar skips excluded days, and the ledger notes each when its time comes", async () => {
    await put({ dates: ["2026-03-03", "03-05"] });
    await world.put("daily", { when: "0 9 * * *", ...by() });
    expect(await nextAt("daily")).toEqual(new Date("2026-03-04T09:00Z"));
    expect(await ledger()).toEqual([]);
    await visit(...nines(3, 4, 5, 6));
    expect(await ledger()).toEqual([
      ["03-03T09:00", "calendar"],
      ["03-04T09:00", "succeeded"],
      ["03-05T09:00", "calendar"],
      ["03-06T09:00", "succeeded"],
    ]);
  });

  test.each([
    ["next", ["03-06T09:00", "03-09T09:00", "03-10T09:00"]],
    ["previous", ["03-06T09:00", "03-09T09:00", "03-10T09:00"]],
  ] as const)(
    "A schedule with a calendar moves the runs of a weekend to the %s business day, where they are one",
    async (on, runs) => {
      await put({ weekly: ["sat", "sun"] });
      await world.clock.setNow("2026-03-05T12:00:00Z");
      await world.put("daily", { when: "0 9 * * *", ...by(on) });
      await visit(...nines(6, 7, 8, 9, 10));
      expect(await ledger()).toEqual(runs.map((run) => [run, "succeeded"]));
    },
  );

  test.each([
    ["next", "0 9 8 * *", "03-09T09:00"],
    ["previous", "0 9 8 * *", "03-06T09:00"],
    ["next", ["0 9 8 * *", "0 9 15 * *"], "03-09T09:00"],
    ["previous", ["0 9 8 * *", "0 9 15 * *"], "03-06T09:00"],
  ] as const)(
    "A monthly run that falls on a Sunday is moved to the %s business day, by the cadence %j",
    async (on, when, run) => {
      await put({ weekly: ["sat", "sun"] });
      await world.put("monthly", { when, ...by(on) });
      await visit(...nines(6, 7, 8, 9));
      expect(await ledger()).toEqual([[run, "succeeded"]]);
    },
  );

  test("A schedule with a calendar follows the days of its own zone", async () => {
    await put({ dates: ["2026-03-03"] });
    await world.put("tokyo", { when: "0 6,22 * * *", timezone: "Asia/Tokyo", ...by() });
    await visit("2026-03-02T12:58:30Z", "2026-03-02T13:00:00Z");
    await visit(
      "2026-03-02T20:58:30Z",
      "2026-03-02T21:00:00Z",
      "2026-03-03T12:58:30Z",
      "2026-03-03T13:00:00Z",
    );
    await visit("2026-03-03T20:58:30Z", "2026-03-03T21:00:00Z");
    expect(await ledger()).toEqual([
      ["03-02T13:00", "succeeded"],
      ["03-02T21:00", "calendar"],
      ["03-03T13:00", "calendar"],
      ["03-03T21:00", "succeeded"],
    ]);
  });

  test("After an outage the missed minutes are noted as one range, and the minutes of an excluded day as another", async () => {
    await put({ dates: ["2026-03-03"] });
    await world.put("often", { when: "* * * * *", ...by() });
    await visit("2026-03-04T00:00:00Z");
    expect(await ranges()).toEqual([
      { from_at: at("10:04:00"), to_at: at("23:58:00"), count: 835, reason: "missed" },
      {
        from_at: new Date("2026-03-03T00:00Z"),
        to_at: new Date("2026-03-03T23:57Z"),
        count: 1438,
        reason: "calendar",
      },
    ]);
    expect((await ledger()).slice(3, 7)).toEqual([
      ["03-02T23:59", "succeeded"],
      ["03-03T23:58", "calendar"],
      ["03-03T23:59", "calendar"],
      ["03-04T00:00", "succeeded"],
    ]);
  });

  test("After an outage, catch-up runs the newest occurrence that the calendar allows", async () => {
    await put({ dates: ["2026-03-05"] });
    await world.put("daily", { when: "0 9 * * *", ...by() });
    await visit("2026-03-05T12:00:00Z");
    expect(await ledger()).toEqual([
      ["03-03T09:00", "missed"],
      ["03-04T09:00", "succeeded"],
      ["03-05T09:00", "calendar"],
    ]);
  });
});

describe("the edit of a calendar", () => {
  test("The edit of a calendar replans its schedules in a version that says why, and no others", async () => {
    await put({ dates: [] });
    await world.put("daily", { when: "0 9 * * *", ...by() });
    await world.put("plain", { when: "0 9 * * *" });
    const { change, replanned, calendar } = await put({ dates: ["2026-03-03"] });
    expect({ change, replanned }).toEqual({ change: "changed", replanned: 1 });
    expect(calendar).toMatchObject({ version: 2, schedules: 1, pending: 0, more: false, updatedBy: "cal" });
    expect(
      await world.sql`
      select s.key, v.version, v.change::text, v.changed_by as by, a.detail from carillon.schedule_versions v
      join carillon.schedules s on s.id = v.schedule_id
      join carillon.audit a on a.schedule_id = s.id and a.version = v.version where v.version > 1`,
    ).toEqual([
      { key: "daily", version: 2, change: "replanned", by: "cal", detail: { calendar: "c", version: 2 } },
    ]);
    expect(await nextAt("daily")).toEqual(new Date("2026-03-04T09:00Z"));
    await visit(...nines(3, 4));
    expect(await ledger("daily")).toEqual([
      ["03-03T09:00", "calendar"],
      ["03-04T09:00", "succeeded"],
    ]);
    expect(await ledger("plain")).toHaveLength(2);
  });

  test("The edit of a calendar withdraws jobs of a day that becomes a holiday, and jobs that were due before it still run", async () => {
    await put({ dates: [] });
    await world.put("often", { when: "* * * * *", ...by() });
    await world.clock.advance(minute);
    await put({ dates: ["2026-03-02"] });
    expect((await ledger()).filter(([, state]) => state === "waiting")).toEqual([["03-02T10:01", "waiting"]]);
    await visit(at("10:02:00"), at("10:04:30"), at("10:06:00"));
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual([at("10:01:00").toISOString()]);
    expect((await ledger()).slice(1, 6).map(([, reason]) => reason)).toEqual(Array(5).fill("calendar"));
  });

  test("Occurrences that an edited calendar no longer excludes run, also those noted as skipped ahead of time", async () => {
    await put({ dates: ["2026-03-02"] });
    await world.put("often", { when: "* * * * *", ...by() });
    await world.tick();
    expect((await ledger()).map(([, reason]) => reason)).toEqual(Array(3).fill("calendar"));
    await world.clock.setNow(at("10:01:30"));
    await put({ dates: [] });
    await visit(at("10:02:00"), at("10:03:00"), at("10:04:00"));
    expect((await ledger()).slice(0, 4)).toEqual([
      ["03-02T10:01", "calendar"],
      ["03-02T10:02", "succeeded"],
      ["03-02T10:03", "succeeded"],
      ["03-02T10:04", "succeeded"],
    ]);
  });

  test("The edit of a calendar keeps the phase of an interval, and the instant of a relative time", async () => {
    await put({ dates: [] });
    await world.put("hourly", { when: "every 1h", ...by() });
    await world.put("once", { when: "in 30h", ...by("next") });
    await world.clock.advance(20 * minute);
    await put({ dates: ["2026-03-03"] });
    expect(await nextAt("hourly")).toEqual(at("11:00:00"));
    expect(await nextAt("once")).toEqual(new Date("2026-03-04T16:00Z"));
  });

  test("The edit of a calendar keeps the window of a cadence", async () => {
    await put({ dates: [] });
    const window = { startsAt: "2026-03-03T00:00:00Z", endsAt: "2026-03-06T00:00:00Z" };
    await world.put("bounded", { when: "0 9 * * *", ...window, ...by() });
    await put({ dates: ["2026-03-03"] });
    expect(await nextAt("bounded")).toEqual(new Date("2026-03-04T09:00Z"));
    await visit(...nines(3, 4, 5, 6));
    expect((await ledger()).map(([, state]) => state)).toEqual(["calendar", "succeeded", "succeeded"]);
  });

  test("The edit of a calendar replans a paused schedule, which keeps its hold and follows the new rules after it", async () => {
    await put({ dates: [] });
    await world.put("daily", { when: "0 9 * * *", ...by() });
    await world.pause("daily");
    await world.clock.setNow("2026-03-03T12:00:00Z");
    await put({ dates: ["2026-03-04"] });
    expect(await readSchedule(world.sql, "daily")).toMatchObject({
      state: "paused",
      holds: [{ owner: "ann" }],
    });
    expect(await ranges()).toMatchObject([
      { from_at: new Date("2026-03-03T09:00Z"), count: 1, reason: "paused" },
    ]);
    await world.clock.setNow("2026-03-04T12:00:00Z");
    await world.resume("daily");
    await visit("2026-03-04T12:00:00Z", ...nines(5));
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(["2026-03-05T09:00:00.000Z"]);
    expect(await ledger()).toContainEqual(["03-04T09:00", "calendar"]);
  });

  test("A schedule without further runs after the edit of its calendar has ended, and a later edit revives it", async () => {
    await put({ dates: [] });
    await world.put("once", { when: "at 2026-03-03T09:00", ...by() });
    await put({ dates: ["2026-03-03"] });
    expect(await readSchedule(world.sql, "once")).toMatchObject({ state: "ended", nextAt: null });
    await put({ dates: [] });
    expect(await readSchedule(world.sql, "once")).toMatchObject({ state: "active" });
    await visit(...nines(3));
    expect(await ledger()).toEqual([["03-03T09:00", "succeeded"]]);
  });

  test("A schedule that could never run by its calendar is refused", async () => {
    await put({ dates: ["2026-03-03"] });
    await expect(world.put("once", { when: "at 2026-03-03T09:00", ...by() })).rejects.toMatchObject({
      kind: "invalid",
      faults: [{ path: "when" }],
    });
  });

  test("A new description of a calendar makes a version and replans nothing", async () => {
    await put({ dates: ["2026-03-03"] });
    await world.put("daily", { when: "0 9 * * *", ...by() });
    const { change, replanned, calendar } = await put({ dates: ["2026-03-03"] }, { description: "Holidays" });
    expect({ change, replanned }).toEqual({ change: "changed", replanned: 0 });
    expect(calendar).toMatchObject({ version: 2, description: "Holidays", pending: 0 });
    await world.put("another", { when: "0 9 * * *", ...by() });
    expect(await world.sql`select count(*)::int from carillon.cadences`).toEqual([{ count: 1 }]);
    expect((await put({ dates: ["2026-03-04"] })).replanned).toBe(2);
  });

  test("A put of a calendar with the same content in another notation changes nothing", async () => {
    await put({ dates: ["2026-03-03", "12-25"], weekly: ["sun", "sat"] });
    const again = await put({ dates: ["12-25", "2026-03-03", "12-25"], weekly: ["sat", "sun"], except: [] });
    expect(again).toMatchObject({ change: "unchanged", calendar: { version: 1 } });
  });
});

describe("the edit of a calendar between a day and the run that is moved from it or to it", () => {
  const lastRun = async () => (await ledger()).at(-1);

  test("An edit that moves past runs to a later day does not repeat them, also after an edit of the schedule", async () => {
    await put({ dates: [] });
    await world.put("monthly", { when: "0 11 2 * *", ...by("next") });
    await visit(at("10:58:30"), at("11:00:00"), at("12:00:00"));
    await put({ dates: ["2026-03-02"] });
    expect(await nextAt("monthly")).toEqual(new Date("2026-04-02T11:00Z"));
    await world.patch("monthly", { payload: 1 });
    await put({ dates: ["2026-03-02", "2026-03-05"] });
    await visit(
      "2026-03-03T10:58:30Z",
      "2026-03-03T11:00:00Z",
      "2026-04-02T10:58:30Z",
      "2026-04-02T11:00:00Z",
    );
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual([
      "2026-03-02T11:00:00.000Z",
      "2026-04-02T11:00:00.000Z",
    ]);
  });

  test("A run that was moved from a holiday does not repeat when the holiday is dropped", async () => {
    await put({ dates: ["2026-03-03"] });
    await world.put("monthly", { when: "0 11 3 * *", ...by("previous") });
    await visit(at("10:58:30"), at("11:00:00"), at("12:00:00"));
    expect(await lastRun()).toEqual(["03-02T11:00", "succeeded"]);
    await put({ dates: [] });
    expect(await nextAt("monthly")).toEqual(new Date("2026-04-03T11:00Z"));
  });

  test("Runs that the edit of a calendar moves into the past are noted", async () => {
    await put({ dates: [] });
    await world.put("monthly", { when: "0 11 3 * *", ...by("previous") });
    await visit(at("12:00:00"));
    await put({ dates: ["2026-03-03"] });
    expect(await nextAt("monthly")).toEqual(new Date("2026-04-03T11:00Z"));
    expect(await ranges()).toEqual([
      { from_at: at("11:00:00"), to_at: at("11:00:00"), count: 1, reason: "missed" },
    ]);
  });
});

describe("the replanning that an edit leaves pending", () => {
  const keys = ["a", "b", "c", "d", "e"];

  beforeEach(async () => {
    await put({ dates: [] });
    for (const key of keys) await world.put(key, { when: "0 9 * * *", ...by() });
  });

  const pending = async () => (await readCalendarWithCounts(world.sql, "c"))?.pending;

  test("Schedules that an edit of a calendar leaves pending are counted, and replanned by the next tick", async () => {
    const done = await put({ dates: ["2026-03-03"] }, { atOnce: { most: 2, ms: 5_000 } });
    expect(done).toMatchObject({ replanned: 2, calendar: { schedules: 5, pending: 3 } });
    await world.tick();
    expect(await pending()).toBe(0);
    for (const key of keys) expect(await readSchedule(world.sql, key)).toMatchObject({ version: 2 });
    expect(await world.sql`select from carillon.calendars where replan_after is not null`).toEqual([]);
    await world.tick();
    expect(await readSchedule(world.sql, "a")).toMatchObject({ version: 2 });
  });

  test("Pending replanning continues when the identical edit is sent again", async () => {
    await put({ dates: ["2026-03-03"] }, { atOnce: { most: 2, ms: 5_000 } });
    expect(await put({ dates: ["2026-03-03"] })).toMatchObject({ change: "unchanged", replanned: 3 });
    expect(await pending()).toBe(0);
  });

  test("A newer edit of a calendar replaces the pending replanning: each schedule is replanned once, by the newest rules", async () => {
    await put({ dates: ["2026-03-03"] }, { atOnce: { most: 2, ms: 5_000 } });
    await put({ dates: ["2026-03-04"] }, { atOnce: nothingAtOnce });
    expect(await pending()).toBe(5);
    await world.tick();
    const versions = await Promise.all(
      keys.map(async (key) => (await readSchedule(world.sql, key))?.version),
    );
    expect(versions).toEqual([3, 3, 2, 2, 2]);
    for (const key of keys) expect(await nextAt(key)).toEqual(new Date("2026-03-03T09:00Z"));
  });

  test("A schedule that is edited while its replanning is pending is still replanned, unless the edit resolves its cadence or deletes it", async () => {
    await put({ dates: ["2026-03-03"] }, { atOnce: nothingAtOnce });
    await world.patch("c", { payload: 1 });
    expect(await nextAt("c")).toEqual(new Date("2026-03-03T09:00Z"));
    expect(await pending()).toBe(5);
    await world.patch("d", { when: "0 8 * * *" });
    expect(await pending()).toBe(4);
    await world.remove("e");
    expect(await pending()).toBe(3);
    await world.tick();
    expect(await nextAt("c")).toEqual(new Date("2026-03-04T09:00Z"));
    expect(await nextAt("d")).toEqual(new Date("2026-03-04T08:00Z"));
  });

  test("A schedule whose replanning fails is set aside and retried, and the others are replanned", async () => {
    await world.sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin
        if new.version > 1 and new.schedule_id = (select id from carillon.schedules where key = 'b') then
          raise exception 'b is broken'; end if; return new; end $$;
      create trigger refuse before insert on carillon.schedule_versions for each row execute function refuse()`);
    expect(await put({ dates: ["2026-03-03"] })).toMatchObject({ replanned: 4, calendar: { pending: 1 } });
    await world.tick();
    expect(await pending()).toBe(1);
    const aside = await world.sql`
      select q.consumer, s.key, q.reason from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id`;
    expect(aside).toEqual([
      { consumer: "calendar-replan", key: "b", reason: expect.stringContaining("P0001") },
    ]);
    await world.sql.unsafe("drop trigger refuse on carillon.schedule_versions");
    await world.tick();
    expect(await pending()).toBe(1);
    await world.clock.advance(minute);
    await world.tick();
    expect(await pending()).toBe(0);
    expect(await world.sql`select from carillon.quarantine`).toEqual([]);
    expect(await nextAt("b")).toEqual(new Date("2026-03-04T09:00Z"));
  });

  test("Concurrent ticks and edits replan each schedule once", async () => {
    await put({ dates: ["2026-03-03"] }, { atOnce: nothingAtOnce });
    await Promise.all([world.tick(), world.tick(), put({ dates: ["2026-03-03"] })]);
    await world.tick();
    const versions = await Promise.all(
      keys.map(async (key) => (await readSchedule(world.sql, key))?.version),
    );
    expect(versions).toEqual([2, 2, 2, 2, 2]);
    expect(await pending()).toBe(0);
  });
});

describe("a calendar and its schedules, edited at the same moment", () => {
  const waiting = (most: number) =>
    until(`${most} wait for a lock`, async () => {
      const rows = await world.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return rows.length === most;
    });

  test("The edit of a calendar waits for an uncommitted schedule that refers to it, and replans it", async () => {
    await put({ dates: ["2026-03-03"] });
    let creating: Promise<unknown> | undefined;
    let editing: Promise<CalendarDone> | undefined;
    await world.sql.begin(async (tx) => {
      await tx`lock table carillon.schedules in share mode`;
      creating = world.put("daily", { when: "0 9 * * *", ...by() });
      await waiting(1);
      editing = put({ dates: ["2026-03-04"] });
      await waiting(2);
    });
    await creating;
    expect(await editing).toMatchObject({ change: "changed", replanned: 1 });
    expect(await nextAt("daily")).toEqual(new Date("2026-03-03T09:00Z"));
  });

  test("A schedule created during the edit of its calendar waits for it, and gets the new rules", async () => {
    await put({ dates: ["2026-03-03"] });
    let creating: Promise<unknown> | undefined;
    await world.sql.begin(async (tx) => {
      await tx`update carillon.calendars set version = 2, rules_version = 2, replan_after = 0`;
      await tx`
        insert into carillon.calendar_versions (calendar_id, version, rules, changed_at, changed_by)
        select id, 2, '{"dates": ["2026-03-04"], "weekly": []}', carillon.clock(), 'cal' from carillon.calendars`;
      creating = world.put("daily", { when: "0 9 * * *", ...by() });
      await waiting(1);
    });
    await creating;
    expect(await nextAt("daily")).toEqual(new Date("2026-03-03T09:00Z"));
    expect(await readCalendarWithCounts(world.sql, "c")).toMatchObject({ pending: 0 });
  });

  test("A schedule created during the delete of its calendar is refused", async () => {
    await put({ dates: [] });
    let creating: Promise<unknown> | undefined;
    await world.sql.begin(async (tx) => {
      await tx`update carillon.calendars set deleted_at = carillon.clock()`;
      creating = world.put("daily", { when: "0 9 * * *", ...by() });
      creating.catch(() => {});
      await waiting(1);
    });
    await expect(creating).rejects.toMatchObject({
      kind: "impossible",
      faults: [{ path: "calendar.name" }],
    });
  });

  test("Two puts of a calendar are done one after the other", async () => {
    const made = await Promise.all([put({ dates: ["2026-03-03"] }), put({ dates: ["2026-03-04"] })]);
    expect(made.map(({ change }) => change).sort()).toEqual(["changed", "created"]);
    await world.put("daily", { when: "0 9 * * *", ...by() });
    await Promise.all([put({ dates: ["2026-03-05"] }), put({ dates: ["2026-03-06"] })]);
    await world.tick();
    const calendar = await readCalendarWithCounts(world.sql, "c");
    expect(calendar).toMatchObject({ version: 4, pending: 0 });
    const [own] = await world.sql`
      select v.version from carillon.schedules s
      join carillon.schedule_versions p on p.schedule_id = s.id and p.version = s.spec_version
      join carillon.cadences k on k.id = p.cadence_id join carillon.calendar_versions v on v.id = k.calendar_version`;
    expect(own).toEqual({ version: 4 });
  });
});

describe("a calendar is deleted", () => {
  test("A calendar is deleted only if no live schedule refers to it, and its name is free afterwards", async () => {
    await put({ dates: ["2026-03-03"] });
    await world.put("daily", { when: "0 9 * * *", ...by() });
    await expect(remove()).rejects.toMatchObject({ kind: "conflict" });
    await world.put("daily", { when: "0 9 * * *" });
    await remove();
    expect(await readCalendarWithCounts(world.sql, "c")).toBeNull();
    await expect(remove()).rejects.toMatchObject({ kind: "missing" });
    expect(await put({ dates: [] })).toMatchObject({ change: "created", calendar: { version: 1 } });
    expect(
      await world.sql`select action, actor, version from carillon.audit where subject = 'c' order by id`,
    ).toEqual([
      { action: "calendar.created", actor: "cal", version: 1 },
      { action: "calendar.deleted", actor: "cal", version: 1 },
      { action: "calendar.created", actor: "cal", version: 1 },
    ]);
  });

  test("A calendar is deleted although a deleted schedule referred to it, whose ledger stays", async () => {
    await put({ dates: ["2026-03-02"] });
    await world.put("hourly", { when: "every 1h", ...by() });
    await visit(at(hour));
    await world.remove("hourly");
    await remove();
    expect(await ledger()).toEqual([["03-02T11:00", "calendar"]]);
  });
});
