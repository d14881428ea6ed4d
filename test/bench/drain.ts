import { DeleteMessageBatchCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import { systemClock } from "../../lib/clock.ts";
import { sqsEvent } from "../../lib/local/lambda/sqs-event.ts";
import { silentLog } from "../../lib/log/log.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { done } from "../../lib/target/delivery.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import type { WorkerDeps } from "../../lib/worker/work-parcel.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import { type BenchStack, benchStack } from "./bench-stack.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";
import { seedDue, seedSchedules } from "./seed.ts";

export const does = "parcels in SQS → claimed, delivered to a no-op, settled";

export const options = { jobs: "100000", workers: "2", schedules: "300000", runs: "3" };

/** Parcels in SQS → received, claimed, delivered to a target that does nothing, settled, deleted. */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const jobs = number(options, "jobs");
  const workers = number(options, "workers");
  const schedules = number(options, "schedules");
  say(machine());
  await using stack = await benchStack(options["data-dir"], Math.max(3, workers + 1));
  await seedSchedules(stack.sql, schedules, say);
  const runs: { jobs: number; ms: number; perSecond: number; walPerJob: number }[] = [];
  for (let run = 1; run <= number(options, "runs"); run++) {
    const sent = await fillQueue(stack, jobs, schedules, run);
    await stack.sql`checkpoint`;
    const walBefore = await stack.walBytes();
    const startedAt = performance.now();
    await drainQueue(stack, sent, workers);
    const ms = performance.now() - startedAt;
    const wal = (await stack.walBytes()) - walBefore;
    const figures = {
      jobs: sent,
      ms: Math.round(ms),
      perSecond: perSecond(sent, ms),
      walPerJob: Math.round(wal / sent),
    };
    say(
      `run ${run}: ${sent.toLocaleString("en")} jobs in ${figures.ms} ms, ${figures.perSecond.toLocaleString("en")}/s, ${figures.walPerJob} B WAL each`,
    );
    runs.push(figures);
  }
  const figures = {
    perSecond: median(runs.map((run) => run.perSecond)),
    walPerJob: median(runs.map((run) => run.walPerJob)),
    runs,
  };
  say(
    `drain: ${figures.perSecond.toLocaleString("en")} jobs/s through SQS, ${figures.walPerJob} bytes of WAL per job (median of ${runs.length})`,
  );
  return { ...figures, workers, machine: machine(), settings: stack.settings };
}

/** Jobs that are due already, so that their messages wait for nothing. */
async function fillQueue(
  { sql, queue }: BenchStack,
  jobs: number,
  schedules: number,
  run: number,
): Promise<number> {
  const settings = tickDefaults;
  await tick({ sql, queue, log: silentLog }, settings, () => false);
  await sql`delete from carillon.plan`;
  await sql`update carillon.shards set watermark_at = carillon.clock() - interval '10 minutes', watermark_schedule = 0`;
  await seedDue(sql, { due: jobs, schedules, run, at: new Date(Date.now() - 60_000) });
  const ticked = await tick({ sql, queue, log: silentLog }, settings, () => false);
  return ticked.jobs;
}

async function drainQueue({ sql, queue }: BenchStack, jobs: number, workers: number): Promise<void> {
  let settled = 0;
  const deps: WorkerDeps = {
    sql,
    queue,
    clock: systemClock,
    log: silentLog,
    random: Math.random,
    notify: notifyByDefault,
    window: null,
    deliver: async (claimed) => {
      settled += claimed.length;
      return claimed.map(() => done);
    },
  };
  const work = async () => {
    while (settled < jobs) {
      const { Messages = [] } = await queue.sqs.send(
        new ReceiveMessageCommand({ QueueUrl: queue.urls.fast, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }),
      );
      if (Messages.length === 0) continue;
      const records: SQSRecord[] = sqsEvent(
        Messages,
        "arn:aws:sqs:us-east-1:000000000000:bench-fast",
      ).Records;
      const { batchItemFailures } = await workMessages(deps, records, () => 60_000);
      if (batchItemFailures.length > 0) throw new Error(`${batchItemFailures.length} parcels failed.`);
      const Entries = Messages.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle }));
      await queue.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queue.urls.fast, Entries }));
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  const [left] = await sql<
    { waiting: number }[]
  >`select count(*)::int as waiting from carillon.jobs where state = 'waiting'`;
  if (left?.waiting !== 0) throw new Error(`${left?.waiting} jobs still wait.`);
}
