import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { backfillSchedule } from "../../lib/plan/backfill.ts";
import { putCalendar } from "../../lib/plan/calendar-edits.ts";
import { explain } from "../../lib/plan/explain.ts";
import { fireNow } from "../../lib/plan/fire-now.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const told = (key: string, instant: Date | string | number) =>
  explain(world.sql, { key, at: instant instanceof Date ? instant : at(instant) });

/** Nothing of interest happens until then. */
async function jump(until: Date): Promise<void> {
  await world.clock.setNow(until);
  await world.tick();
  await world.work();
}

/** Lets the time pass as it does in life: a tick each minute, and every message worked when it comes. */
async function live(until: Date): Promise<void> {
  while (world.clock.now() < until) {
    await world.tick();
    await world.work();
    await world.clock.setNow(new Date(Math.min(until.getTime(), world.clock.now().getTime() + minute)));
  }
  await world.tick();
  await world.work();
}

const deps = () => ({ sql: world.sql, queue: world.queue });
const caller = { name: "ann" };

describe("what ran and what is to come", () => {
  test("is told from before the schedule was made to far ahead", async () => {
    await world.clock.setNow(at("10:01:00"));
    await world.put("often", { when: "*/5 * * * *", timezone: "Europe/Berlin" });
    await live(at("10:07:00"));
    expect(await told("often", "10:00:00")).toMatchObject({
      outcome: "not-created",
      sentence: "Was before its schedule: the schedule was created at 2026-03-02T10:01:00Z by ann.",
      occurrence: false,
      version: null,
      nearest: { before: null, after: { at: at("10:05:00").getTime() } },
    });
    expect(await told("often", "10:05:00")).toMatchObject({
      key: "often",
      outcome: "ran",
      sentence:
        "Ran, on time: due at 2026-03-02T10:05:00Z, it started at 2026-03-02T10:05:00Z and succeeded at 2026-03-02T10:05:00Z.",
      occurrence: true,
      wall: "2026-03-02T11:05:00+01:00",
      version: 1,
      cadence: "*/5 * * * *",
      dueAt: at("10:05:00"),
      job: { state: "succeeded" },
    });
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "planned",
      sentence: "Is planned: its job is made, and starts at 2026-03-02T10:10:00Z.",
      job: { state: "waiting" },
    });
    expect(await told("often", "11:00:00")).toMatchObject({
      outcome: "planned",
      occurrence: true,
      job: null,
    });
    expect(await told("often", "11:02:30")).toMatchObject({
      outcome: "not-an-occurrence",
      occurrence: false,
      dueAt: null,
      nearest: { before: { at: at("11:00:00").getTime() }, after: { at: at("11:05:00").getTime() } },
    });
    await expect(told("nobody", "10:00:00")).rejects.toMatchObject({ kind: "missing" });
  });

  test("is told by the instant at which it was due, too", async () => {
    await world.put("spread", { when: "0 * * * *", spread: "10m", slot: "1m" });
    const { dueAt } = await told("spread", "11:00:00");
    expect(dueAt?.getTime()).toBeGreaterThan(at("11:00:00").getTime());
    await live(at("11:11:00"));
    expect(await told("spread", dueAt ?? 0)).toMatchObject({
      outcome: "ran",
      at: at("11:00:00"),
      asked: dueAt,
      dueAt,
    });
    expect(await told("spread", "12:00:00")).toMatchObject({ outcome: "planned", asked: null });
  });

  test("goes by the attempts that were made", async () => {
    await world.put("poor", { when: "at 2026-03-02T10:05:00Z", retry: { attempts: 2, base: "10s" } });
    world.outcome = async (job) => {
      expect(await told("poor", "10:05:00")).toMatchObject({
        outcome: "running",
        sentence: expect.stringContaining(job.attempt === 0 ? "is not done yet." : "at attempt 2."),
      });
      return failed(`no luck ${job.attempt + 1}`);
    };
    await live(at("10:05:00"));
    expect(await told("poor", "10:05:00")).toMatchObject({
      outcome: "retrying",
      sentence: expect.stringMatching(/^Is to be tried again: .*"no luck 1"; the next starts at 2026/),
    });
    await live(at("10:07:00"));
    expect(await told("poor", "10:05:00")).toMatchObject({
      outcome: "dead",
      sentence: expect.stringMatching(/all of its 2 attempts failed, the last with "no luck 2"\.$/),
    });
  });

  test("says what one that failed first came to", async () => {
    await world.put("lucky", { when: "at 2026-03-02T10:05:00Z" });
    world.outcome = ({ attempt }) => (attempt === 0 ? failed("no luck") : done);
    await live(at("10:07:00"));
    expect(await told("lucky", "10:05:00")).toMatchObject({
      outcome: "ran",
      sentence: expect.stringContaining(', at attempt 2 (the one before failed: "no luck")'),
    });
  });

  test("tells one that waits for a worker how long it has waited", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await world.clock.setNow(at("10:03:00"));
    await world.tick();
    await world.clock.setNow(at("10:06:00"));
    await world.tick();
    expect(await told("often", "10:05:00")).toMatchObject({
      outcome: "waiting",
      reason: "worker",
      sentence:
        "Was due at 2026-03-02T10:05:00Z and has waited for a worker for 1 minute; its message has been sent again once.",
    });
  });

  test("takes an `at` that lay a little before its schedule for its own", async () => {
    await world.clock.setNow(at("10:05:30"));
    await world.put("just", { when: "at 2026-03-02T10:05:00Z" });
    await world.tick();
    await world.work();
    expect(await told("just", "10:05:00")).toMatchObject({
      outcome: "ran",
      late: { byMs: 30 * second, because: "edit" },
      sentence: expect.stringContaining("because the schedule was created only at 2026-03-02T10:05:30Z"),
    });
  });

  test("knows jobs beside the cadence", async () => {
    await world.put("often", { when: "*/5 * * * *", catchUp: { policy: "skip" } });
    await jump(at("10:18:00"));
    await jump(at("10:21:00"));
    const manual = await fireNow(deps(), { key: "often", caller });
    expect(await told("often", manual.occurrence)).toMatchObject({
      outcome: "fired",
      occurrence: false,
      beside: [{ id: manual.id }],
      sentence: expect.stringContaining("a manual job was made beside the cadence"),
    });
    await backfillSchedule(deps(), { key: "often", from: at(0), to: at("10:10:00"), limit: 10, caller });
    await world.work();
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "skipped",
      reason: "missed",
      sentence: expect.stringContaining("`catchUp` is skip. It was backfilled too: that job is succeeded."),
      beside: [{ kind: "backfill" }],
    });
  });
});

