import { systemClock } from "../../../lib/clock.ts";
import { type CpuShares, cpuSplit } from "../cpu-split.ts";
import type { Program, RunReport } from "./program.ts";

/** `due`: all due at one instant. `added`: added one after the other and due at once. */
export type Work = "due" | "added";

export interface Run {
  /** The time until the last job was stored. */
  storeMs: number;
  /**
   * The time from the instant at which all were due, or from the first add, until all were stored
   * as done.
   */
  doneMs: number;
  firstMs: number;
  lastMs: number;
  /** Jobs that ran more than once. */
  again: number;
  /** WAL of Postgres per job; null for a peer without Postgres. */
  walPerJob: { store: number; done: number } | null;
  cpu: CpuShares | null;
}

export type Moment = "begin" | "warm" | "stored" | "due";

export interface Field {
  /** The database (or other store) of this run alone, freshly installed. */
  url: string;
  count: number;
  producer: Program;
  workers: readonly Program[];
  /**
   * A peer's own commands to its producer: before anything is stored, when its workers are warm,
   * when all jobs are stored, and when they are due.
   */
  words: Readonly<Partial<Record<Moment, string>>>;
  /** The longest time for storing; due sets are due after it. */
  storeMaxMs: number;
  walBytes: (() => Promise<number>) | null;
  /** Called once all jobs are stored: analyses the tables, and syncs the written data to disk. */
  tidy(): Promise<void>;
  postgresPid: number;
}

const pollMs = 5;
/** Time for workers to settle, and for a peer that plans ahead to plan, before the instant. */
const readyMs = 2_000;
const doneMaxMs = 600_000;
/**
 * The share of the measured number of jobs that is run first: workers in use have connections,
 * plans of their statements, and compiled code.
 */
const warmShare = 1 / 3;

/**
 * All jobs are stored and all workers are up, warm and idle at the instant; the measurement starts
 * there.
 */
export async function runDue(field: Field): Promise<Run> {
  const { url, count, producer, workers } = field;
  const progress = await warmWorkers(field);
  const wal = walMeter(field);
  await wal();
  const at = Date.now() + field.storeMaxMs + readyMs;
  const storeMs = await producer.store(url, count, at);
  const storeWal = await wal();
  await field.tidy();
  await tell(field, "stored");
  const left = at - Date.now();
  if (left < 0) {
    await Promise.all(workers.map((worker) => worker.stop()));
    throw new DueTooSoon(`All was stored ${-left} ms after the instant.`);
  }
  await systemClock.sleep(left);
  const cpu = cpuSplit(field.postgresPid);
  await Promise.all([progress.reach(count), tell(field, "due")]);
  await untilNothingIsLeft(field);
  const doneMs = Date.now() - at;
  return {
    storeMs,
    doneMs,
    cpu: cpu.end(),
    ...(await stopped(field, at)),
    walPerJob: perJob(field, storeWal, await wal()),
  };
}

/** Workers are up, warm and idle when the first job is added; the measurement starts there. */
export async function runAdded(field: Field): Promise<Run> {
  const { url, count, producer } = field;
  const progress = await warmWorkers(field);
  const wal = walMeter(field);
  await wal();
  const cpu = cpuSplit(field.postgresPid);
  const startedAt = Date.now();
  const [storeMs] = await Promise.all([producer.store(url, count, 0), progress.reach(count)]);
  await untilNothingIsLeft(field);
  const doneMs = Date.now() - startedAt;
  const shares = cpu.end();
  const told = await stopped(field, startedAt);
  return { storeMs, doneMs, cpu: shares, ...told, walPerJob: perJob(field, 0, await wal()) };
}

/** Workers that have done some jobs of this database, and are idle. */
async function warmWorkers(field: Field): Promise<Progress> {
  const { url, count, producer, workers } = field;
  await tell(field, "begin");
  const progress = watchProgress(workers);
  await Promise.all(workers.map((worker, index) => worker.work(url, count, progress.of(index))));
  const some = Math.ceil(count * warmShare);
  await Promise.all([producer.store(url, some, 0), progress.reach(some)]);
  await untilNothingIsLeft(field);
  await Promise.all(workers.map((worker) => worker.forget()));
  progress.forget();
  await tell(field, "warm");
  return progress;
}

async function tell({ words, producer, url }: Field, moment: Moment): Promise<void> {
  const word = words[moment];
  if (word !== undefined) await producer.tell(word, url);
}

/** Storing took longer than expected, so that some jobs were due before all were stored. */
export class DueTooSoon extends Error {
  override readonly name = "DueTooSoon";
}

/** Returns the WAL written since its last call. */
function walMeter({ walBytes }: Field): () => Promise<number> {
  let before: number | undefined;
  return async () => {
    if (walBytes === null) return 0;
    const now = await walBytes();
    const written = before === undefined ? 0 : now - before;
    before = now;
    return written;
  };
}

function perJob({ walBytes, count }: Field, store: number, done: number): Run["walPerJob"] {
  if (walBytes === null) return null;
  return { store: Math.round(store / count), done: Math.round(done / count) };
}

interface Progress {
  /** The worker of this index reports its number of runs here. */
  of(index: number): (runs: number) => void;
  /** Resolves when this many jobs have run. */
  reach(count: number): Promise<void>;
  forget(): void;
}

function watchProgress(workers: readonly Program[]): Progress {
  const ran = workers.map(() => 0);
  let check = () => {};
  return {
    of: (index) => (runs) => {
      ran[index] = runs;
      check();
    },
    reach: async (count) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const patience = setTimeout(
        () => reject(new Error(`Only ${ran.join(" + ")} of ${count} jobs ran in ${doneMaxMs / 1_000} s.`)),
        doneMaxMs,
      );
      check = () => {
        if (ran.reduce((sum, each) => sum + each) >= count) resolve();
      };
      await promise.finally(() => clearTimeout(patience));
    },
    forget: () => void ran.fill(0),
  };
}

/** Waits until the jobs are stored as done; having run is not enough. */
async function untilNothingIsLeft({ producer, url }: Field): Promise<void> {
  const until = Date.now() + doneMaxMs;
  while (await producer.isLeft(url)) {
    if (Date.now() > until) throw new Error("Jobs that have run are not stored as done.");
    await systemClock.sleep(pollMs);
  }
}

async function stopped(
  { workers, count }: Field,
  from: number,
): Promise<Pick<Run, "firstMs" | "lastMs" | "again">> {
  const all = await Promise.all(workers.map((worker) => worker.stop()));
  const busy = all.filter(({ runs }) => runs > 0);
  const distinct = distinctJobs(all);
  if (distinct !== count) throw new Error(`${distinct} of ${count} jobs ran.`);
  return {
    firstMs: Math.min(...busy.map(({ firstAt }) => firstAt)) - from,
    lastMs: Math.max(...busy.map(({ lastAt }) => lastAt)) - from,
    again: all.reduce((sum, { runs }) => sum + runs, 0) - count,
  };
}

function distinctJobs(all: readonly RunReport[]): number {
  const seen = all.map((told) => Buffer.from(told.seen, "base64"));
  const [first = Buffer.alloc(0)] = seen;
  let distinct = 0;
  for (let index = 0; index < first.length; index++) {
    let bits = seen.reduce((union, each) => union | (each[index] ?? 0), 0);
    for (; bits !== 0; bits &= bits - 1) distinct++;
  }
  return distinct;
}
