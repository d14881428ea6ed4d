import { z } from "zod";
import type { AlarmClock, Clock } from "../../lib/clock.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { again } from "../../lib/job/handler-results.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import type { ParcelQueue } from "../../lib/parcel/parcel-queue.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { type Delivery, type DeliveryContext, done, thrown } from "../../lib/target/delivery.ts";
import { handlerTarget } from "../../lib/target/handler/handler-target.ts";
import { AttemptStopped } from "../../lib/target/stop.ts";
import { checksAsked } from "./beside.ts";

/**
 * The parts of the dying process that a delivery may use, and `side`, a connection outside of that
 * process.
 */
export interface DeliveryParts {
  sql: Sql;
  transactions: Sql;
  queue: ParcelQueue;
  clock: AlarmClock;
  side: Sql;
}

/**
 * A handler that writes rows in the transaction of its own success, and once more at its recheck.
 */
const effects = defineJob({
  name: "effects",
  payload: z.unknown(),
  maxChecks: 1,
  run: async ({ scheduleId, occurrence, kind, n, checks }, { sql }) => {
    await sql`insert into effects (schedule_id, occurrence, kind, n) values (${scheduleId}, ${occurrence}, ${kind}, ${n})`;
    return checks === 0 ? again("20s") : undefined;
  },
});

/**
 * Whether the job's effects are rows that commit together with its success, independently of the
 * worker.
 */
export function writesItself({ target }: ClaimedJob): boolean {
  return "handler" in target && target.handler === effects.name;
}

/** The answers of handlers that do more than accept a job; null for other targets. */
export async function answerOf(
  job: ClaimedJob,
  context: DeliveryContext,
  parts: DeliveryParts,
): Promise<Delivery | null> {
  const { target } = job;
  if (!("handler" in target)) return null;
  switch (target.handler) {
    case "checked":
      return job.checks < checksAsked
        ? { kind: "again", at: new Date(job.dueAt.getTime() + 20_000 * (1 + job.checks)) }
        : done;
    case "slow":
      return job.attempt === 0 ? tookTooLong(parts.clock) : done;
    case "stopped":
      await parts.side`
        update carillon.jobs set cancel_asked = true
        where schedule_id = ${job.scheduleId} and occurrence = ${job.occurrence} and state = 'waiting'`;
      return { kind: "cancelled" };
    case "effects": {
      const { sql, transactions, queue, clock } = parts;
      const deps = { sql, transactions, queue, clock, log: silentLog, notify: notifyByDefault };
      const [delivery] = await handlerTarget({ ...deps, handlers: [effects] })([{ ...job, target }], context);
      return delivery ?? null;
    }
    default:
      return null;
  }
}

/** An attempt that ran out of time, with an instant from the target for the next attempt. */
function tookTooLong(clock: Clock): Delivery {
  const stopped = new AttemptStopped("timeout", "The attempt took longer than 10s.");
  return { ...thrown(stopped), retryAt: new Date(clock.now().getTime() + 12_000) };
}
