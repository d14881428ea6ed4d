import type { SQSRecord } from "aws-lambda";
import type { Clock } from "../../lib/clock.ts";
import type { QueueClass } from "../../lib/parcel/parcel-queue.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import type { Deliver } from "../../lib/target/delivery.ts";
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

const batch: Readonly<Record<QueueClass, number>> = { fast: 10, slow: 1 };

/**
 * Runs concurrent workers, one for each invocation, with the real code and the world's clock, which
 * moves when all of them wait for it. It ends when `over` returns true; workers that wait for the
 * clock then keep their parcels.
 */
export async function runWorkers(world: Carillon, workers: Workers, over: () => boolean): Promise<void> {
  const run = new Run(world, workers);
  for (let steps = 0; !over(); steps++) {
    if (steps > 20_000) throw new Error("The workers did not end within 20,000 steps.");
    await run.workUntilAllWait();
    if (over()) break;
    await world.clock.advance(workers.stepMs);
    if (workers.ticks === true && world.clock.now().getTime() % 60_000 < workers.stepMs) await world.tick();
  }
}

class Run {
  readonly #world: Carillon;
  readonly #workers: Workers;
  readonly #arrived: Record<QueueClass, SQSRecord[]> = { fast: [], slow: [] };
  readonly #busy: Record<QueueClass, number> = { fast: 0, slow: 0 };
  /** Messages in work, and those of them that wait for the clock. */
  #working = 0;
  #waiting = 0;
  #failure: unknown = null;

  constructor(world: Carillon, workers: Workers) {
    this.#world = world;
    this.#workers = workers;
  }

  async workUntilAllWait(): Promise<void> {
    for (;;) {
      // Lets workers continue that the clock has woken.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#failure !== null) throw this.#failure;
      const started = this.#start("fast") + this.#start("slow");
      if (started === 0 && this.#working === this.#waiting) return;
    }
  }

  #start(queue: QueueClass): number {
    this.#arrived[queue].push(...this.#world.queue.take(queue));
    let started = 0;
    while (this.#busy[queue] < (this.#workers[queue] ?? 0) && this.#arrived[queue].length > 0) {
      const records = this.#arrived[queue].splice(0, batch[queue]);
      this.#busy[queue] += 1;
      started += 1;
      void this.#invoke(queue, records);
    }
    return started;
  }

  async #invoke(queue: QueueClass, records: readonly SQSRecord[]): Promise<void> {
    await Promise.all(records.map((record) => this.#work(record)));
    this.#busy[queue] -= 1;
  }

  async #work(record: SQSRecord): Promise<void> {
    this.#working += 1;
    try {
      await this.#workAs(record);
    } catch (error) {
      this.#failure = error;
    } finally {
      this.#working -= 1;
    }
  }

  async #workAs(record: SQSRecord): Promise<void> {
    const { sql, queue, log } = this.#world;
    let waitingHere = 0;
    const clock: Clock = {
      now: this.#world.clock.now,
      sleep: async (ms, signal) => {
        // The renewal of leases waits beside the work, and does not count.
        if (signal !== undefined) return this.#world.clock.sleep(ms, signal);
        waitingHere += 1;
        if (waitingHere === 1) this.#waiting += 1;
        await this.#world.clock.sleep(ms);
        waitingHere -= 1;
        if (waitingHere === 0) this.#waiting -= 1;
      },
    };
    const deps = {
      sql,
      queue,
      log,
      clock,
      random: () => 1,
      notify: notifyByDefault,
      window: this.#workers.window ?? null,
      deliver: this.#workers.deliver(clock),
    };
    const { batchItemFailures } = await workMessages(deps, [record], () => 600_000);
    if (batchItemFailures.length > 0) throw new Error(`Message ${record.messageId} failed.`);
  }
}
