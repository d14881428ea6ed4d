import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failed } from "../../lib/target/delivery.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { type BusWorld, busWorld } from "./bus-world.ts";

let world: BusWorld;

beforeEach(async () => {
  world = await busWorld({ roles: functionRoles });
});

afterEach(async () => {
  await world.stop();
});

const told = async (): Promise<Record<string, unknown>[]> =>
  (await world.arrived()).map((event) => ({ type: event["detail-type"], ...event.detail.data }));

/** Lets time pass without a tick. */
async function outage(ms: number): Promise<void> {
  await world.tick();
  await world.clock.advance(ms);
}

describe("missed occurrences", () => {
  test("missed occurrences are reported once for each schedule, with their number and their first and last instant", async () => {
    await world.put("cron", { when: "*/5 * * * *" });
    await world.put("steps", { when: "every 1m" });
    await outage(hour);
    await world.tick();
    await world.tick();

    const events = await told();
    expect(events.map(({ type }) => type)).toEqual(["carillon.job.missed", "carillon.job.missed"]);
    // The newest missed occurrence runs, and does not count as passed over.
    const last = (key: string) => events.find(({ schedule }) => Object(schedule).key === key);
    expect(last("cron")).toMatchObject({
      reason: "missed",
      count: 10,
      atLeast: false,
      from: at("10:05:00.000").toISOString(),
      to: at("10:50:00.000").toISOString(),
    });
    expect(last("steps")).toMatchObject({ reason: "missed" });
    const [row] = await world.sql<{ count: number }[]>`
      select (select count(*) from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id and s.key = 'steps' where j.reason = 'missed')
        + (select coalesce(sum(p.count), 0) from carillon.passed_over p join carillon.schedules s on s.id = p.schedule_id and s.key = 'steps') as count`;
    expect(last("steps")?.["count"]).toBe(Number(row?.count));
  });

  test("missed occurrences of a hundred schedules are reported in requests of ten", async () => {
    await Promise.all(Array.from({ length: 100 }, (_, i) => world.put(`s${i}`, { when: "every 10m" })));
    let requests = 0;
    world.bus.client.middlewareStack.add((next) => (args) => {
      requests += 1;
      return next(args);
    });
    await outage(hour);
    await world.tick();
    expect(new Set((await told()).map(({ schedule }) => Object(schedule).key)).size).toBe(100);
    expect(requests).toBe(10);
  });

  test("missed occurrences are reported if an edit found them before the ticks did", async () => {
    await world.put("a", { when: "every 10m" });
    await outage(hour);
    await world.patch("a", { when: "every 20m" });
    await world.tick();
    expect(await told()).toMatchObject([{ type: "carillon.job.missed", reason: "missed" }]);
  });

  test("missed occurrences are not reported if the event is switched off", async () => {
    await world.put("a", { when: "every 10m" });
    // A tick stores the setting after it has fired: it applies from the next tick on.
    await world.tick({ notify: ["dead"] });
    await world.clock.advance(hour);
    await world.tick({ notify: ["dead"] });
    expect(await world.outbox()).toEqual([]);
    await world.tick();
    expect(await told()).toEqual([]);
  });
});

describe("occurrences that are skipped for another reason", () => {
  test("skipped occurrences are reported only if the event is on", async () => {
    await world.put("a", { when: "every 10m" });
    await world.tick();
    await world.pause("a", { until: at(hour) });
    await world.clock.advance(2 * hour);
    await world.tick();
    expect(await world.sql`select from carillon.jobs where reason = 'paused'`).not.toEqual([]);
    expect((await told()).filter(({ type }) => type === "carillon.job.skipped")).toEqual([]);
  });

  test("skipped occurrences are reported with their reason, a single one with its job", async () => {
    const notify = ["skipped"] as const;
    await world.tick({ notify });
    await world.put("a", { when: "every 10m" });
    await world.tick({ notify });
    await world.pause("a", { until: at(25 * minute) });
    await world.clock.advance(26 * minute);
    await world.tick({ notify });
    await world.tick({ notify });
    expect(await told()).toMatchObject([
      {
        type: "carillon.job.skipped",
        reason: "paused",
        count: 1,
        from: at("10:10:00.000").toISOString(),
        job: { kind: "cadence", key: "a", reason: "paused", attempt: 0 },
      },
    ]);
  });
});

