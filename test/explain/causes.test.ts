import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { done } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { jump, live } from "../support/passing-time.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const told = (key: string, instant: Date | string | number) =>
  explain(world.sql, { key, at: instant instanceof Date ? instant : at(instant) });

const deps = () => ({ sql: world.sql, queue: world.queue });
const caller = { name: "ann" };

describe("holds", () => {
  test("A hold is named with its owner and reason while it lasts and afterwards", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await live(world, at("10:06:00"));
    await world.pause("often", { reason: "maintenance" });
    await live(world, at("10:08:00"));
    await world.pause("often", { owner: "bob" });
    await live(world, at("10:23:00"));
    const heldBy = [
      { owner: "ann", reason: "maintenance", since: at("10:06:00"), until: null },
      { owner: "bob", reason: null, since: at("10:08:00"), until: null },
    ];
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "held",
      heldBy,
      sentence: expect.stringContaining('held by ann ("maintenance") and bob since 2026-03-02T10:06:00Z'),
    });
    expect(await told("often", "12:00:00")).toMatchObject({ outcome: "held", heldBy });
    await world.resume("often", "ann");
    await live(world, at("10:26:00"));
    expect(await told("often", "10:25:00")).toMatchObject({ outcome: "held", heldBy: [{ owner: "bob" }] });
    await world.resume("often", "bob");
    await world.work();
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "skipped",
      reason: "paused",
      collapsedInto: at("10:20:00"),
      heldBy,
    });
    expect(await told("often", "10:20:00")).toMatchObject({
      outcome: "ran",
      late: { byMs: 6 * minute, because: "hold" },
      sentence: expect.stringContaining(
        'it was held by ann ("maintenance") and bob until 2026-03-02T10:26:00Z',
      ),
    });
    expect(await told("often", "10:30:00")).toMatchObject({ outcome: "planned" });
  });

  test("A hold that ends by itself is named with its end, before and after it", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await world.pause("often", { until: at("10:18:00"), reason: "lunch" });
    const heldBy = [{ owner: "ann", reason: "lunch", since: at(0), until: at("10:18:00") }];
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "held",
      heldBy,
      sentence:
        'Will be due while the schedule is held by ann ("lunch") since 2026-03-02T10:00:00Z: when the hold ends at 2026-03-02T10:18:00Z, only the latest missed run is made up (`catchUp`: latest).',
    });
    expect(await told("often", "10:20:00")).toMatchObject({ outcome: "planned" });
    await live(world, at("10:17:00"));
    expect(await told("often", "10:15:00")).toMatchObject({
      outcome: "held",
      job: { state: "waiting" },
      sentence: 'Waits until 2026-03-02T10:18:00Z, held by ann ("lunch").',
    });
    await live(world, at("10:21:00"));
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "skipped",
      reason: "paused",
      heldBy,
      collapsedInto: at("10:15:00"),
    });
    expect(await told("often", "10:15:00")).toMatchObject({ outcome: "ran", late: { because: "hold" } });
    expect(await told("often", "10:20:00")).toMatchObject({ outcome: "ran" });
  });

  test("A hold in force at the delete of its schedule explains occurrences that were due under it", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await world.pause("often", { reason: "stop" });
    await live(world, at("10:12:00"));
    await world.remove("often");
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "skipped",
      heldBy: [{ reason: "stop" }],
    });
  });
});

describe("edits", () => {
  test("An edit that withdrew an occurrence is named with its author, time and change", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await live(world, at("10:12:00"));
    await world.patch("often", { description: "the same times" }, "carl");
    await world.patch("often", { when: "*/7 * * * *" }, "bob");
    for (const instant of ["10:15:00", "13:25:00"]) {
      expect(await told("often", instant)).toMatchObject({
        outcome: "withdrawn",
        occurrence: false,
        edit: { version: 3, by: "bob", at: at("10:12:00"), change: "patched" },
        sentence: expect.stringContaining(
          "the schedule was edited by token `bob` (version 3) at 2026-03-02T10:12:00Z, before it was due, from `*/5 * * * *` in UTC to `*/7 * * * *` in UTC.",
        ),
      });
    }
    expect(await told("often", "10:10:00")).toMatchObject({ outcome: "ran", version: 1 });
    expect(await told("often", "10:14:00")).toMatchObject({ outcome: "planned", version: 3 });
  });

  test("An instant is explained by the schedule that had the key at that time", async () => {
    await world.put("twice", { when: "*/5 * * * *" });
    await live(world, at("10:12:00"));
    await world.remove("twice");
    expect(await told("twice", "10:15:00")).toMatchObject({
      outcome: "deleted",
      edit: { by: "ann", at: at("10:12:00"), change: "deleted" },
    });
    await world.clock.setNow(at("10:12:30"));
    await world.put("twice", { when: "*/10 * * * *" }, "bob");
    expect(await told("twice", "10:12:00")).toMatchObject({
      cadence: "*/5 * * * *",
      outcome: "not-an-occurrence",
    });
    expect(await told("twice", "10:05:00")).toMatchObject({ outcome: "ran", cadence: "*/5 * * * *" });
    expect(await told("twice", "10:12:15")).toMatchObject({ outcome: "not-created" });
    expect(await told("twice", "10:30:00")).toMatchObject({ outcome: "planned", cadence: "*/10 * * * *" });
  });

  test("A delete cancels an occurrence that was due and had not run", async () => {
    await world.put("often", { when: "*/5 * * * *", spread: "2m" });
    await world.clock.setNow(at("10:04:00"));
    await world.tick();
    const { dueAt } = await told("often", "10:05:00");
    expect(dueAt?.getTime()).toBeGreaterThan(at("10:05:00").getTime());
    await world.clock.setNow(at("10:05:00"));
    await world.clock.advance(1);
    await world.remove("often");
    expect(await told("often", "10:05:00")).toMatchObject({
      outcome: "deleted",
      dueAt,
      edit: { change: "deleted" },
    });
  });
});

