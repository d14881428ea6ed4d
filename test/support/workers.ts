import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import type { Clock } from "../../lib/clock.ts";
import type { Invocation } from "../../lib/config/function.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import type { Deliver } from "../../lib/target/delivery.ts";
import { Invocations, workerClock } from "../../lib/tools/testing/invocations.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import type { Carillon } from "./carillon.ts";

export interface Workers {
  /** The number of concurrent invocations. A slow one takes one message, a fast one ten. */
  fast?: number;
  slow?: number;
  window?: number | null;
  /** The delivery; it takes time by `clock.sleep`. */
  deliver: (clock: Clock) => Deliver;
  /** The step of the clock when all workers wait. */
  stepMs: number;
  /** Whether a tick runs each minute. */
  ticks?: boolean;
}

/**
 * Runs concurrent workers, one for each invocation, with the real code and the world's clock, which
 * moves when all of them wait for it. It ends when `over` returns true; workers that wait for the
 * clock then keep their parcels.
 */
export async function runWorkers(world: Carillon, workers: Workers, over: () => boolean): Promise<void> {
  const { clock, activity } = world;
  const invocations = invocationsOf(world, workers);
  for (let steps = 0; !over(); steps++) {
    if (steps > 20_000) throw new Error("The workers did not end within 20,000 steps.");
    do await activity.idle();
    while (await invocations.begin());
    const [failure] = world.log.lines.filter(({ event }) => event === "local.batch-failed");
    if (failure !== undefined) throw new Error(`A worker failed: ${JSON.stringify(failure)}`);
    if (over()) break;
    await clock.advance(workers.stepMs);
    if (workers.ticks === true && clock.now().getTime() % 60_000 < workers.stepMs) await world.tick();
  }
}

function invocationsOf(world: Carillon, workers: Workers): Invocations {
  const { sql, queue, log, activity } = world;
  const clock = workerClock(world.clock);
  const deps = {
    sql,
    queue,
    log,
    clock,
    random: () => 1,
    notify: notifyByDefault,
    window: workers.window ?? null,
    deliver: workers.deliver(clock),
  };
  const worker = {
    handler: async ({ Records }: SQSEvent, invocation: Invocation): Promise<SQSBatchResponse> => {
      const answer = await workMessages(deps, Records, () => invocation.getRemainingTimeInMillis());
      const [failed] = answer.batchItemFailures;
      if (failed !== undefined) throw new Error(`Message ${failed.itemIdentifier} failed.`);
      return answer;
    },
    close: async () => {},
  };
  return new Invocations({
    clock: world.clock,
    queue,
    activity,
    log,
    workers: { fast: worker, slow: worker },
    concurrency: { fast: workers.fast ?? 0, slow: workers.slow ?? 0 },
  });
}
