import { jobsOf } from "../../lib/history/job-history.ts";
import { readSchedule, type ScheduleRead } from "../../lib/history/read-schedule.ts";
import { type Delivery, done } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

/** A Carillon with production's rights, whose handler answers as the test defines. */
export interface RecheckWorld extends Carillon {
  /** The answers of the runs of each key, in order; later runs succeed. */
  answers: Map<string, Delivery[]>;
  read(key: string): Promise<ScheduleRead>;
  /** Newest first. */
  history(
    key: string,
  ): Promise<{ kind: string; checks: number; state: string; reason: string | null; at: Date }[]>;
  /** Ticks and works at an instant. */
  workAt(instant: number): Promise<void>;
  /** The job runs after a minute, its first recheck after an hour, and the second waits for two. */
  checkedTwice(key: string): Promise<void>;
}

export const handler = { target: { handler: "check" } };

export const again = (instant: number): Delivery => ({ kind: "again", at: at(instant) });

export async function recheckWorld(): Promise<RecheckWorld> {
  const plain = await carillon({ roles: functionRoles });
  await plain.tick();
  const world: RecheckWorld = Object.assign(plain, {
    answers: new Map<string, Delivery[]>(),
    read: async (key: string) => {
      const schedule = await readSchedule(plain.sql, key);
      if (schedule === null) throw new Error(`There is no schedule ${key}.`);
      return schedule;
    },
    history: async (key: string) => {
      const { items } = await jobsOf(plain.sql, await world.read(key), { limit: 100 });
      return items.map(({ occurrence, kind, checks, state, reason }) => ({
        kind,
        checks,
        state,
        reason,
        at: occurrence,
      }));
    },
    workAt: async (instant: number) => {
      await plain.clock.setNow(at(instant));
      await plain.tick();
      await plain.work();
    },
    checkedTwice: async (key: string) => {
      world.answers.set(key, [again(hour), again(2 * hour)]);
      await plain.put(key, { when: "in 1m", ...handler });
      await world.workAt(minute);
      await world.workAt(hour);
    },
  });
  world.outcome = ({ key }) => world.answers.get(key)?.shift() ?? done;
  return world;
}