describe("what the ticks came late for", () => {
  test("is collapsed into the newest that was missed, singly or as one of many", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await live(at("10:06:00"));
    await world.clock.setNow(at("10:33:00"));
    expect(await told("often", "10:20:00")).toMatchObject({
      outcome: "not-planned-yet",
      sentence: expect.stringContaining("the ticks have come to 2026-03-02T10:09:00Z only"),
    });
    await jump(at("10:33:00"));
    expect(await told("often", "10:20:00")).toMatchObject({
      outcome: "skipped",
      reason: "missed",
      collapsedInto: at("10:30:00"),
      sentence:
        "Did not run: it was due at 2026-03-02T10:20:00Z and could only be planned 13 minutes later, and what is planned more than 2 minutes late is missed; `catchUp` is latest: it is collapsed into the run of 2026-03-02T10:30:00Z.",
    });
    expect(await told("often", "10:30:00")).toMatchObject({
      outcome: "ran",
      late: { byMs: 3 * minute, because: "tick" },
      sentence: expect.stringContaining("it was planned late and stands for those missed before it"),
    });
    await jump(at("13:03:00"));
    expect(await told("often", "11:30:00")).toMatchObject({
      outcome: "skipped",
      reason: "missed",
      collapsedInto: at("13:00:00"),
      passedOver: { from: at("10:40:00"), to: at("12:55:00"), count: 28, more: false },
      sentence: expect.stringMatching(/It is one of 28 from 2026-03-02T10:40:00Z to 2026-03-02T12:55:00Z\.$/),
      job: null,
    });
    expect(await told("often", "13:00:00")).toMatchObject({ outcome: "ran", late: { because: "tick" } });
  });

  test("stands in the backlog until it is let in, and what was beyond the limit is passed over", async () => {
    await world.put("all", { when: "* * * * *", catchUp: { policy: "all", limit: 20 } });
    await world.clock.setNow(at("11:00:00"));
    await world.tick({ backlogBudget: 3, backlogPerTurn: 3 });
    await world.work();
    expect(await told("all", "10:30:00")).toMatchObject({
      outcome: "skipped",
      reason: "missed",
      sentence: expect.stringContaining("`catchUp` is all, but takes the newest 20 alone"),
    });
    expect(await told("all", "10:39:00")).toMatchObject({ outcome: "ran", late: { because: "backlog" } });
    expect(await told("all", "10:55:00")).toMatchObject({
      outcome: "backlog",
      backlog: { before: 4 },
      job: null,
      sentence: expect.stringContaining("4 of its schedule come before it"),
    });
    await world.tick();
    await world.clock.setNow(at("11:02:00"));
    await world.tick();
    await world.work();
    expect(await told("all", "10:55:00")).toMatchObject({ outcome: "ran", late: { because: "backlog" } });
  });

  test("cannot be told any more once its day was dropped", async () => {
    await world.put("daily", { when: "0 11 * * *" });
    await live(at("11:01:00"));
    await jump(at(40 * day));
    await jump(at(40 * day + hour));
    expect(await told("daily", "11:00:00")).toMatchObject({
      outcome: "too-old",
      occurrence: true,
      job: null,
    });
  });
});

