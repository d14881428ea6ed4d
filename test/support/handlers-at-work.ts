import type { AlarmClock } from "../../lib/clock.ts";
import type { JobHandler } from "../../lib/job/define-job.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { deliverTo } from "../../lib/target/deliver.ts";
import { handlerTarget } from "../../lib/target/handler/handler-target.ts";
import { aborted, neverRings } from "./aborted.ts";
import type { Carillon } from "./carillon.ts";

/** The step in which the clock moves while handlers sleep. */
const stepMs = 100;

export type Sleep = (ms: number) => Promise<void>;

/**
 * Works every visible message with real handlers. While handlers sleep, the clock of the database
 * and of the worker moves on in steps; it stands still while a statement is under way.
 */
export async function workWithHandlers(
  world: Carillon,
  handlersOf: (sleep: Sleep) => readonly JobHandler[],
): Promise<void> {
  const { clock, sql, queue, log, activity } = world;
  let asleep = 0;
  const sleep: Sleep = async (ms) => {
    asleep += 1;
    await clock.sleep(ms);
    asleep -= 1;
  };
  const own: AlarmClock = {
    now: clock.now,
    sleep: (ms, signal) => (signal === undefined ? sleep(ms) : aborted(signal)),
    alarm: neverRings,
  };
  const none = () => Promise.reject(new Error("Only handlers are delivered here."));
  const handlers = handlersOf(sleep);
  const deps = { handlers, clock: own, log, sql, transactions: sql, queue, notify: notifyByDefault };
  const deliver = deliverTo({
    handler: handlerTarget(deps),
    queue: none,
    event: none,
    webhook: none,
    lambda: none,
  });
  world.more.worker = { deliver, clock: own };
  let isOver = false;
  const working = world.work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await activity.idle();
    if (asleep > 0) await clock.advance(stepMs);
  }
  await working;
}
