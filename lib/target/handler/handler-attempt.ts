import { applyEditsInside, type EditInside } from "../../batch/edits-inside.ts";
import type { AlarmClock } from "../../clock.ts";
import type { Sql, Tx } from "../../db/connect.ts";
import { databaseClock } from "../../db/database-clock.ts";
import type { JobHandler, RunContext } from "../../job/define-job.ts";
import type { HandlerJob, InTransaction } from "../../job/handler-context.ts";
import { done as handlerDone, saidBy } from "../../job/handler-results.ts";
import { jobId } from "../../job/job-id.ts";
import type { JobResult } from "../../job/read-results.ts";
import type { HandlerLog } from "../../log/log.ts";
import { type ClaimedJob, receiversId } from "../../parcel/claimed-job.ts";
import { handOver } from "../../parcel/hand-over.ts";
import type { OutgoingParcel, ParcelQueue } from "../../parcel/parcel-queue.ts";
import { attachDaysFor, type Notify } from "../../parcel/settle.ts";
import { settleInside } from "../../parcel/settle-inside.ts";
import { shardOf } from "../../plan/shard.ts";
import { type Delivery, done } from "../delivery.ts";
import type { Stop } from "../stop.ts";
import { failureOf, type Outcome, outcomeOf } from "./handler-outcomes.ts";
import { type Accept, NotedEdits } from "./handler-schedules.ts";
import { type HandlerTransaction, handlerTransaction } from "./handler-transaction.ts";
import { NamingLog } from "./naming-log.ts";

export interface HandlerAttemptDeps {
  /** The worker's own connections, which no handler holds. */
  sql: Sql;
  /** The connections of handlers' transactions: each transaction holds one until it ends. */
  transactions: Sql;
  queue: ParcelQueue;
  notify: Notify;
  log: HandlerLog;
  clock: AlarmClock;
}

/** One job, or all due jobs of a group, with their handler. */
export interface HandlerRun {
  handler: JobHandler;
  jobs: readonly ClaimedJob[];
  /** The parsed payloads, in the order of the jobs. */
  payloads: readonly unknown[];
}

type Parcel = { id: string; fence: number };

interface Around {
  parcel: Parcel;
  stop: Stop;
  accept: Accept;
}

/**
 * Runs a handler once and returns the outcomes of its jobs. If the handler used its transaction,
 * the jobs that succeeded are settled in it: its writes and the jobs' success commit together or
 * not at all. If it is uncertain whether the commit arrived, a failure is returned: the settle that
 * follows finds the job settled and leaves it so, or finds that nothing was committed.
 */
export async function attemptRun(
  deps: HandlerAttemptDeps,
  run: HandlerRun,
  { parcel, stop, accept }: Around,
): Promise<Delivery[]> {
  const { handler, jobs, payloads } = run;
  const transaction = handlerTransaction(deps.transactions, stop, deps.clock);
  const startedAt = deps.clock.now().getTime();
  const noted = new NotedEdits(accept);
  try {
    const inTransaction = { sql: transaction.sql, schedule: noted.schedule };
    const context = new AttemptContext(stop, new NamingLog(deps.log, jobs), inTransaction);
    const results = await handler.run(
      jobs.map((job, index) => factsOf(job, payloads[index])),
      context,
    );
    noted.close();
    if (stop.reason !== undefined) throw stop.reason;
    // Nearly all jobs are done, and then the clock need not be read.
    const outcomes = areAllDone(results, jobs) ? jobs.map(() => done) : await outcomesOf(deps, run, results);
    if (!transaction.isOpen() && noted.edits.length === 0) {
      transaction.close();
      return outcomes;
    }
    return await settleTogether(deps, transaction, {
      parcel,
      startedAt,
      ended: jobs.map((job, index) => ({ job, outcome: outcomes[index] ?? failureOf(missing(job)) })),
      edits: noted.edits,
      author: `handler:${handler.name}`,
    });
  } catch (error) {
    noted.close();
    await transaction.rollBack();
    const failure =
      saidBy(error)?.kind === "retry"
        ? await outcomeOf(error, { checks: 0 }, handler, () => databaseClock(deps.sql))
        : failureOf(error);
    return jobs.map(() => failure);
  }
}

function areAllDone(results: readonly JobResult[], jobs: readonly ClaimedJob[]): boolean {
  return results.length === jobs.length && results.every((result) => result === handlerDone);
}

