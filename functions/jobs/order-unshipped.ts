import * as z from "zod";
import { durationMs, formatDuration } from "../../lib/cadence/duration.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { again, done } from "../../lib/job/handler-results.ts";

const duration = z
  .string()
  .refine((text) => durationMs(text) !== null, { error: "takes a duration such as `4h`", abort: true });
const lengthOf = (text: string) => durationMs(text) ?? 0;

const payload = z
  .looseObject({
    orderId: z.union([z.int(), z.string().min(1)]),
    /** Shown in the alert; without it, the time is computed from `alertAfter`. */
    placedAt: z.iso.datetime({ offset: true }).optional(),
    /** The time from the order to the first check, for which the schedule is due. */
    alertAfter: duration.default("4h"),
    /** The time from the order to the second check. */
    escalateAfter: duration.default("24h"),
  })
  .refine(({ alertAfter, escalateAfter }) => lengthOf(escalateAfter) > lengthOf(alertAfter), {
    path: ["escalateAfter"],
    error: "must be longer than `alertAfter`",
  });

/**
 * An alert for an event that has not happened. `order.created` puts a schedule
 * `order:{id}:unshipped` for some hours later, and `order.shipped` deletes it with every check that
 * is left. So when this handler runs, the order is not shipped: the first check raises an alert,
 * and the second, hours later, escalates it. A larger project would write to its own tables
 * (`ctx.sql`) or call its own service here.
 */
export const orderUnshipped = defineJob({
  name: "order-unshipped",
  payload,
  maxChecks: 1,
  run: async ({ payload: { orderId, placedAt, alertAfter, escalateAfter }, dueAt, checks }, { log }) => {
    const order = String(orderId);
    if (checks > 0) {
      log.error("handler.order-escalated", { order, after: escalateAfter });
      return done;
    }
    const since = placedAt ?? new Date(dueAt.getTime() - lengthOf(alertAfter)).toISOString();
    log.warn("handler.order-unshipped", { order, since });
    return again(formatDuration(lengthOf(escalateAfter) - lengthOf(alertAfter)));
  },
});
