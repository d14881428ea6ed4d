import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { EditDeps, EditDone } from "../../lib/edit/edit-transaction.ts";
import { deleteSchedule, patchSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { pauseSchedule, resumeSchedule } from "../../lib/edit/schedule-holds.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import type { Acknowledged } from "./judge.ts";
import type { Dice } from "./seeded.ts";

export interface Mind {
  /** Edits one schedule, or several at once; returns the acknowledged edits. */
  change(): Promise<Acknowledged[]>;
}

const whens = (dice: Dice, now: Date): string =>
  dice.pick([
    `every ${dice.between(1, 20)}s`,
    `every ${dice.between(1, 5)}s`,
    "*/5 * * * * *",
    "*/2 * * * * *",
    "* * * * *",
    `in ${dice.between(1, 400)}s`,
    `at ${new Date(Math.floor(now.getTime() / 1_000) * 1_000 + dice.between(-10, 300) * 1_000).toISOString()}`,
  ]);

let edits = 0;

/** The random edits of one caller. */
export function mindOf(
  { dice, keys, clock }: { dice: Dice; keys: readonly string[]; clock: Clock },
  deps: EditDeps,
  name: string,
): Mind {
  const target = () => (dice.chance(0.5) ? { queue: "race" } : { handler: "race" });
  const retry = { attempts: 100, base: "1s", max: "5s" };
  const overlap = () => dice.pick(["allow", "allow", "allow", "allow", "skip", "queue"] as const);
  const body = () =>
    parseScheduleBody({
      when: whens(dice, clock.now()),
      target: target(),
      payload: { edit: ++edits },
      overlap: overlap(),
      retry,
    });

  const operation = (): Operation => {
    const params = { key: dice.pick(keys), caller: { name } };
    const lot = dice.between(1, 100);
    if (lot <= 55) return { ...params, kind: "put", body: body() };
    if (lot <= 75) return { ...params, kind: "patch", patch: { payload: { edit: ++edits } } };
    if (lot <= 80) return { ...params, kind: "pause" };
    return { ...params, kind: lot <= 92 ? "resume" : "delete" };
  };
  const batch = async (): Promise<Acknowledged[]> => {
    const operations = Array.from({ length: dice.between(2, 8) }, operation);
    const applied = await applyOperations(deps, operations, { allOrNothing: dice.chance(0.2) });
    const undone = applied.some(({ change }) => change === "refused") ? [] : applied;
    return undone.flatMap((each) => ("id" in each ? [{ scheduleId: each.id, version: each.version }] : []));
  };

  const one = (key: string): Promise<EditDone | undefined> => {
    const params = { key, caller: { name } };
    const lot = dice.between(1, 100);
    if (lot <= 40) return putSchedule(deps, { ...params, body: body() });
    if (lot <= 50) return patchSchedule(deps, { ...params, patch: { payload: { edit: ++edits } } });
    if (lot <= 55)
      return patchSchedule(deps, { ...params, patch: { payload: { edit: ++edits }, overlap: overlap() } });
    if (lot <= 65) {
      const patch = { payload: { edit: ++edits }, when: `every ${dice.between(1, 15)}s`, target: target() };
      return patchSchedule(deps, { ...params, patch });
    }
    if (lot <= 77) {
      const end = new Date(clock.now().getTime() + dice.between(500, 6_000));
      return pauseSchedule(deps, { ...params, until: dice.chance(0.5) ? end : undefined });
    }
    if (lot <= 92) return resumeSchedule(deps, params);
    return deleteSchedule(deps, params).then(() => undefined);
  };

  return {
    change: async () => {
      if (dice.chance(0.25)) return batch();
      const made = await one(dice.pick(keys));
      return made === undefined ? [] : [{ scheduleId: made.schedule.id, version: made.schedule.version }];
    },
  };
}
