import { CreateQueueCommand, PurgeQueueCommand } from "@aws-sdk/client-sqs";
import { connect, type Sql } from "../../lib/db/connect.ts";
import type { QueueClass } from "../../lib/parcel/parcel-queue.ts";
import type { Deliver } from "../../lib/target/delivery.ts";
import type { BenchStack } from "./bench-stack.ts";
import { type CpuShares, cpuLine, cpuSplit } from "./cpu-split.ts";
import { answeringClient, type Carrier, directCarrier, sqsCarrier } from "./drain-carrier.ts";
import { benchSink, type Destination, fill, seedDestination } from "./drain-fill.ts";
import { failingOnce, toHandler, toNothing, toQueue, work } from "./drain-work.ts";
import { perSecond, type Say } from "./report.ts";

/** The destinations of the jobs; the page explains each (drain-page.ts). */
export const drained = [
  "no-op",
  "a fifth fails once",
  "handler",
  "handler, ten a parcel",
  "queue, sink",
  "queue, emulator",
] as const;
export type Drained = (typeof drained)[number];
export const carrierNames = ["sqs", "direct"] as const;
export type CarrierName = (typeof carrierNames)[number];

export interface DrainCase {
  drained: Drained;
  carrier: CarrierName;
}

export interface DrainRun extends DrainCase {
  jobs: number;
  ms: number;
  perSecond: number;
  walPerJob: number;
  /** The number of jobs in a parcel, as the tick packed them. */
  jobsPerParcel: number;
  cpu: CpuShares | null;
}

export interface DrainParams {
  jobs: number;
  runs: number;
  /**
   * Concurrent invocations of the worker for fast deliveries, and of the one that runs handlers.
   */
  workers: Readonly<Record<QueueClass, number>>;
  cases: readonly DrainCase[];
}

export const drainCases: readonly DrainCase[] = drained.flatMap((each) =>
  carrierNames.map((carrier) => ({ drained: each, carrier })),
);

/**
 * The round that is not counted and the case of ten a parcel run a tenth of the jobs. That is
 * enough to see the cost of small parcels, and the cost of a handler's job is known after the first
 * few.
 */
const fewer = 10;

interface Place {
  stack: BenchStack;
  transactions: Sql;
  carriers: Readonly<Record<CarrierName, Carrier>>;
  params: DrainParams;
}

/**
 * Runs every case once, then every case again, so that other load on the machine affects all of
 * them. One round before is not counted.
 */
export async function drainRuns(stack: BenchStack, params: DrainParams, say: Say): Promise<DrainRun[]> {
  const destinations = new Set(params.cases.map(({ drained }) => destinationOf(drained)));
  for (const destination of destinations) await seedDestination(stack.sql, destination, params.jobs);
  await stack.queue.sqs.send(new CreateQueueCommand({ QueueName: benchSink }));
  const transactions = connect(stack.env, { max: 2 });
  const carriers = { sqs: sqsCarrier(stack.queue), direct: directCarrier(stack.queue) };
  const place = { stack, transactions, carriers, params };
  const done: DrainRun[] = [];
  try {
    for (let round = 0; round <= params.runs; round++) {
      for (const each of params.cases) {
        const isFew = round === 0 || each.drained === "handler, ten a parcel";
        const run = await drainOnce(place, each, isFew ? Math.ceil(params.jobs / fewer) : params.jobs);
        say(`${round === 0 ? "before" : `run ${round}`}: ${line(run)}`);
        if (round > 0) done.push(run);
      }
    }
  } finally {
    await transactions.end();
  }
  return done;
}

function destinationOf(drained: Drained): Destination {
  return drained === "handler" || drained === "handler, ten a parcel" ? "handler" : "queue";
}

function deliverOf({ stack, transactions }: Place, drained: Drained, carrier: Carrier): Deliver {
  switch (drained) {
    case "no-op":
      return toNothing;
    case "a fifth fails once":
      return failingOnce;
    case "handler":
    case "handler, ten a parcel":
      return toHandler(stack.sql, transactions, carrier);
    case "queue, sink":
      return toQueue(answeringClient(() => {}));
    case "queue, emulator":
      return toQueue(stack.queue.sqs, Object.values(stack.queue.urls));
  }
}

async function drainOnce(
  place: Place,
  { drained, carrier: name }: DrainCase,
  jobs: number,
): Promise<DrainRun> {
  const { stack, carriers, params } = place;
  const { sql } = stack;
  const carrier = carriers[name];
  await carrier.clear();
  const destination = destinationOf(drained);
  const due = { destination, jobs, known: drained !== "handler, ten a parcel" };
  const occurrence = await fill({ sql, queue: carrier.queue }, due);
  const jobsPerParcel = await packed(sql);
  const deliver = deliverOf(place, drained, carrier);
  await sql`checkpoint`;
  const walBefore = await stack.walBytes();
  const cpu = cpuSplit(stack.postgresPid);
  const startedAt = performance.now();
  const queueClass = destination === "handler" ? "slow" : "fast";
  await work({ sql, carrier, deliver }, { queueClass, jobs, workers: params.workers[queueClass] });
  const ms = performance.now() - startedAt;
  const shares = cpu.end();
  const walPerJob = Math.round(((await stack.walBytes()) - walBefore) / jobs);
  await prove(sql, occurrence, jobs, drained);
  await emptySink(stack, drained);
  return {
    drained,
    carrier: name,
    jobs,
    ms: Math.round(ms),
    perSecond: perSecond(jobs, ms),
    walPerJob,
    jobsPerParcel,
    cpu: shares,
  };
}

/** Checks in the database that each job was done exactly once. */
async function prove(sql: Sql, occurrence: Date, jobs: number, drained: Drained): Promise<void> {
  const again = drained === "a fifth fails once";
  const [row] = await sql<{ done: number; open: number }[]>`
    select count(*) filter (where state = 'succeeded'
        and attempt = case when ${again} and schedule_id % 5 = 0 then 2 else 1 end)::int as done,
      (select count(*)::int from carillon.parcels) as open
    from carillon.jobs where occurrence = ${occurrence}`;
  if (row?.done !== jobs || row.open !== 0)
    throw new Error(`${row?.done} of ${jobs} jobs are done, ${row?.open} parcels are left.`);
}

async function packed(sql: Sql): Promise<number> {
  const [row] = await sql<{ jobs: number }[]>`
    select round(avg(cardinality(occurrences)))::int as jobs from carillon.parcels`;
  return row?.jobs ?? 0;
}

async function emptySink({ queue }: BenchStack, drained: Drained): Promise<void> {
  if (drained !== "queue, emulator") return;
  const QueueUrl = queue.urls.fast.replace(/[^/]+$/, benchSink);
  await queue.sqs.send(new PurgeQueueCommand({ QueueUrl }));
}

export function line({
  drained,
  carrier,
  jobs,
  ms,
  walPerJob,
  jobsPerParcel,
  cpu,
  ...run
}: DrainRun): string {
  const name = `${drained} ${carrier === "sqs" ? "through SQS" : "without SQS"}`.padEnd(34);
  return `${name} ${jobs.toLocaleString("en")} jobs in ${ms} ms, ${run.perSecond.toLocaleString("en")}/s, ${walPerJob} B WAL each, ${jobsPerParcel} a parcel; ${cpuLine(cpu)}`;
}
