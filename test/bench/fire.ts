import type { Sql } from "../../lib/db/connect.ts";
import { silentLog } from "../../lib/log/log.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { type BenchStack, benchStack } from "./bench-stack.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";
import { seedDue, seedSchedules } from "./seed.ts";

export interface FireRun {
  jobs: number;
  ms: number;
  perSecond: number;
  walPerJob: number;
}

export const does = "plan rows due at one instant → durable jobs and parcels, sent";

export const options = { schedules: "3000000", due: "100000", runs: "3", lanes: "2", batch: "5000" };

/** Plan rows due at one instant → durable jobs, parcels and next plan rows, handed to SQS and marked as sent. */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const schedules = number(options, "schedules");
  const due = number(options, "due");
  const lanes = number(options, "lanes");
  const batchMax = number(options, "batch");
  say(machine());
  await using stack = await benchStack(options["data-dir"], lanes + 1);
  await seedSchedules(stack.sql, schedules, say);
  const runs = await fireRuns(stack, { schedules, due, lanes, batchMax, runs: number(options, "runs") }, say);
  const figures = {
    perSecond: median(runs.map((run) => run.perSecond)),
    walPerJob: median(runs.map((run) => run.walPerJob)),
    runs,
  };
  say(
    `fire: ${figures.perSecond.toLocaleString("en")} jobs/s, ${figures.walPerJob} bytes of WAL per job (median of ${runs.length})`,
  );
  return { ...figures, schedules, due, lanes, batchMax, machine: machine(), settings: stack.settings };
}

export interface FireParams {
  schedules: number;
  due: number;
  lanes: number;
  batchMax: number;
  runs: number;
}

/** Each run fires another scattered due set, after a checkpoint: pages are written whole to the WAL again, as they are in production. */
export async function fireRuns(
  stack: BenchStack,
  { schedules, due, lanes, batchMax, runs }: FireParams,
  say: Say,
): Promise<FireRun[]> {
  const { sql, queue } = stack;
  const settings = { ...tickDefaults, lanes, batchMax };
  await tick({ sql, queue, log: silentLog }, settings, () => false);
  const done: FireRun[] = [];
  for (let run = 1; run <= runs; run++) {
    const at = await justBeyondWatermark(sql);
    const seeded = await seedDue(sql, { due, schedules, run, at });
    await sql`vacuum (analyze) carillon.plan`;
    await sql`checkpoint`;
    const walBefore = await stack.walBytes();
    const startedAt = performance.now();
    const ticked = await tick({ sql, queue, log: silentLog }, settings, () => false);
    const ms = performance.now() - startedAt;
    if (ticked.jobs !== seeded) throw new Error(`${seeded} were due and ${ticked.jobs} became jobs.`);
    const wal = (await stack.walBytes()) - walBefore;
    const figures = {
      jobs: ticked.jobs,
      ms: Math.round(ms),
      perSecond: perSecond(ticked.jobs, ms),
      walPerJob: Math.round(wal / ticked.jobs),
    };
    say(
      `run ${run}: ${figures.jobs.toLocaleString("en")} jobs in ${figures.ms} ms, ${figures.perSecond.toLocaleString("en")}/s, ${figures.walPerJob} B WAL each, ${ticked.parcels} parcels`,
    );
    done.push(figures);
  }
  return done;
}

/** The next instant that no tick has planned yet; the horizon reaches it while the due set is being stored. */
async function justBeyondWatermark(sql: Sql): Promise<Date> {
  const [row] = await sql<
    { at: Date }[]
  >`select max(watermark_at) + interval '1 millisecond' as at from carillon.shards`;
  if (row === undefined) throw new Error("There are no shards.");
  return row.at;
}
