import * as z from "zod";
import { durationMs } from "../../lib/cadence/duration.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { again, done } from "../../lib/job/handler-results.ts";

const duration = z.string().refine((text) => durationMs(text) !== null, "takes a duration such as `4h`");

/** A second check that would come so soon, because this one is late, is not waited for. */
const soonMs = 60_000;

/**
 * "Do this when that has not happened": `order.created` puts a schedule `order:{id}:unshipped` for some hours later, and
 * `order.shipped` deletes it, with whatever check it still has to come. So when this runs, nobody has shipped the order: at the first check
 * somebody is alerted, at the second, hours later, it goes to whoever can do more. A larger project would write to its own tables
 * (`ctx.sql`) or call its own service here.
 */
export const orderUnshipped = defineJob({
  name: "order-unshipped",
  payload: z.looseObject({
    orderId: z.union([z.int(), z.string().min(1)]),
    /** From when on the order waits; without it, from `alertAfter` before the first check. */
    placedAt: z.iso.datetime({ offset: true }).optional(),
    alertAfter: duration.default("4h"),
    escalateAfter: duration.default("24h"),
  }),
  maxChecks: 1,
  run: async ({ payload, dueAt, checks }, { log, signal }) => {
    signal.throwIfAborted();
    const order = String(payload.orderId);
    const alertMs = durationMs(payload.alertAfter) ?? 0;
    const placedAt =
      payload.placedAt === undefined ? dueAt.getTime() - alertMs : Date.parse(payload.placedAt);
    const escalateAt = new Date(placedAt + (durationMs(payload.escalateAfter) ?? 0));
    if (checks === 0) {
      log.warn("handler.order-unshipped", { order, since: new Date(placedAt).toISOString() });
      if (escalateAt.getTime() > Date.now() + soonMs) return again(escalateAt);
    }
    log.error("handler.order-escalated", { order, after: payload.escalateAfter });
    return done;
  },
});