describe("holds", () => {
  test("are named with their owners and reasons while they stand and afterwards", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await live(at("10:06:00"));
    await world.pause("often", { reason: "maintenance" });
    await live(at("10:08:00"));
    await world.pause("often", { owner: "bob" });
    await live(at("10:23:00"));
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
    await live(at("10:26:00"));
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

  test("that end by themselves say when, before and after", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await world.pause("often", { until: at("10:18:00"), reason: "lunch" });
    const heldBy = [{ owner: "ann", reason: "lunch", since: at(0), until: at("10:18:00") }];
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "held",
      heldBy,
      sentence: expect.stringContaining("Will be due while"),
    });
    expect(await told("often", "10:20:00")).toMatchObject({ outcome: "planned" });
    await live(at("10:17:00"));
    expect(await told("often", "10:15:00")).toMatchObject({
      outcome: "held",
      job: { state: "waiting" },
      sentence: 'Waits until 2026-03-02T10:18:00Z, held by ann ("lunch").',
    });
    await live(at("10:21:00"));
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "skipped",
      reason: "paused",
      heldBy,
      collapsedInto: at("10:15:00"),
    });
    expect(await told("often", "10:15:00")).toMatchObject({ outcome: "ran", late: { because: "hold" } });
    expect(await told("often", "10:20:00")).toMatchObject({ outcome: "ran" });
  });

  test("that stood when the schedule was deleted say so of what was due under them", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await world.pause("often", { reason: "stop" });
    await live(at("10:12:00"));
    await world.remove("often");
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "skipped",
      heldBy: [{ reason: "stop" }],
    });
  });
});

