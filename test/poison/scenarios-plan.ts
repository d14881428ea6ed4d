import { defineGroups } from "../../lib/limit/define-limits.ts";
import type { Carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";
import { badSchedule, keysWhere, ofBad, putAll, type Scenario, together } from "./row-scenario.ts";

/** The keys of schedules with at least this number of jobs that were not skipped. */
const withJobs = (world: Carillon, least = 1) =>
  keysWhere(
    world,
    `(select count(*) from carillon.jobs j where j.schedule_id = s.id and j.state <> 'skipped') >= ${least}`,
  );

const later = { when: "0 9 1 1 *" };

/** Scenarios of consumers that plan schedules and delete those that are over. */
export const planScenarios = {
  plan: {
    consumer: "plan",
    arrange: async (world) => {
      await putAll(world, { when: "* * * * *" });
      await together(world);
      await world.clock.advance(minute);
    },
    spot: ofBad("jobs", "insert"),
    done: withJobs,
  },
  release: {
    consumer: "plan",
    arrange: async (world) => {
      await putAll(world, { when: "*/10 * * * *", catchUp: { policy: "all" } });
      const until = new Date(world.clock.now().getTime() + hour);
      for (const key of await keysWhere(world, "true")) await world.pause(key, { until });
      await together(world);
      await world.clock.advance(hour + minute);
    },
    spot: ofBad("jobs", "insert"),
    done: (world) => withJobs(world, 6),
  },
  near: {
    consumer: "plan",
    arrange: async (world) => {
      await putAll(world, { when: "0 9 6 3 *" });
      await together(world);
      await world.clock.advance(2 * day);
    },
    spot: ofBad("plan_far"),
    done: (world) =>
      keysWhere(
        world,
        "exists (select from carillon.plan p where p.schedule_id = s.id and p.version = s.version and p.due_at > carillon.clock())",
      ),
  },
  "catch-up": {
    consumer: "plan",
    arrange: async (world) => {
      await putAll(world, { when: "*/10 * * * *", catchUp: { policy: "all" } });
      await together(world);
      await world.tick();
      await world.clock.advance(2 * hour);
    },
    spot: ofBad("backlog", "insert"),
    done: (world) => withJobs(world, 10),
  },
  backlog: {
    consumer: "backlog",
    arrange: async (world) => {
      await putAll(world, { when: "every 1m", catchUp: { policy: "all" } });
      await world.tick();
      await world.clock.advance(hour / 2);
      await world.tick({ backlogBudget: 0 });
      await world.clock.advance(minute);
    },
    spot: ofBad("backlog"),
    done: (world) =>
      keysWhere(world, "not exists (select from carillon.backlog b where b.schedule_id = s.id)"),
  },
  ended: {
    consumer: "ended",
    arrange: async (world) => {
      const endsAt = new Date(world.clock.now().getTime() + 1.5 * minute).toISOString();
      await putAll(world, { when: "* * * * *", endsAt, deleteOnEnd: true });
      await together(world);
      await world.tick();
      await world.clock.advance(2 * minute);
      await world.work();
      await world.sql`update carillon.schedules set end_look_at = carillon.clock()`;
    },
    spot: badSchedule,
    done: (world) => keysWhere(world, "s.deleted_at is not null"),
  },
  purge: {
    consumer: "purge",
    arrange: async (world) => {
      await putAll(world, {
        when: ["at 2026-03-02T11:01", "at 2026-03-02T11:02"],
        timezone: "Europe/Berlin",
      });
      await world.tick();
      await world.clock.advance(10 * minute);
      await world.work();
      await world.tick();
      await world.clock.advance(2 * day);
    },
    spot: ofBad("over_schedules", "insert"),
    act: (world) => world.tick({ retentionDays: 5 }),
    // The next round of the purge.
    goOn: async (world) => {
      await world.clock.advance(hour);
      await world.tick({ retentionDays: 5 });
    },
    done: (world) =>
      keysWhere(world, "exists (select from carillon.over_schedules o where o.schedule_id = s.id)"),
  },
  follower: {
    consumer: "follower",
    arrange: async (world) => {
      await putAll(world, { ...later, target: { handler: "digest" }, group: "person:1" });
      await together(world);
      await defineGroups(world.sql, [{ name: "digest", grouped: true }]);
      await world.clock.advance(3 * minute);
    },
    spot: badSchedule,
    done: (world) => keysWhere(world, "s.lane is not null"),
  },
} satisfies Record<string, Scenario>;