describe("overlaps and deadlines", () => {
  test("A skipped overlap names the run that had not ended", async () => {
    await world.put("long", { when: "* * * * *", overlap: "skip" });
    world.outcome = async ({ occurrence }) => {
      if (occurrence > at("10:01:00")) return done;
      await world.clock.setNow(at("10:02:10"));
      await world.work();
      return done;
    };
    await live(world, at("10:01:00"));
    expect(await told("long", "10:02:00")).toMatchObject({
      outcome: "skipped",
      reason: "overlap",
      behind: at("10:01:00"),
      sentence: expect.stringContaining("the run of 2026-03-02T10:01:00Z was not over yet"),
    });
  });

  test("A queued overlap names the run that it waits or waited for", async () => {
    await world.put("long", { when: "* * * * *", overlap: "queue" });
    world.outcome = async ({ occurrence }) => {
      if (occurrence > at("10:01:00")) return done;
      await world.clock.setNow(at("10:02:10"));
      await world.work();
      expect(await told("long", "10:02:00")).toMatchObject({
        outcome: "waiting",
        reason: "lane",
        behind: at("10:01:00"),
      });
      return done;
    };
    await live(world, at("10:01:00"));
    expect(await told("long", "10:02:00")).toMatchObject({
      outcome: "ran",
      late: { byMs: 10 * second, because: "lane" },
      sentence: expect.stringContaining("it waited in its lane for the run of 2026-03-02T10:01:00Z"),
    });
  });

  test("A missed deadline says how late the job could have started", async () => {
    await world.put("urgent", { when: "*/5 * * * *", deadline: "30s" });
    await world.clock.setNow(at("10:03:00"));
    await world.tick();
    await world.clock.setNow(at("10:05:45"));
    await world.work();
    expect(await told("urgent", "10:05:00")).toMatchObject({
      outcome: "skipped",
      reason: "late",
      sentence:
        "Did not run: it could only have started 45 seconds after it was due, later than its deadline of 30s allows.",
    });
  });
});

describe("windows, limits and calendars", () => {
  test("An instant before the start, after the end or beyond the limit says so", async () => {
    await world.put("within", {
      when: "*/5 * * * *",
      startsAt: "2026-03-02T10:10:00Z",
      endsAt: "2026-03-02T10:20:00Z",
    });
    await world.put("thrice", { when: "*/5 * * * *", maxFires: 3 });
    expect(await told("within", "10:05:00")).toMatchObject({ outcome: "before-start" });
    expect(await told("within", "10:20:00")).toMatchObject({
      outcome: "after-end",
      reason: "endsAt",
      sentence: expect.stringContaining("ends at 2026-03-02T10:20:00Z"),
    });
    expect(await told("thrice", "10:15:00")).toMatchObject({ outcome: "planned" });
    expect(await told("thrice", "10:20:00")).toMatchObject({ outcome: "after-end", reason: "maxFires" });
    await live(world, at("10:22:00"));
    expect(await told("within", "10:15:00")).toMatchObject({ outcome: "ran" });
    expect(await told("thrice", "10:15:00")).toMatchObject({ outcome: "ran" });
    expect(await told("thrice", "10:20:00")).toMatchObject({
      outcome: "after-end",
      sentence: expect.stringContaining("had used up its `maxFires` of 3"),
    });
  });

  test("A calendar is named with the day and entry that exclude or move an occurrence", async () => {
    await putCalendar(deps(), {
      name: "closed",
      caller,
      body: { description: null, rules: { dates: ["2026-03-04", "03-05..03-06"], weekly: ["sat", "sun"] } },
    });
    await world.put("skips", { when: "0 9 * * *", calendar: { name: "closed" } });
    await world.put("moves", { when: "0 9 * * *", calendar: { name: "closed", on: "next" } });
    const calendar = { name: "closed", day: "2026-03-05", entry: "03-05..03-06" };
    const thursday = new Date("2026-03-05T09:00:00Z");
    expect(await told("skips", thursday)).toMatchObject({
      outcome: "skipped",
      reason: "calendar",
      calendar,
      occurrence: true,
      sentence: "Will not run: the calendar closed leaves out 2026-03-05, by its entry 03-05..03-06.",
    });
    expect(await told("moves", thursday)).toMatchObject({
      outcome: "moved",
      calendar,
      movedTo: new Date("2026-03-09T09:00:00Z"),
      occurrence: false,
    });
    expect(await told("moves", new Date("2026-03-09T09:00:00Z"))).toMatchObject({
      outcome: "planned",
      note: expect.stringContaining("moved from"),
    });
    await jump(world, new Date("2026-03-03T09:00:00Z"));
    await jump(world, new Date("2026-03-04T08:58:00Z"));
    await jump(world, new Date("2026-03-04T09:00:00Z"));
    expect(await told("skips", new Date("2026-03-04T09:00:00Z"))).toMatchObject({
      outcome: "skipped",
      reason: "calendar",
      calendar: { day: "2026-03-04", entry: "2026-03-04" },
      sentence: "Did not run: the calendar closed leaves out 2026-03-04.",
      job: { state: "skipped", reason: "calendar" },
    });
  });
});