describe("edits", () => {
  test("name who took an occurrence away, when and by what", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await live(at("10:12:00"));
    await world.patch("often", { description: "the same times" }, "carl");
    await world.patch("often", { when: "*/7 * * * *" }, "bob");
    for (const instant of ["10:15:00", "13:25:00"]) {
      expect(await told("often", instant)).toMatchObject({
        outcome: "withdrawn",
        occurrence: false,
        edit: { version: 3, by: "bob", at: at("10:12:00"), change: "patched" },
        sentence: expect.stringContaining(
          "before it was due, version 3 of bob changed it from `*/5 * * * *` in UTC to `*/7 * * * *` in UTC",
        ),
      });
    }
    expect(await told("often", "10:10:00")).toMatchObject({ outcome: "ran", version: 1 });
    expect(await told("often", "10:14:00")).toMatchObject({ outcome: "planned", version: 3 });
  });

  test("keep what was of a key apart from what is", async () => {
    await world.put("twice", { when: "*/5 * * * *" });
    await live(at("10:12:00"));
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

  test("that delete cancel what was due and had not run", async () => {
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
  test("name the run that was not over when the next one's turn came", async () => {
    await world.put("long", { when: "* * * * *", overlap: "skip" });
    world.outcome = async ({ occurrence }) => {
      if (occurrence > at("10:01:00")) return done;
      await world.clock.setNow(at("10:02:10"));
      await world.work();
      return done;
    };
    await live(at("10:01:00"));
    expect(await told("long", "10:02:00")).toMatchObject({
      outcome: "skipped",
      reason: "overlap",
      behind: at("10:01:00"),
      sentence: expect.stringContaining("the run of 2026-03-02T10:01:00Z was not over yet"),
    });
  });

  test("say behind which run one waits or has waited in its lane", async () => {
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
    await live(at("10:01:00"));
    expect(await told("long", "10:02:00")).toMatchObject({
      outcome: "ran",
      late: { byMs: 10 * second, because: "lane" },
      sentence: expect.stringContaining("it waited in its lane for the run of 2026-03-02T10:01:00Z"),
    });
  });

  test("say how late one could have started", async () => {
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
  test("say before the start, after the end, and beyond the limit", async () => {
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
    await live(at("10:22:00"));
    expect(await told("within", "10:15:00")).toMatchObject({ outcome: "ran" });
    expect(await told("thrice", "10:15:00")).toMatchObject({ outcome: "ran" });
    expect(await told("thrice", "10:20:00")).toMatchObject({
      outcome: "after-end",
      sentence: expect.stringContaining("had used up its `maxFires` of 3"),
    });
  });

  test("name the calendar, the day and the entry by which one does not run or runs elsewhere", async () => {
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
    await jump(new Date("2026-03-03T09:00:00Z"));
    await jump(new Date("2026-03-04T08:58:00Z"));
    await jump(new Date("2026-03-04T09:00:00Z"));
    expect(await told("skips", new Date("2026-03-04T09:00:00Z"))).toMatchObject({
      outcome: "skipped",
      reason: "calendar",
      calendar: { day: "2026-03-04", entry: "2026-03-04" },
      sentence: "Did not run: the calendar closed leaves out 2026-03-04.",
      job: { state: "skipped", reason: "calendar" },
    });
  });
});

describe("clock changes", () => {
  const berlin = { timezone: "Europe/Berlin" };

  test("say why an occurrence is where it is, and why nothing is where one was looked for", async () => {
    await world.put("night", { when: "30 2 * * *", ...berlin });
    await world.put("skipping", { when: "30 2 * * *", ...berlin, dst: { gap: "skip" } });
    const note = expect.stringContaining("02:30 does not exist on");
    expect(await told("night", new Date("2026-03-29T01:00:00Z"))).toMatchObject({
      outcome: "planned",
      wall: "2026-03-29T03:00:00+02:00",
      note,
    });
    expect(await told("night", new Date("2026-03-29T01:30:00Z"))).toMatchObject({
      outcome: "not-an-occurrence",
      sentence: note,
    });
    expect(await told("skipping", new Date("2026-03-29T01:00:00Z"))).toMatchObject({
      outcome: "not-an-occurrence",
      sentence: note,
      nearest: { after: { note } },
    });
    expect(await told("night", new Date("2026-10-25T01:30:00Z"))).toMatchObject({
      outcome: "not-an-occurrence",
      sentence: expect.stringContaining("02:30 comes twice on this day; runs on the first"),
    });
  });
});
