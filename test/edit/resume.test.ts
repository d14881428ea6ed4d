import { afterEach, beforeEach, expect, test } from "vitest";
import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { turnMax } from "../../lib/plan/backlog.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const deps = () => ({ sql: world.sql, queue: world.queue });
const group = { label: { scope: "group", name: "g" }, caller } as const;
const letIn = () => world.sql`select from carillon.jobs where kind = 'backfill'`;

const ways: readonly [string, () => Promise<unknown>, () => Promise<unknown>][] = [
  ["a schedule", () => world.pause("minutes"), () => world.resume("minutes")],
  ["a group", () => pauseLabel(deps(), group), () => resumeLabel(deps(), group)],
];

test.each(ways)(
  "the resume of %s lets its backlog continue with the next tick",
  async (_of, pause, resume) => {
    // The backlog of a held schedule is checked once a minute: without a wake the resume has no
    // effect on it until then.
    await world.put("minutes", { when: "every 1m", group: "g" });
    await world.clock.advance(10 * hour);
    await world.tick();
    await backfillSchedule(deps(), {
      key: "minutes",
      from: at(0),
      to: at(5 * hour),
      limit: 1_000,
      caller,
    });
    await pause();
    await world.clock.advance(second);
    await world.tick();
    expect(await letIn()).toHaveLength(turnMax);
    await world.clock.advance(second);
    await resume();
    await world.tick();
    expect(await letIn()).toHaveLength(300);
  },
);

test.each(ways)(
  "the resume of %s resets the count of jobs that died in a row",
  async (_of, pause, resume) => {
    // Otherwise a schedule that was repaired under the hold is held again at its next failure.
    await world.put("minutes", { when: "every 1m", group: "g", retry: { attempts: 1 }, holdAfter: 2 });
    world.outcome = () => failed("no");
    const next = async () => {
      await world.tick();
      await world.clock.advance(minute);
      await world.work();
    };
    await next();
    await pause();
    await world.clock.advance(second);
    await resume();
    await next();
    expect(await world.sql`select from carillon.wanted_holds`).toEqual([]);
    await next();
    expect(await world.sql`select from carillon.wanted_holds`).toHaveLength(1);
  },
);
