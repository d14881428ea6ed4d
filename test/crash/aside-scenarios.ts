import { deleteSchedule } from "../../lib/edit/schedule-edits.ts";
import { resumeSchedule } from "../../lib/edit/schedule-holds.ts";
import type { Moment } from "./fuse.ts";
import {
  caller,
  later,
  mendJobs,
  mendZone,
  minute,
  patch,
  pause,
  put,
  refuseJobs,
  type Scenario,
  second,
  slow,
  spoilZone,
  zoned,
} from "./steps.ts";

/** A row was passed over, and its quarantine entry is not written yet. */
const isAsideStep = ({ label, side }: Moment) =>
  side === "before" && label.includes("insert into carillon.quarantine");

const demo = { queue: "demo" };
const all = { catchUp: { policy: "all" } };

const unreadScenario: Scenario = {
  name: "ticks that cannot read schedules, quarantine them, and retry them later",
  oneOf: 500,
  isDecisive: isAsideStep,
  prepare: async (world) => {
    await put(world, "own", "* * * * *", demo, { ...zoned, ...all });
    await put(world, "plain", "* * * * *", demo, zoned);
    await put(world, "good", "* * * * *", slow);
    await world.tick();
    await spoilZone(world);
    await world.clock.advance(3 * minute);
  },
  act: async (world) => {
    await world.tick();
    await mendZone(world);
    await world.clock.advance(2.5 * minute);
    await world.tick();
  },
};

export const refusedScenario: Scenario = {
  name: "ticks that cannot write a schedule's jobs, use smaller batches, quarantine it, and retry it later",
  oneOf: 500,
  isDecisive: isAsideStep,
  prepare: async (world) => {
    await put(world, "bad", "every 40s");
    await put(world, "cron", "* * * * *", slow);
    await put(world, "once", "in 240s");
    await put(world, "good", "* * * * *");
    await world.tick();
    await refuseJobs(world, ["bad", "once"]);
    await world.clock.advance(3 * minute);
  },
  act: async (world) => {
    await world.tick();
    await world.clock.advance(minute);
    await world.tick();
    await mendJobs(world);
    await world.clock.advance(2.5 * minute);
    await world.tick();
  },
};

export const asideScenarios: readonly Scenario[] = [
  unreadScenario,
  refusedScenario,
  {
    name: "edits of unreadable schedules with jobs made ahead, and of schedules in quarantine",
    oneOf: 500,
    isDecisive: isAsideStep,
    prepare: async (world) => {
      for (const key of ["patched", "replanned", "doomed", "held", "until", "late"])
        await put(world, key, "* * * * *", demo, zoned);
      await world.tick();
      await spoilZone(world);
      await world.clock.advance(30 * second);
    },
    act: async (world) => {
      // The patch puts it into quarantine while nothing is due yet: the ledger does not record the
      // missed occurrences of a deleted schedule.
      await patch(world, "doomed");
      await world.edit("delete doomed", (deps) =>
        deleteSchedule(deps, { key: "doomed", caller }).then(() => undefined),
      );
      await patch(world, "patched");
      await patch(world, "replanned", { when: "every 25s" });
      await pause(world, "held");
      await pause(world, "until", later(world, 6 * minute));
      await world.clock.advance(4 * minute);
      await world.tick();
      await mendZone(world);
      await patch(world, "late");
      await world.clock.advance(2 * minute);
      await world.tick();
      await world.edit("resume held", (deps) => resumeSchedule(deps, { key: "held", caller }));
    },
  },
  {
    name: "ticks that cannot release a schedule at the end of its hold, and the row after it",
    oneOf: 500,
    isDecisive: isAsideStep,
    prepare: async (world) => {
      await put(world, "held", "every 20s", demo, all);
      await put(world, "other", "every 20s", slow);
      await world.tick();
      const until = later(world, 4 * minute);
      await pause(world, "held", until);
      await pause(world, "other", until);
      await refuseJobs(world, ["held"]);
      await world.clock.advance(90 * second);
    },
    act: async (world) => {
      await world.tick();
      await mendJobs(world);
      await world.clock.advance(4 * minute);
      await world.tick();
    },
  },
];
