import type { Sql } from "../../lib/db/connect.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { type Delivery, type DeliveryContext, done, failed } from "../../lib/target/delivery.ts";
import type { DatabaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import { type ClaimRecorder, nameOf } from "../race/claims.ts";
import { type MemoryQueues, recordOf } from "../race/memory-queues.ts";
import { aborted, neverRings } from "../support/aborted.ts";
import { answerOf, writesItself } from "./answers.ts";
import type { Process, Worker } from "./world.ts";

const timeLeftMs = 20_000;

export type InProcess = (name: string, act: (process: Process) => Promise<void>) => Promise<void>;

interface WorkParts {
  clock: DatabaseClock;
  queues: MemoryQueues;
  recorder: ClaimRecorder;
  effects: Map<string, number>;
  refusals: Map<string, number>;
  side: Sql;
}

/** Works the messages of the queue, each in an invocation of its own, until the queue is empty. */
export async function workAll(inProcess: InProcess, parts: WorkParts, worker: Worker): Promise<void> {
  const { clock, queues } = parts;
  for (let [message] = queues.receive(1); message !== undefined; [message] = queues.receive(1)) {
    const received = message;
    await inProcess("worker", async (process) => {
      const { sql, transactions, sender, deliver, operation, isDead } = process;
      // Time passes while it waits.
      const waiting = {
        now: clock.now,
        sleep: (ms: number, signal?: AbortSignal) =>
          signal === undefined ? clock.advance(ms) : aborted(signal),
        alarm: neverRings,
      };
      const target = { sql, transactions, queue: sender, clock: waiting, side: parts.side };
      const answer = (job: ClaimedJob, context: DeliveryContext) =>
        answerAsTold(job, parts, worker, () => answerOf(job, context, target));
      const deps = {
        sql,
        queue: sender,
        log: silentLog,
        random: () => 0,
        clock: waiting,
        notify: notifyByDefault,
        window: null,
        deliver: deliver((jobs, context) => {
          if (worker.dies === true) throw new Error("This worker dies.");
          const each = (job: ClaimedJob) => answer(job, context);
          return Promise.all(jobs.map(each));
        }),
      };
      const { batchItemFailures } = await workMessages(deps, [recordOf(received)], () => timeLeftMs);
      if (isDead() || batchItemFailures.length > 0) return;
      await operation("delete message", async () => {
        queues.remove(received);
      });
    });
  }
}

/** The target's answer for a job, recorded as an external effect. */
async function answerAsTold(
  job: ClaimedJob,
  { recorder, effects, refusals }: WorkParts,
  { refuses }: Worker,
  answered: () => Promise<Delivery | null>,
): Promise<Delivery> {
  const refused = refusals.get(job.key) ?? 0;
  if (refused < (refuses?.get(job.key) ?? 0)) {
    refusals.set(job.key, refused + 1);
    return failed("The target refused.");
  }
  const name = nameOf(job.scheduleId, job.occurrence.getTime());
  if (writesItself(job)) effects.set(name, 1);
  const answer = (await answered()) ?? done;
  if (answer.kind === "failed" || answer.kind === "cancelled" || answer.kind === "back") return answer;
  recorder.tookDelivery(job);
  // Rechecks have rules of their own.
  if (job.kind === "cadence" && !writesItself(job)) effects.set(name, (effects.get(name) ?? 0) + 1);
  return answer;
}
