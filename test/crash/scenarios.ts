import { deleteSchedule, patchSchedule } from "../../lib/edit/schedule-edits.ts";
import { resumeSchedule } from "../../lib/edit/schedule-holds.ts";
import { caller, mendJobs, nextEdit, pause, put, refuseJobs, type Scenario, slow } from "./steps.ts";

export const tickScenarios: readonly Scenario[] = [
  {
    name: "a tick that makes jobs",
    oneOf: 3,
    prepare: async (world) => {
      await put(world, "steps", "every 40s");
      await put(world, "cron", "* * * * *");
      await put(world, "twin", "* * * * *");
      await put(world, "once", "in 30s", slow);
    },
    act: (world) => world.tick(),
  },
  {
    name: "a late tick",
    oneOf: 3,
    prepare: async (world) => {
      await put(world, "steps", "every 40s");
      await put(world, "cron", "* * * * *");
      await world.clock.advance(20 * 60_000);
    },
    act: (world) => world.tick(),
  },
  {
    name: "a tick that sweeps after dead workers and lost messages, and lets a pause end",
    oneOf: 4,
    prepare: async (world) => {
      for (const key of ["one", "two", "three"]) await put(world, key, "in 5s");
      await put(world, "alone", "in 5s", slow);
      await put(world, "lost", "in 20s");
      await put(world, "held", "every 10s", slow);
      await world.tick();
      await world.clock.advance(5_000);
      await pause(world, "held", new Date(world.clock.now().getTime() + 30_000));
      await world.work({ dies: true });
      await world.clock.advance(70_000);
      world.queues.purge();
    },
    act: (world) => world.tick(),
  },
];

export const workerScenarios: readonly Scenario[] = [
  {
    name: "workers with a target that accepts some jobs and refuses others",
    oneOf: 2,
    prepare: async (world) => {
      for (const key of ["one", "two", "three"]) await put(world, key, "in 5s");
      await put(world, "alone", "in 5s", slow);
      await put(world, "later", "in 90s");
      await world.tick();
      await world.clock.advance(4_500);
    },
    act: async (world) => {
      await world.work({
        refuses: new Map([
          ["two", 1],
          ["alone", 1],
        ]),
      });
      await world.clock.advance(6_000);
      await world.work();
    },
  },
  {
    name: "workers with jobs that wait for each other in lanes",
    oneOf: 4,
    prepare: async (world) => {
      await put(world, "queued", "every 5s", slow, { overlap: "queue" });
      await put(world, "skipping", "every 5s", { queue: "demo" }, { overlap: "skip" });
      await world.tick();
      await world.clock.advance(18_000);
    },
    act: async (world) => {
      await world.work({ refuses: new Map([["queued", 1]]) });
      await world.clock.advance(6_000);
      await world.work();
      await world.edit("allow overlaps", (deps) =>
        patchSchedule(deps, {
          key: "queued",
          caller,
          patch: { overlap: "allow", payload: nextEdit() },
        }),
      );
      await world.work();
    },
  },
  {
    name: "workers with jobs that request rechecks",
    oneOf: 10,
    prepare: async (world) => {
      await put(world, "checked", "in 5s", { handler: "checked" });
      await put(world, "plain", "in 5s", slow);
      await world.tick();
      await world.clock.advance(4_500);
    },
    act: async (world) => {
      await world.work();
      await world.clock.advance(20_000);
      await world.work();
      await world.edit("tag checked", (deps) =>
        patchSchedule(deps, { key: "checked", caller, patch: { tags: ["late"] } }),
      );
      await world.clock.advance(20_000);
      await put(world, "checked", "in 10s", { handler: "checked" });
      await world.work();
    },
  },
  {
    name: "workers with jobs that take too long, or are cancelled while they run",
    oneOf: 3,
    prepare: async (world) => {
      await put(world, "slow", "in 5s", { handler: "slow" });
      await put(world, "stopped", "in 5s", { handler: "stopped" });
      await world.tick();
      await world.clock.advance(4_500);
    },
    act: async (world) => {
      await world.work();
      await world.clock.advance(13_000);
      await world.work();
    },
  },
  {
    name: "handlers that write in the transaction of their job's success",
    oneOf: 6,
    prepare: async (world) => {
      await put(world, "effects", "in 5s", { handler: "effects" });
      await put(world, "beside", "in 5s", { handler: "effects" });
      await world.tick();
      await world.clock.advance(4_500);
    },
    act: async (world) => {
      await world.work();
      await world.clock.advance(21_000);
      await world.work();
    },
  },
];

export const editScenarios: readonly Scenario[] = [
  {
    name: "edits of every kind",
    oneOf: 7,
    prepare: async (world) => {
      await put(world, "steps", "every 40s");
      await put(world, "doomed", "every 15s", slow);
      await world.tick();
      await world.clock.advance(35_000);
    },
    act: async (world) => {
      await put(world, "new", "every 20s");
      await world.edit("patch steps", (deps) =>
        patchSchedule(deps, {
          key: "steps",
          caller,
          patch: { when: "every 25s", payload: nextEdit() },
        }),
      );
      await pause(world, "steps");
      await pause(world, "doomed");
      await world.clock.advance(60_000);
      await world.work();
      await world.edit("resume steps", (deps) => resumeSchedule(deps, { key: "steps", caller }));
      await world.edit("delete doomed", (deps) =>
        deleteSchedule(deps, { key: "doomed", caller }).then(() => undefined),
      );
      await put(world, "doomed", "in 10s");
    },
  },
  {
    name: "edits while no tick ran for minutes",
    oneOf: 7,
    prepare: async (world) => {
      await put(world, "steps", "every 40s");
      await put(world, "cron", "* * * * *", slow);
      await world.tick();
      await world.clock.advance(10 * 60_000);
    },
    act: async (world) => {
      await world.edit("patch steps", (deps) =>
        patchSchedule(deps, {
          key: "steps",
          caller,
          patch: { when: "every 25s", payload: nextEdit() },
        }),
      );
      await world.clock.advance(70_000);
      // This cadence began between two ticks, and ends before the next.
      await world.edit("patch steps again", (deps) =>
        patchSchedule(deps, { key: "steps", caller, patch: { payload: nextEdit() } }),
      );
      await pause(world, "cron");
      await world.work();
    },
  },
  {
    name: "workers that cannot write the result of one job, and the sweep that takes it from its parcel",
    oneOf: 8,
    // The parcel is settled in parts, each in its own transaction: a death between two parts
    // repeats the effects of those not settled yet.
    mayRepeat: ({ label }) => /^worker: (?!claim|send|delete message)/.test(label),
    prepare: async (world) => {
      for (const key of ["one", "bad", "three", "four"]) await put(world, key, "in 5s");
      await world.tick();
      await world.clock.advance(4_500);
      await refuseJobs(world, ["bad"], "update");
    },
    act: async (world) => {
      // The first delivery is refused and has no effect: the job is delivered again in any case.
      await world.work({ refuses: new Map([["bad", 1]]) });
      await world.clock.advance(60_000);
      await world.tick();
      await mendJobs(world);
      await world.clock.advance(120_000);
      await world.tick();
      await world.work();
    },
  },
];
