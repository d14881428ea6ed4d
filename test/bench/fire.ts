import type { Sql } from "../../lib/db/connect.ts";
import { silentLog } from "../../lib/log/log.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { type BenchStack, benchStack, measuredOn } from "./bench-stack.ts";
import { type CpuShares, cpuLine, cpuSplit } from "./cpu-split.ts";
import { hotPlan } from "./hot-plan.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";
import { seedDue, seedSchedules } from "./seed.ts";
import { walUse } from "./wal-use.ts";

export interface FireRun {
  jobs: number;
  ms: number;
  perSecond: number;
  walPerJob: number;
  /** The part of the WAL that is whole pages. */
  wholePageBytesPerJob: number;
  cpu: CpuShares | null;
}

export const does = "plan rows due at one instant → durable jobs and parcels, sent";

export const options = { schedules: "3000000", due: "100000", runs: "5", lanes: "2", batch: "5000" };

export interface FireFigures extends Figures {
  perSecond: number;
  walPerJob: number;
  runs: FireRun[];
  schedules: number;
  due: number;
  lanes: number;
  batchMax: number;
  settings: string;
  /** The plan of the longest statement, for one batch. */
  plan: string[];
}

/**
 * Plan rows due at one instant → durable jobs, parcels and next plan rows, sent to SQS and marked
 * as sent.
 */
export async function bench(options: Options, say: Say): Promise<FireFigures> {
  const schedules = number(options, "schedules");
  const due = number(options, "due");
  const lanes = number(options, "lanes");
  const batchMax = number(options, "batch");
  say(machine());
  await using stack = await benchStack(options["data-dir"], lanes + 1);
  await seedSchedules(stack.sql, schedules, say);
  const runs = await fireRuns(stack, { schedules, due, lanes, batchMax, runs: number(options, "runs") }, say);
  const plan = await hotPlan(stack, "inserted_jobs", async (sql) => {
    await seedDue(stack.sql, { due, schedules, run: runs.length + 1, at: await justBeyondWatermark(sql) });
    await tick(
      { sql, queue: stack.queue, log: silentLog },
      { ...tickDefaults, lanes: 1, batchMax },
      () => false,
    );
  });
  for (const line of plan) say(line);
  const figures = {
    perSecond: median(runs.map((run) => run.perSecond)),
    walPerJob: median(runs.map((run) => run.walPerJob)),
    runs,
  };
  say(
    `fire: ${figures.perSecond.toLocaleString("en")} jobs/s, ${figures.walPerJob} bytes of WAL per job (median of ${runs.length})`,
  );
  return {
    ...figures,
    plan,
    schedules,
    due,
    lanes,
    batchMax,
    ...measuredOn(stack),
  };
}

export interface FireParams {
  schedules: number;
  due: number;
  lanes: number;
  batchMax: number;
  runs: number;
  /** A different due set for each number. */
  seed?: number;
  /** Called just before a run. */
  before?: (sql: Sql) => Promise<void>;
}

/**
 * Each run fires another scattered due set after a checkpoint, so that pages are written whole to
 * the WAL again, as in production.
 */
export async function fireRuns(
  stack: BenchStack,
  { schedules, due, lanes, batchMax, runs, seed = 0, before }: FireParams,
  say: Say,
): Promise<FireRun[]> {
  const { sql, queue } = stack;
  // The tick takes all its lanes at once, as it does when jobs are due within a minute.
  const settings = { ...tickDefaults, lanes, pressingMs: Number.POSITIVE_INFINITY, batchMax };
  await tick({ sql, queue, log: silentLog }, settings, () => false);
  const done: FireRun[] = [];
  for (let run = 1; run <= runs; run++) {
    const seeded = await seedDue(sql, {
      due,
      schedules,
      run: seed + run,
      at: await justBeyondWatermark(sql),
    });
    await sql`vacuum (analyze) carillon.plan`;
    await sql`checkpoint`;
    await before?.(sql);
    const wal = await walUse(sql);
    const cpu = cpuSplit(stack.postgresPid);
    const startedAt = performance.now();
    const ticked = await tick({ sql, queue, log: silentLog }, settings, () => false);
    const ms = performance.now() - startedAt;
    const shares = cpu.end();
    // Crons of earlier runs may be due in the same minute, so there can be a few more.
    if (ticked.jobs < seeded) throw new Error(`${seeded} were due and ${ticked.jobs} became jobs.`);
    const used = await wal.end();
    const figures: FireRun = {
      jobs: ticked.jobs,
      ms: Math.round(ms),
      perSecond: perSecond(ticked.jobs, ms),
      walPerJob: Math.round(used.bytes / ticked.jobs),
      wholePageBytesPerJob: Math.round(used.wholePageBytes / ticked.jobs),
      cpu: shares,
    };
    say(
      `run ${run}: ${figures.jobs.toLocaleString("en")} jobs in ${figures.ms} ms, ${figures.perSecond.toLocaleString("en")}/s, ${figures.walPerJob} B WAL each, ${figures.wholePageBytesPerJob} of it whole pages, ${ticked.parcels} parcels; ${cpuLine(shares)}`,
    );
    done.push(figures);
  }
  return done;
}

/**
 * The next instant that no tick has planned yet; the horizon reaches it while the due set is
 * stored.
 */
export async function justBeyondWatermark(sql: Sql): Promise<Date> {
  const [row] = await sql<
    { at: Date }[]
  >`select max(watermark_at) + interval '1 millisecond' as at from carillon.shards`;
  if (row === undefined) throw new Error("There are no shards.");
  return row.at;
}

export function page({ runs, plan, schedules, due, lanes, batchMax, settings, ...of }: FireFigures): string {
  const rows = runs.map(
    (run, index) =>
      `| ${index + 1} | ${run.jobs.toLocaleString("en")} | ${run.ms.toLocaleString("en")} | ${run.perSecond.toLocaleString("en")} | ${run.walPerJob} | ${run.wholePageBytesPerJob} | ${cpuLine(run.cpu).replace(/^CPU: /, "")} |`,
  );
  return `**${of.perSecond.toLocaleString("en")} durable jobs a second**, ${of.walPerJob} bytes of WAL each (medians), among ${schedules.toLocaleString("en")} schedules:
${due.toLocaleString("en")} due at one instant become jobs, parcels and next plan rows in ${lanes} lanes of batches of ${batchMax.toLocaleString("en")} plan rows, are sent to the queue and marked as sent.

| run | jobs | ms | jobs/s | WAL, bytes a job | of it whole pages | CPU |
|---|---|---|---|---|---|---|
${rows.join("\n")}

The emulator of SQS runs in the same process as the tick, so its share of the CPU is in Node's. When all cores are busy, they limit the rate.
Postgres runs with \`${settings}\`.

The statement that makes a batch, step by step; timing each step slows it down:

\`\`\`
${plan.join("\n")}
\`\`\``;
}
