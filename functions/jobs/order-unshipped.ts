import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";

/**
 * "Do this when that has not happened": `order.created` puts a schedule `order:{id}:unshipped` for some hours later, and
 * `order.shipped` deletes it. When this runs, nobody has shipped the order: somebody is to look. A larger project would
 * write to its own tables or call its own service here.
 */
export const orderUnshipped = defineJob({
  name: "order-unshipped",
  payload: z.looseObject({ orderId: z.union([z.int(), z.string().min(1)]) }),
  run: async (job, { log, signal }) => {
    signal.throwIfAborted();
    log.warn("handler.order-unshipped", {
      job: job.id,
      order: String(job.payload.orderId),
      since: job.dueAt.toISOString(),
    });
  },
});