function outcomesOf(
  { sql }: HandlerAttemptDeps,
  { handler, jobs }: HandlerRun,
  results: readonly JobResult[],
): Promise<Outcome[]> {
  const askClock = () => databaseClock(sql);
  return Promise.all(
    jobs.map((job, index) => outcomeOf(results[index] ?? missing(job), job, handler, askClock)),
  );
}

/** Makes a signal only for handlers that use it. */
class AttemptContext implements RunContext {
  readonly log: HandlerLog;
  readonly inTransaction: InTransaction;
  readonly #stop: Stop;

  constructor(stop: Stop, log: HandlerLog, inTransaction: InTransaction) {
    this.log = log;
    this.inTransaction = inTransaction;
    this.#stop = stop;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }
}

interface Together {
  parcel: Parcel;
  /** When the handler was called, by the worker's clock. */
  startedAt: number;
  ended: readonly { job: ClaimedJob; outcome: Outcome }[];
  edits: readonly EditInside[];
  author: string;
}

/** The lease is lost, or the job is cancelled: the handler's transaction must not commit. */
class NotHeld extends Error {
  override readonly name = "NotHeld";
  readonly job: ClaimedJob;

  constructor(job: ClaimedJob) {
    super(`The job ${jobId(job)} is cancelled, or its lease is lost.`);
    this.job = job;
  }
}

async function settleTogether(
  deps: HandlerAttemptDeps,
  transaction: HandlerTransaction,
  together: Together,
): Promise<Delivery[]> {
  const { ended } = together;
  if (ended.every(({ outcome }) => outcome.kind === "failed")) {
    await transaction.rollBack();
    return ended.map(({ outcome }) => outcome);
  }
  try {
    const again = ended.flatMap(({ outcome }) => (outcome.kind === "again" ? [outcome.at] : []));
    if (again.length > 0) await attachDaysFor(deps.sql, again);
    await handOver(deps.sql, deps.queue, await commitTogether(deps, transaction, together));
    return ended.map(({ outcome }) => (outcome.kind === "failed" ? outcome : { kind: "settled" }));
  } catch (error) {
    if (!(error instanceof NotHeld)) throw error;
    // The other jobs are not at fault, and start again without this one.
    return ended.map(({ job }) => ({ kind: job === error.job ? "cancelled" : "back" }));
  }
}

function commitTogether(
  deps: HandlerAttemptDeps,
  transaction: HandlerTransaction,
  { parcel, startedAt, ended, edits, author }: Together,
): Promise<OutgoingParcel[]> {
  const passing = ended.flatMap(({ job, outcome }) => (outcome.kind === "again" ? [job.scheduleId] : []));
  return transaction.commit(async (tx) => {
    const inside = { author, parcelId: parcel.id, schedules: passing };
    if (edits.length > 0) await readInstantsAgain(tx);
    const outgoing = edits.length === 0 ? [] : await applyEditsInside(tx, edits, inside);
    // A recheck passes the gate of its shard, and gates are passed in the order of shards, to avoid
    // deadlocks.
    for (const { job, outcome } of ended.toSorted(
      (a, b) => shardOf(a.job.scheduleId) - shardOf(b.job.scheduleId),
    )) {
      if (outcome.kind === "failed") continue;
      const startedMs = Math.max(0, deps.clock.now().getTime() - startedAt);
      const settled = await settleInside(tx, parcel, job, outcome, { notify: deps.notify, startedMs });
      if (!settled.held) throw new NotHeld(job);
      outgoing.push(...settled.outgoing);
    }
    return outgoing;
  });
}

/**
 * Restores the settings by which instants and arrays are read. The handler may have changed them in
 * its transaction, and its edits would be wrong.
 */
async function readInstantsAgain(tx: Tx): Promise<void> {
  await tx`select set_config('datestyle', 'ISO, MDY', true), set_config('array_nulls', 'on', true)`;
}

function missing(job: ClaimedJob): Error {
  return new Error(`The handler returned no result for ${jobId(job)}.`);
}

function factsOf(job: ClaimedJob, payload: unknown): HandlerJob<unknown> {
  const { kind, n, key, scheduleId, version, group, occurrence, dueAt, checks } = job;
  return {
    id: receiversId(job),
    kind,
    n,
    key,
    scheduleId,
    version,
    group,
    // Copies: the handler may change its dates, and the job is settled by its own.
    occurrence: new Date(occurrence),
    dueAt: new Date(dueAt),
    attempt: job.attempt + 1,
    checks,
    payload,
  };
}