describe("a bus that does not answer", () => {
  const away = () => {
    const events = world.bus.client;
    const fails = async () => {
      throw new Error("connect ECONNREFUSED");
    };
    events.middlewareStack.add(() => fails, { name: "away", step: "initialize" });
    return () => events.middlewareStack.remove("away");
  };

  test("a bus that does not answer keeps no job from being made, fails the tick at its end, and is retried at growing intervals", async () => {
    await world.put("a", { when: "every 10m" });
    await outage(hour);
    const comesBack = away();
    await expect(world.tick()).rejects.toThrow("The bus default does not take events");
    expect((await world.jobs("a")).filter(({ state }) => state === "waiting")).not.toEqual([]);

    const waits: number[] = [];
    for (let round = 0; round < 5; round++) {
      const [event] = await world.outbox();
      waits.push(event?.waitSeconds ?? 0);
      await world.clock.advance((event?.waitSeconds ?? 0) * second);
      await expect(world.tick()).rejects.toThrow("ECONNREFUSED");
    }
    expect(waits.map((wait) => wait / 60)).toEqual([1, 2, 4, 8, 8]);

    comesBack();
    await world.clock.advance(8 * minute);
    await world.tick();
    const ids = (await world.arrived()).map(({ detail }) => detail.id);
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await world.outbox()).toEqual([]);
  });

  test("events that the bus has not taken for a day are given up, with a line in the log", async () => {
    await world.put("a", { when: "in 1m" });
    await world.sql`
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
      select 'dead', carillon.clock(), id, 'cadence', 0, 1, carillon.clock(), carillon.clock() from carillon.schedules`;
    await world.clock.advance(25 * hour);
    away();
    await expect(world.tick({ notify: ["dead"] })).rejects.toThrow("does not take events");
    expect(await world.outbox()).toEqual([]);
    expect(world.log.lines).toContainEqual(
      expect.objectContaining({ event: "lifecycle.given-up", fields: { events: 1, bus: "default" } }),
    );
  });

  test("if the bus takes some events and not others, only the others are sent again", async () => {
    await Promise.all(["a", "b", "c"].map((key) => world.put(key, { when: "every 10m" })));
    await outage(hour);
    world.bus.client.middlewareStack.add(
      (next) => async (args) => {
        const answer = await next(args);
        if ("Entries" in answer.output && answer.output.Entries !== undefined)
          answer.output.Entries[0] = { ErrorCode: "ThrottlingException", ErrorMessage: "later" };
        return answer;
      },
      { name: "refuse", step: "initialize" },
    );
    await expect(world.tick()).rejects.toThrow("ThrottlingException later");
    expect(await world.outbox()).toMatchObject([{ event: "missed", tries: 1 }]);
    world.bus.client.middlewareStack.remove("refuse");
    await world.clock.advance(minute);
    await world.tick();
    expect(await world.outbox()).toEqual([]);
  });
});

describe("jobs that are skipped at their start", () => {
  test("jobs that are skipped at their start are reported as overlapping or late, with the version and the times of the job", async () => {
    const notify = ["skipped"] as const;
    await world.tick({ notify });
    await world.put("late", { when: "in 1s", deadline: "5s" });
    await world.put("overlapping", { when: "every 1m", overlap: "skip", retry: { attempts: 2, base: "1h" } });
    await world.tick({ notify });
    await world.clock.advance(minute);
    world.outcome = () => failed("no");
    await world.work();
    await world.tick({ notify });
    await world.clock.advance(minute);
    await world.work();
    await world.tick({ notify });
    expect(
      (await told()).map(({ type, reason, count, job }) => ({ type, reason, count, key: Object(job).key })),
    ).toEqual([
      { type: "carillon.job.skipped", reason: "late", count: 1, key: "late" },
      { type: "carillon.job.skipped", reason: "overlap", count: 1, key: "overlapping" },
    ]);
  });

  test("jobs that are skipped at their start are not reported by default", async () => {
    await world.put("late", { when: "in 1s", deadline: "5s" });
    await world.tick();
    await world.clock.advance(minute);
    await world.work();
    expect(await world.jobs("late")).toMatchObject([{ state: "skipped", reason: "late" }]);
    expect(await world.outbox()).toEqual([]);
  });
});

test("the event about occurrences of an unreadable cadence has no count", async () => {
  await world.put("bad", { when: "*/5 * * * *", timezone: "Asia/Tokyo" });
  await world.tick({ notify: ["skipped"] });
  await world.sql`update carillon.cadences set timezone = 'Mars/Olympus'`;
  await world.clock.advance(hour);
  await world.put("bad", { when: "every 1h" });
  await world.tick({ notify: ["skipped"] });
  expect((await told()).filter(({ reason }) => reason === "unreadable")).toMatchObject([
    { type: "carillon.job.skipped", count: null, atLeast: true, from: at("10:05:00.000").toISOString() },
  ]);
});
