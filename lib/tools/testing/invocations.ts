import { AsyncLocalStorage } from "node:async_hooks";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import type { AlarmClock } from "../../clock.ts";
import type { Assembled } from "../../config/function.ts";
import {
  functionTimeoutSeconds,
  receivesMax,
  visibilityInTimeouts,
  workerBatchSize,
} from "../../config/function-limits.ts";
import { errorText } from "../../log/error-text.ts";
import type { Log } from "../../log/log.ts";
import type { QueueClass } from "../../parcel/parcel-queue.ts";
import type { Activity } from "./activity.ts";
import type { MemoryQueue } from "./memory-queue.ts";

const timeoutMs: Readonly<Record<QueueClass, number>> = {
  fast: functionTimeoutSeconds.fastWorker * 1_000,
  slow: functionTimeoutSeconds.slowWorker * 1_000,
};

/** One run of a worker. A dead one does nothing more, and its messages come back. */
interface Invocation {
  isDead: boolean;
  end(): void;
}

export interface InvocationParts {
  clock: AlarmClock;
  queue: MemoryQueue;
  activity: Activity;
  log: Log;
  workers: Readonly<Record<QueueClass, Assembled<SQSEvent, SQSBatchResponse>>>;
  concurrency: Readonly<Record<QueueClass, number>>;
}

const current = new AsyncLocalStorage<Invocation>();

/**
 * The clock of workers: for one that has died, no sleep ends and no alarm rings, as in a process
 * that is gone.
 */
export function workerClock(clock: AlarmClock): AlarmClock {
  const isDead = () => current.getStore()?.isDead === true;
  return {
    now: clock.now,
    sleep: async (ms, signal) => {
      if (!isDead()) await clock.sleep(ms, signal);
      if (isDead()) await never();
    },
    alarm: (ms, ring) =>
      clock.alarm(ms, () => {
        if (!isDead()) ring();
      }),
  };
}

/** Ends the worker that calls it, as if its process were killed at this point. */
export function die(): Promise<never> {
  const invocation = current.getStore();
  if (invocation !== undefined) {
    invocation.isDead = true;
    invocation.end();
  }
  return never();
}

const never = () => new Promise<never>(() => {});

/** Invokes the workers' functions with the messages of the queues, as Lambda's event sources do. */
export class Invocations {
  readonly #parts: InvocationParts;
  readonly #running: Record<QueueClass, number> = { fast: 0, slow: 0 };
  readonly #receives = new Map<string, number>();

  constructor(parts: InvocationParts) {
    this.#parts = parts;
  }

  /**
   * Starts an invocation for each batch of visible messages, up to the concurrency. The next begins
   * when the one before has ended or waits for the clock, so that equal tests run alike. Returns
   * whether any began.
   */
  async begin(): Promise<boolean> {
    let began = false;
    for (const name of ["fast", "slow"] as const)
      while (this.#running[name] < this.#parts.concurrency[name]) {
        const records = this.#parts.queue.take(name, workerBatchSize[name]);
        if (records.length === 0) break;
        began = true;
        this.#invoke(name, records);
        await this.#parts.activity.idle();
      }
    return began;
  }

  #invoke(name: QueueClass, records: readonly SQSRecord[]): void {
    const { clock, workers, log } = this.#parts;
    const begunAt = clock.now().getTime();
    const leaveSlot = once(() => {
      this.#running[name] -= 1;
    });
    this.#running[name] += 1;
    const disarm = clock.alarm(timeoutMs[name], () => {
      log.error("local.batch-failed", { function: name, messages: records.length, error: "It timed out." });
      invocation.isDead = true;
      invocation.end();
    });
    const finish = once((failed: readonly string[]) => {
      disarm();
      leaveSlot();
      this.#giveBack(name, begunAt, records, failed);
    });
    const all = records.map(({ messageId }) => messageId);
    const invocation: Invocation = { isDead: false, end: () => finish(all) };
    const event = { Records: [...records] };
    const lambda = {
      awsRequestId: `invocation-${all[0] ?? ""}`,
      getRemainingTimeInMillis: () => Math.max(0, begunAt + timeoutMs[name] - clock.now().getTime()),
    };
    void current.run(invocation, async () => {
      try {
        const { batchItemFailures } = await workers[name].handler(event, lambda);
        finish(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      } catch (error) {
        log.error("local.batch-failed", {
          function: name,
          messages: records.length,
          error: errorText(error),
        });
        finish(all);
      }
    });
  }

  /** Messages that were not finished become visible when their visibility timeout ends. */
  #giveBack(
    name: QueueClass,
    receivedAt: number,
    records: readonly SQSRecord[],
    failed: readonly string[],
  ): void {
    const { queue, clock } = this.#parts;
    const visibleAt = receivedAt + visibilityInTimeouts * timeoutMs[name];
    for (const { messageId, body, attributes } of records) {
      const receives = (this.#receives.get(messageId) ?? 0) + 1;
      this.#receives.delete(messageId);
      if (!failed.includes(messageId) || receives >= receivesMax) continue;
      const delay = Math.max(0, visibleAt - clock.now().getTime()) / 1_000;
      this.#receives.set(queue.put(name, body, delay, attributes.MessageGroupId), receives);
    }
  }
}

function once<Args extends readonly unknown[]>(act: (...args: Args) => void): (...args: Args) => void {
  let isDone = false;
  return (...args) => {
    if (isDone) return;
    isDone = true;
    act(...args);
  };
}
