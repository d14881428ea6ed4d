import { type Environment, integer } from "../config/environment.ts";
import { canaryMinutesMax } from "../config/function-limits.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { parseScheduleBody } from "../schedule/shape/schedule-shape.ts";

/** The schedules by which Carillon proves itself: one through each queue, all the way to a target. */
export const canaryKeys = { fast: "carillon:canary:fast", slow: "carillon:canary:slow" } as const;

/** Whose they are. No token can bear this name. */
export const canaryAuthor = "carillon:canary";

export const canaryHandlerName = "carillon-canary";

export interface CanarySettings {
  /** They are due each so many minutes. */
  minutes: number;
  /** The URL of the queue to which the fast one is delivered. */
  queue: string;
}

/** `CANARY_QUEUE_URL` and `CANARY_MINUTES`; null where there is no such queue, and so no canary. */
export function canaryFrom(env: Environment): CanarySettings | null {
  const queue = env["CANARY_QUEUE_URL"] ?? "";
  if (queue === "") return null;
  return { queue, minutes: integer(env, "CANARY_MINUTES", 5, { min: 1, max: canaryMinutesMax }) };
}

/** What the canaries are to be. One that comes after the next is due would prove nothing, and those of an outage must not come together. */
export function canariesWanted({ minutes, queue }: CanarySettings): { key: string; body: ScheduleBody }[] {
  const common = {
    when: `every ${minutes}m`,
    deadline: `${minutes}m`,
    catchUp: { policy: "skip" },
    retry: { attempts: 3, backoff: "fixed", base: "5s" },
  };
  return [
    {
      key: canaryKeys.fast,
      body: parseScheduleBody({
        ...common,
        target: { queue },
        description:
          "Carillon's own: proves the way through the fast queue to a queue. Made anew by the tick.",
      }),
    },
    {
      key: canaryKeys.slow,
      body: parseScheduleBody({
        ...common,
        target: { handler: canaryHandlerName },
        description:
          "Carillon's own: proves the way through the slow queue to a handler. Made anew by the tick.",
      }),
    },
  ];
}
