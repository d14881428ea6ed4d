import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Delivery, done, failed } from "../../lib/target/delivery.ts";
import { minute, second } from "../support/instants.ts";
import { connectAsMember, functionRoles } from "../support/role-logins.ts";
import { type BusWorld, busWorld } from "./bus-world.ts";

let world: BusWorld;

beforeEach(async () => {
  world = await busWorld({ roles: functionRoles });
});

afterEach(async () => {
  await world.stop();
});

const gone: Delivery = {
  ...failed("410 Gone", true),
  hold: "https://shop.example answered 410: it wants no more.",
};

/** Runs the next job of a schedule that has one each minute. */
async function next(outcome: Delivery): Promise<void> {
  world.outcome = () => outcome;
  await world.tick();
  await world.clock.advance(minute);
  await world.work();
}

const holds = (key: string) => world.sql`
  select h.owner, h.reason, h.until from carillon.holds h join carillon.schedules s on s.id = h.schedule_id where s.key = ${key}`;

const each = (key: string, more: object = {}) =>
  world.put(key, { when: "every 1m", retry: { attempts: 1 }, ...more });

describe("`holdAfter: n`", () => {
  test("`holdAfter: n` holds a schedule after n dead jobs in a row, by an edit in Carillon's name", async () => {
    await each("a", { holdAfter: 3 });
    for (const outcome of [failed("no"), failed("no"), done, failed("no"), failed("no")]) await next(outcome);
    await world.tick();
    expect(await holds("a")).toEqual([]);

    await next(failed("no"));
    await world.tick();
    expect(await holds("a")).toEqual([
      { owner: "carillon", reason: "3 jobs in a row are dead.", until: null },
    ]);
    expect(
      await world.sql`select actor, action, detail from carillon.audit where action = 'schedule.paused'`,
    ).toEqual([
      {
        actor: "carillon",
        action: "schedule.paused",
        detail: { owner: "carillon", reason: "3 jobs in a row are dead.", until: null },
      },
    ]);
    const delivered = world.delivered.length;
    await world.clock.advance(5 * minute);
    await world.work();
    expect(world.delivered).toHaveLength(delivered);
  });

  test("`holdAfter` counts from zero after a resume, which any caller with write scope may do", async () => {
    await each("a", { holdAfter: 2 });
    for (let i = 0; i < 2; i++) await next(failed("no"));
    await world.tick();
    expect(await holds("a")).toHaveLength(1);
    await world.resume("a");
    expect(await holds("a")).toEqual([]);
    expect(await world.sql`select from carillon.failure_runs`).toEqual([]);
    await next(failed("no"));
    await world.tick();
    expect(await holds("a")).toEqual([]);
  });

  test("`holdAfter` counts from zero after an edit", async () => {
    await each("a", { holdAfter: 2 });
    await next(failed("no"));
    await world.patch("a", { retry: { attempts: 1 }, timeout: "20s" });
    await next(failed("no"));
    await world.tick();
    expect(await holds("a")).toEqual([]);
  });

  test("`holdAfter` does not count a failed job that started before the last edit", async () => {
    await each("a", { holdAfter: 1, payload: 1 });
    await world.tick();
    await world.clock.advance(minute);
    world.outcome = async () => {
      await world.patch("a", { payload: 2 });
      return failed("no");
    };
    await world.work();
    await world.tick();
    expect(await holds("a")).toEqual([]);
    expect(await world.sql`select from carillon.failure_runs`).toEqual([]);
  });
});

describe("a target that wants no more jobs", () => {
  test("a target that wants no more jobs has its schedule held by the next tick, with the target's reason", async () => {
    world.tellAtOnce();
    await each("a");
    await next(gone);
    expect(await holds("a")).toEqual([]);
    await world.tick();
    expect(await holds("a")).toMatchObject([{ owner: "carillon", reason: expect.stringContaining("410") }]);
    expect(await world.sql`select from carillon.wanted_holds`).toEqual([]);
  });

  test("the slow worker holds the schedule of a target that wants no more jobs at once, which its role may do", async () => {
    await world.stop();
    world = await busWorld({
      roles: async (owner, url) => ({
        ...(await functionRoles(owner, url)),
        worker: await connectAsMember(owner, url, "carillon_handler"),
      }),
    });
    world.tellAtOnce();
    await each("a", { target: { handler: "greet" } });
    await next(gone);
    expect(await holds("a")).toHaveLength(1);
    expect((await world.arrived()).map((event) => event["detail-type"])).toEqual(["carillon.job.dead"]);
    expect(world.log.lines.map(({ event }) => event)).toEqual(["job.dead", "lifecycle.held"]);
  });

  test("the next tick holds the schedule if the worker could not hold it, and the job stays settled", async () => {
    world.tellAtOnce();
    await each("a", { target: { handler: "greet" } });
    world.outcome = () => gone;
    await world.tick();
    await world.clock.advance(minute);
    expect(await world.work()).toEqual([]);
    expect(world.log.lines.map(({ event }) => event)).toContain("lifecycle.holds-left");
    await world.tick();
    expect(await holds("a")).toHaveLength(1);
  });

  test("a schedule is not held for a target that an edit has replaced meanwhile", async () => {
    await each("a");
    await world.tick();
    await world.clock.advance(minute);
    world.outcome = async () => {
      await world.patch("a", { target: { queue: "elsewhere" } });
      return gone;
    };
    await world.work();
    await world.tick();
    expect(await holds("a")).toEqual([]);
    expect(await world.sql`select from carillon.wanted_holds`).toEqual([]);
  });

  test("a schedule that was deleted and made again under its key meanwhile is not held", async () => {
    await each("a");
    await world.tick();
    await world.clock.advance(minute);
    world.outcome = async () => {
      await world.remove("a");
      await each("a");
      return gone;
    };
    await world.work();
    await world.tick();
    expect(await holds("a")).toEqual([]);
    expect(await world.sql`select from carillon.wanted_holds`).toEqual([]);
  });

  test("a paused schedule gets the hold as well: the end of the pause does not start it again", async () => {
    await each("a");
    await world.tick();
    await world.clock.advance(minute);
    world.outcome = async () => {
      await world.pause("a", { owner: "bob" });
      return gone;
    };
    await world.work();
    await world.tick();
    await world.tick();
    expect(await holds("a")).toHaveLength(2);
    await world.resume("a", "bob");
    expect(await holds("a")).toMatchObject([{ owner: "carillon" }]);
    await world.resume("a", "carillon");
    expect(await holds("a")).toEqual([]);
  });
});

test("a resume releases the caller's own hold and Carillon's together, and the audit names both", async () => {
  await each("a");
  await next(gone);
  await world.tick();
  await world.pause("a");
  await world.clock.advance(second);
  expect(await world.resume("a")).toMatchObject({ change: "changed" });
  expect(await holds("a")).toEqual([]);
  expect(await world.sql`select detail from carillon.audit where action = 'schedule.resumed'`).toEqual([
    { detail: { owner: "ann", also: "carillon" } },
  ]);
});
