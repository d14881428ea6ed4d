import { durationMs } from "../cadence/duration.ts";
import type { Clock } from "../clock.ts";
import { type JobHandler, UnfitPayload } from "../job/define-job.ts";
import { jobId } from "../job/job-id.ts";
import type { Log } from "../log/log.ts";
import type { ClaimedJob } from "../parcel/claim.ts";
import type { HandlerTarget } from "../schedule/target-shape.ts";
import { type Delivery, done, failed } from "./delivery.ts";

export interface HandlerTargetDeps {
  handlers: readonly JobHandler[];
  clock: Clock;
  log: Log;
}

/** Runs jobs with the handlers of functions/jobs/, side by side, each bounded by its schedule's `timeout`. */
export function handlerTarget({
  handlers,
  clock,
  log,
}: HandlerTargetDeps): (jobs: readonly (ClaimedJob & { target: HandlerTarget })[]) => Promise<Delivery[]> {
  const byName = new Map(handlers.map((handler) => [handler.name, handler]));

  const runOne = async (job: ClaimedJob & { target: HandlerTarget }): Promise<Delivery> => {
    const handler = byName.get(job.target.handler);
    if (handler === undefined) return failed(`There is no handler ${job.target.handler} in this deployment.`);
    const { key, scheduleId, group, occurrence, dueAt, payload } = job;
    const timeIsUp = new AbortController();
    const over = new AbortController();
    const timeout = clock.sleep(durationMs(job.timeout) ?? 0, over.signal).then((): Delivery => {
      if (!over.signal.aborted) timeIsUp.abort();
      return failed(`The attempt took longer than ${job.timeout}.`);
    });
    const facts = {
      id: jobId(job),
      key,
      scheduleId,
      group,
      occurrence,
      dueAt,
      payload,
      attempt: job.attempt + 1,
    };
    const running = handler.run(facts, { signal: timeIsUp.signal, log }).then(
      () => done,
      (error: unknown) => failed(error, error instanceof UnfitPayload),
    );
    const delivery = await Promise.race([running, timeout]);
    over.abort();
    return delivery;
  };
  return (jobs) => Promise.all(jobs.map(runOne));
}
