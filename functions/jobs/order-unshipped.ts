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
    /** Told in the alert; without it, what `alertAfter` says. */
    placedAt: z.iso.datetime({ offset: true }).optional(),
    /** So long after the order was placed its schedule is due: the first check. */
    alertAfter: duration.default("4h"),
    /** So long after the order was placed the second check comes. */
    escalateAfter: duration.default("24h"),
  })
  .refine(({ alertAfter, escalateAfter }) => lengthOf(escalateAfter) > lengthOf(alertAfter), {
    path: ["escalateAfter"],
    error: "must be longer than `alertAfter`",
  });

/**
 * "Do this when that has not happened": `order.created` puts a schedule `order:{id}:unshipped` for some hours later, and
 * `order.shipped` deletes it, and with it every check that is still to come. So when this runs, nobody has shipped the order: at the first
 * check somebody is alerted, at the second, hours later, it goes to whoever can do more. A larger project would write to its own
 * tables (`ctx.sql`) or call its own service here.
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
