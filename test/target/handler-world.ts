import { randomBytes } from "node:crypto";
import type { AlarmClock } from "../../lib/clock.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import type { JobHandler } from "../../lib/job/define-job.ts";
import { defineGroups } from "../../lib/limit/define-limits.ts";
import type { HandlerLog } from "../../lib/log/log.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { deliverTo } from "../../lib/target/deliver.ts";
import { handlerTarget } from "../../lib/target/handler/handler-target.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import { aborted, neverRings } from "../support/aborted.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

export interface HandlerWorld extends Carillon {
  /** A connection with the role of workers that run handlers. */
  worker: Sql;
  transactions: Sql;
  handlers: JobHandler[];
  /**
   * Runs the real worker and the real handlers for every visible message; returns how many messages
   * stay.
   */
  run(options?: RunOptions): Promise<number>;
  /** Makes the due jobs, and runs them. */
  runDue(): Promise<number>;
  /** The rows that the handlers of a test wrote. */
  written(): Promise<string[]>;
}

/** Replacements for parts of the worker. */
export interface RunOptions {
  worker?: Sql;
  transactions?: Sql;
  clock?: AlarmClock;
  log?: HandlerLog;
}

/** A Carillon whose worker has the role for handlers, and a table for their effects. */
export async function handlerWorld(...handlers: JobHandler[]): Promise<HandlerWorld> {
  const world = await carillon();
  const url = await loginAsHandler(world.sql, world.databaseUrl);
  const worker = connect({ DATABASE_URL: url }, { max: 2 });
  const transactions = connect({ DATABASE_URL: url }, { max: 2 });
  await defineGroups(world.sql, handlers);
  await world.sql`create table written (text text not null)`;
  await world.sql`grant select, insert on written to carillon_handler`;

  const own: HandlerWorld = {
    ...world,
    worker,
    transactions,
    handlers,
    run: async (options = {}) => runVisible(own, options),
    runDue: async () => {
      await own.tick();
      return own.run();
    },
    written: async () =>
      (await world.sql<{ text: string }[]>`select text from written order by text`).map(({ text }) => text),
    stop: async () => {
      await Promise.all([worker.end(), transactions.end()]);
      await world.stop();
    },
  };
  return own;
}

async function runVisible(world: HandlerWorld, options: RunOptions): Promise<number> {
  const { queue, clock, handlers } = world;
  const { worker, transactions, log } = { ...world, ...options };
  // A wait for a parcel moves the clock on; an alarm waits until it is aborted.
  const waiting: AlarmClock = options.clock ?? {
    now: clock.now,
    sleep: (ms, signal) => (signal === undefined ? clock.advance(ms) : aborted(signal)),
    alarm: neverRings,
  };
  const notify = notifyByDefault;
  const none = () => Promise.reject(new Error("Only handlers are delivered here."));
  const deliver = deliverTo({
    handler: handlerTarget({ handlers, clock: waiting, log, sql: worker, transactions, queue, notify }),
    queue: none,
    event: none,
    webhook: none,
    lambda: none,
  });
  const deps = { sql: worker, queue, deliver, clock: waiting, log, random: () => 1, notify, window: null };
  const { batchItemFailures } = await workMessages(deps, queue.take("slow"), () => 60_000);
  return batchItemFailures.length;
}

async function loginAsHandler(owner: Sql, databaseUrl: string): Promise<string> {
  const name = `handler_${randomBytes(4).toString("hex")}`;
  await owner.unsafe(`create role ${name} login password 'test' in role carillon_handler`);
  const url = new URL(databaseUrl);
  url.username = name;
  url.password = "test";
  return url.href;
}
