import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isoInstant } from "../../lib/cadence/zone/civil.ts";
import { explain } from "../../lib/explain/explain.ts";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { readOutages } from "../../lib/parcel/outages.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
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

describe("past and future instants", () => {
  test("Every instant has an explanation, from before the schedule existed to far ahead", async () => {
    await world.clock.setNow(at("10:01:00"));
    await world.put("often", { when: "*/5 * * * *", timezone: "Europe/Berlin" });
    await live(world, at("10:07:00"));
    expect(await told("often", "10:00:00")).toMatchObject({
      outcome: "not-created",
      sentence: "Is before the schedule existed: it was created at 2026-03-02T10:01:00Z by token `ann`.",
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

  test("An occurrence is also found by its due time", async () => {
    await world.put("spread", { when: "0 * * * *", spread: "10m", slot: "1m" });
    const { dueAt } = await told("spread", "11:00:00");
    expect(dueAt?.getTime()).toBeGreaterThan(at("11:00:00").getTime());
    await live(world, at("11:11:00"));
    expect(await told("spread", dueAt ?? 0)).toMatchObject({
      outcome: "ran",
      at: at("11:00:00"),
      asked: dueAt,
      dueAt,
    });
    expect(await told("spread", "12:00:00")).toMatchObject({ outcome: "planned", asked: null });
  });

  test.each([
    ["spread", { spread: "10m" }],
    ["slot", { slot: "10m" }],
  ])("The explanation of a run that its %s moves says so, before and after it ran", async (field, moves) => {
    await world.put("moved", { when: "3 * * * *", ...moves });
    const { dueAt } = await told("moved", "11:03:00");
    const due = `due at ${dueAt === null ? "" : isoInstant(dueAt.getTime())}, to which its \`${field}\` moves it`;
    expect(dueAt?.getTime()).toBeGreaterThan(at("11:03:00").getTime());
    const sentence = async () => (await told("moved", "11:03:00")).sentence;
    expect(await sentence()).toBe(`Is planned, ${due}: its job is made about three minutes before.`);
    await live(world, new Date((dueAt?.getTime() ?? 0) - 60_000));
    expect(await sentence()).toContain(`starts${due.slice("due".length)}`);
    await world.clock.setNow(new Date((dueAt?.getTime() ?? 0) + 5_000));
    expect(await sentence()).toBe(`Was ${due}, and has waited for a worker for 5 seconds.`);
    await world.work();
    expect(await sentence()).toContain(`late, because`);
    expect(await sentence()).toContain(`: ${due}, it started at`);
  });

  test("An explanation follows the attempts of its job", async () => {
    await world.put("poor", { when: "at 2026-03-02T10:05:00Z", retry: { attempts: 2, base: "10s" } });
    world.outcome = async (job) => {
      expect(await told("poor", "10:05:00")).toMatchObject({
        outcome: "running",
        sentence: expect.stringContaining(job.attempt === 0 ? "is not done yet." : "at attempt 2."),
      });
      return failed(`no luck ${job.attempt + 1}`);
    };
    await live(world, at("10:05:00"));
    expect(await told("poor", "10:05:00")).toMatchObject({
      outcome: "retrying",
      sentence: expect.stringMatching(
        /^Waits for a retry: 1 attempt failed, .*"no luck 1"; the next starts at 2026/,
      ),
    });
    await live(world, at("10:07:00"));
    expect(await told("poor", "10:05:00")).toMatchObject({
      outcome: "dead",
      sentence: expect.stringMatching(
        /failed 2 times, the last time with "no luck 2", and is dead since \S+: no retry is left\.$/,
      ),
    });
  });

  test("A success after a failed attempt names the attempt and the error", async () => {
    await world.put("lucky", { when: "at 2026-03-02T10:05:00Z" });
    world.outcome = ({ attempt }) => (attempt === 0 ? failed("no luck") : done);
    await live(world, at("10:07:00"));
    expect(await told("lucky", "10:05:00")).toMatchObject({
      outcome: "ran",
      sentence: expect.stringContaining(', at attempt 2 (the one before failed: "no luck")'),
    });
  });

  test("A job that waits for a worker says how long it has waited", async () => {
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

  test("An `at` seconds before the creation of its schedule is explained by that schedule", async () => {
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

  test("Jobs outside the cadence are shown", async () => {
    await world.put("often", { when: "*/5 * * * *", catchUp: { policy: "skip" } });
    await jump(world, at("10:18:00"));
    await jump(world, at("10:21:00"));
    const manual = await fireNow(deps(), { key: "often", caller });
    expect(await told("often", manual.occurrence)).toMatchObject({
      outcome: "fired",
      occurrence: false,
      beside: [{ id: manual.id }],
      sentence: expect.stringContaining("a manual job was made outside the cadence"),
    });
    await backfillSchedule(deps(), { key: "often", from: at(0), to: at("10:10:00"), limit: 10, caller });
    await world.work();
    expect(await told("often", "10:10:00")).toMatchObject({
      outcome: "skipped",
      reason: "missed",
      sentence: expect.stringContaining(
        "missed runs are not made up (`catchUp`: skip). It was backfilled too: that job is succeeded.",
      ),
      beside: [{ kind: "backfill" }],
    });
  });
});

describe("occurrences planned late", () => {
  test("An outage ends when the next tick begins, in its list as in explanations, also if that tick takes long", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await live(world, at("10:06:00"));
    let isSlow = true;
    world.queue.sqs.middlewareStack.add(
      (next) => async (args) => {
        if (isSlow) await world.clock.advance(36 * second);
        isSlow = false;
        return next(args);
      },
      { step: "initialize", priority: "high" },
    );
    await jump(world, at("10:33:00"));
    expect(isSlow).toBe(false);
    const { items } = await readOutages(world.sql, { limit: 10 });
    expect(items).toMatchObject([
      { what: "tick", from: at("10:06:00"), to: at("10:33:00"), notedAt: at("10:33:36") },
    ]);
    expect(await told("often", "10:20:00")).toMatchObject({
      outage: { what: "tick", from: at("10:06:00"), to: at("10:33:00") },
      sentence: expect.stringContaining(
        "planned 13 minutes later, because no tick ran from 2026-03-02T10:06:00Z to 2026-03-02T10:33:00Z,",
      ),
    });
  });

  test("A missed occurrence is collapsed into the newest missed one, singly or in a range", async () => {
    await world.put("often", { when: "*/5 * * * *" });
    await live(world, at("10:06:00"));
    await world.clock.setNow(at("10:33:00"));
    expect(await told("often", "10:20:00")).toMatchObject({
      outcome: "not-planned-yet",
      sentence: expect.stringContaining("the ticks have only reached 2026-03-02T10:09:00Z"),
    });
    await jump(world, at("10:33:00"));
    expect(await told("often", "10:20:00")).toMatchObject({
      outcome: "skipped",
      reason: "missed",
      collapsedInto: at("10:30:00"),
      sentence:
        "Did not run: it was due at 2026-03-02T10:20:00Z and could only be planned 13 minutes later, because no tick ran from 2026-03-02T10:06:00Z to 2026-03-02T10:33:00Z, and an occurrence planned more than 2 minutes late is missed; of the missed runs only that of 2026-03-02T10:30:00Z, the latest, is made up (`catchUp`: latest).",
    });
    expect(await told("often", "10:30:00")).toMatchObject({
      outcome: "ran",
      late: { byMs: 3 * minute, because: "tick" },
      sentence: expect.stringContaining("and it replaces the missed runs before it"),
    });
    await jump(world, at("13:03:00"));
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

  test("A missed occurrence waits in the backlog until its job is made, and occurrences beyond the limit are passed over", async () => {
    await world.put("all", { when: "* * * * *", catchUp: { policy: "all", limit: 20 } });
    await world.clock.setNow(at("11:00:00"));
    await world.tick({ backlogBudget: 3, backlogPerTurn: 3 });
    await world.work();
    expect(await told("all", "10:30:00")).toMatchObject({
      outcome: "skipped",
      reason: "missed",
      sentence: expect.stringContaining("only the newest 20 missed runs are made up (`catchUp`: all)"),
    });
    expect(await told("all", "10:39:00")).toMatchObject({
      outcome: "ran",
      late: { because: "tick" },
      sentence: expect.stringContaining("and missed occurrences run one after the other"),
    });
    expect(await told("all", "10:55:00")).toMatchObject({
      outcome: "backlog",
      backlog: { before: 4 },
      job: null,
      sentence: expect.stringContaining("4 of its schedule come first"),
    });
    await world.tick();
    await world.clock.setNow(at("11:02:00"));
    await world.tick();
    await world.work();
    expect(await told("all", "10:55:00")).toMatchObject({ outcome: "ran", late: { because: "tick" } });
  });

  test("An occurrence whose day was dropped has no known outcome", async () => {
    await world.put("daily", { when: "0 11 * * *" });
    await live(world, at("11:01:00"));
    await jump(world, at(40 * day));
    await jump(world, at(40 * day + hour));
    expect(await told("daily", "11:00:00")).toMatchObject({
      outcome: "too-old",
      occurrence: true,
      job: null,
    });
  });
});

describe("clock changes", () => {
  const berlin = { timezone: "Europe/Berlin" };

  test("A clock change explains why an occurrence was moved, and why there is none at an instant", async () => {
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
