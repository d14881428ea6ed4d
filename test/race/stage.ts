import { setTimeout as pause } from "node:timers/promises";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import type { Statement } from "../../lib/db/statement.ts";
import type { EditDeps } from "../../lib/edit/edit-transaction.ts";
import { patchSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { pauseSchedule } from "../../lib/edit/schedule-holds.ts";
import { silentLog } from "../../lib/log/log.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { done } from "../../lib/target/delivery.ts";
import { passIdleShards } from "../../lib/tick/fire/idle-shards.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { type DatabaseClock, databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import { aborted } from "../support/aborted.ts";
import { testDatabase } from "../support/database.ts";
import { type ClaimRecorder, claimRecorder } from "./claims.ts";
import { judge } from "./judge.ts";
import { readLedger } from "./ledger.ts";
import { connectThrough, textOf, type WrapLine } from "./lines.ts";
import { type MemoryQueues, memoryQueues, recordOf } from "./memory-queues.ts";

const start = "2027-03-01T10:00:00.000Z";
const shard = 1;
const caller = { name: "ann" };
const timeLeftMs = 20_000;
// Shorter than a lease, so that a message can be delivered again while its parcel is being worked.
const visibilityMs = 5_000;

/**
 * A few actors that meet step by step, each on a connection that a test may hold, cut or change.
 */
export interface Stage {
  clock: DatabaseClock;
  side: Sql;
  queues: MemoryQueues;
  put(when: string, wrap?: WrapLine): Promise<void>;
  patch(patch: object, wrap?: WrapLine): Promise<void>;
  pause(wrap?: WrapLine): Promise<void>;
  batch(wrap?: WrapLine, batchMax?: number): Promise<void>;
  /** The first step of a tick: raises the watermark of the shard if nothing of it is due. */
  pass(wrap?: WrapLine): Promise<void>;
  sweep(): Promise<void>;
  /** A worker that receives one visible message; its target answers when `until` has resolved. */
  work(until?: Promise<void>, wrap?: WrapLine): Promise<void>;
  /** Waits until the promise has settled, or until some statement waits for a lock. */
  untilBlockedOr(finished: Promise<unknown>): Promise<void>;
  /**
   * Ordinary ticks and workers for ten minutes, then the oracle: returns the kinds of broken rules.
   */
  verdict(): Promise<string[]>;
  close(): Promise<void>;
}

export async function stage(): Promise<Stage> {
  const database = await testDatabase();
  const side = connect({ DATABASE_URL: database.url }, { max: 2 });
  const clock = await databaseClock(side, start);
  await side`alter table carillon.schedules alter column id set increment by 16`;
  const queues = memoryQueues(clock, visibilityMs);
  const queue = queues.sender();
  const recorder = claimRecorder(clock);
  const opened: Sql[] = [];
  let edits = 0;

  const open = (wrap: WrapLine = (line) => line) => {
    const sql = connectThrough(database.url, (line, onLost) => recorder.wrap(wrap(line, onLost), onLost));
    opened.push(sql);
    return sql;
  };
  const edit = async (wrap: WrapLine | undefined, change: (deps: EditDeps) => Promise<unknown>) => {
    await change({ sql: open(wrap), queue });
  };
  const key = "staged";
  const ordinary = open();
  const batch = async (sql: Sql, batchMax = 100) => {
    const fired = await fireShardBatch(sql, shard, batchMax, queue.timing);
    await handOver(sql, queue, fired.parcels);
  };

  const staged: Stage = {
    clock,
    side,
    queues,
    put: (when, wrap) => {
      const body = parseScheduleBody({ when, target: { handler: "staged" }, payload: { edit: ++edits } });
      return edit(wrap, (deps) => putSchedule(deps, { key, caller, body }));
    },
    patch: (patch, wrap) =>
      edit(wrap, (deps) =>
        patchSchedule(deps, { key, caller, patch: { ...patch, payload: { edit: ++edits } } }),
      ),
    pause: (wrap) => edit(wrap, (deps) => pauseSchedule(deps, { key, caller })),
    batch: async (wrap, batchMax) => batch(wrap === undefined ? ordinary : open(wrap), batchMax),
    pass: async (wrap) => {
      await passIdleShards(wrap === undefined ? ordinary : open(wrap), [shard]);
    },
    sweep: async () => {
      await handOver(ordinary, queue, (await sweep(ordinary, silentLog)).outgoing);
    },
    work: async (until, wrap) => {
      await workOne({ clock, queues, recorder }, open(wrap), until);
    },
    untilBlockedOr: async (finished) => {
      let over = false;
      const end = () => {
        over = true;
      };
      finished.then(end, end);
      while (!over && !(await isSomebodyBlocked(side))) await pause(5);
    },
    verdict: async () => {
      const until = clock.now().getTime() + 600_000;
      while (clock.now().getTime() < until) {
        for (let full = true; full; ) {
          await staged.pass();
          const fired = await fireShardBatch(ordinary, shard, 100, queue.timing);
          await handOver(ordinary, queue, fired.parcels);
          full = !fired.done;
        }
        await staged.sweep();
        for (let left = 50; left > 0 && (await workOne({ clock, queues, recorder }, ordinary)); left--);
        await clock.advance(15_000);
      }
      const end = clock.now().getTime() - 60_000;
      const { claims } = recorder;
      const { violations } = judge(
        await readLedger(side, new Date(end)),
        { claims, acknowledged: [] },
        end,
        0,
      );
      return [...new Set(violations.map((each) => each.slice(0, each.indexOf(":"))))].sort();
    },
    close: async () => {
      await Promise.all([...opened, side].map((sql) => sql.end()));
      await database.drop();
    },
  };
  return staged;
}

interface WorkParts {
  clock: DatabaseClock;
  queues: MemoryQueues;
  recorder: ClaimRecorder;
}

async function workOne(
  { clock, queues, recorder }: WorkParts,
  sql: Sql,
  until?: Promise<void>,
): Promise<boolean> {
  const [message] = queues.receive(1);
  if (message === undefined) return false;
  const deps = {
    sql,
    queue: queues.sender(),
    log: silentLog,
    random: () => 0,
    clock: {
      now: clock.now,
      sleep: (ms: number, signal?: AbortSignal) =>
        signal === undefined ? clock.advance(ms) : aborted(signal),
    },
    notify: notifyByDefault,
    window: null,
    deliver: async (jobs: Parameters<Parameters<typeof workMessages>[0]["deliver"]>[0]) => {
      await until;
      for (const job of jobs) recorder.tookDelivery(job);
      return jobs.map(() => done);
    },
  };
  const { batchItemFailures } = await workMessages(deps, [recordOf(message)], () => timeLeftMs);
  if (batchItemFailures.length === 0) queues.remove(message);
  return true;
}

async function isSomebodyBlocked(sql: Sql): Promise<boolean> {
  const waiting = await sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return waiting.length > 0;
}

export interface Held {
  wrap: WrapLine;
  /** Resolves when the statement is about to be sent. */
  reached: Promise<void>;
  go(): void;
}

/** `commit` is a statement of its own, and also a word in the isolation level of `begin`. */
function says(statement: Statement, piece: string): boolean {
  const text = textOf(statement);
  return piece === "commit" ? text.trim() === piece : text.includes(piece);
}

/** Holds a connection before the first statement that contains this text. */
export function heldBefore(piece: string): Held {
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  let passed = false;
  return {
    reached,
    go,
    wrap: (line) => ({
      ...line,
      run: (statement) => {
        if (passed || !says(statement, piece)) return line.run(statement);
        passed = true;
        arrive();
        gone.then(
          () => line.run(statement),
          () => {},
        );
      },
    }),
  };
}

/** Cuts a connection just before the first statement that contains this text. */
export function cutBefore(piece: string): WrapLine {
  return (line, onLost) => ({
    ...line,
    run: (statement) => {
      if (!says(statement, piece)) return line.run(statement);
      statement.reject(new ConnectionLost("it was cut"));
      line.close().catch(() => {});
      onLost();
    },
  });
}

/** Wraps a connection twice: each statement meets `outer` first, and then `inner`. */
export function both(outer: WrapLine, inner: WrapLine): WrapLine {
  return (line, onLost) => outer(inner(line, onLost), onLost);
}
