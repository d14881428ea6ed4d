import { type Environment, integer } from "../config/environment.ts";
import { canaryMinutesMax } from "../config/function-limits.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { parseScheduleBody } from "../schedule/shape/schedule-shape.ts";

/**
 * Schedules of Carillon's own that test the whole path of a job: one for each queue, as far as a
 * target.
 */
export const canaryKeys = { fast: "carillon:canary:fast", slow: "carillon:canary:slow" } as const;

/** The author of the canaries. No token can have this name. */
export const canaryAuthor = "carillon:canary";

export const canaryHandlerName = "carillon-canary";

export interface CanarySettings {
  /** The interval of the canaries, in minutes. */
  minutes: number;
  /** The URL of the queue that the fast canary delivers to. */
  queue: string;
}

/**
 * Reads `CANARY_QUEUE_URL` and `CANARY_MINUTES`. Null without a queue: then there are no canaries.
 */
export function canaryFrom(env: Environment): CanarySettings | null {
  const queue = env["CANARY_QUEUE_URL"] ?? "";
  if (queue === "") return null;
  return { queue, minutes: integer(env, "CANARY_MINUTES", 5, { min: 1, max: canaryMinutesMax }) };
}

/**
 * The canaries as they should be. A canary that runs after the next one is due would prove nothing,
 * so the deadline is the interval. The canaries of an outage must not run together, so catch-up is
 * `skip`.
 */
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
        description: "Carillon's own: tests the way through the fast queue to a queue. The tick restores it.",
      }),
    },
    {
      key: canaryKeys.slow,
      body: parseScheduleBody({
        ...common,
        target: { handler: canaryHandlerName },
        description:
          "Carillon's own: tests the way through the slow queue to a handler. The tick restores it.",
      }),
    },
  ];
}
