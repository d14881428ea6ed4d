import { availableParallelism } from "node:os";
import * as z from "zod";
import { type BenchStack, benchStack, measuredOn } from "./bench-stack.ts";
import { type CpuShares, cpuSplit } from "./cpu-split.ts";
import { justBeyondWatermark } from "./fire.ts";
import {
  type Figures,
  machine,
  median,
  number,
  numbers,
  type Options,
  perSecond,
  type Say,
} from "./report.ts";
import { seedDue, seedSchedules } from "./seed.ts";
import { startTicks, type TickProcesses } from "./tick-processes.ts";
import { backendWaits, type Waits, waitsText } from "./waits.ts";

export const does =
  "the same due set fired by one tick and by several, each a process with one lane, in turns";

export const options = {
  schedules: "3000000",
  due: "100000",
  runs: "5",
  ticks: "1,2",
  batch: "5000",
};

interface TicksRun {
  ticks: number;
  jobs: number;
  ms: number;
  perSecond: number;
  /** CPU time of the ticks' own processes. */
  ticksMs: number;
  cpu: CpuShares | null;
  waits: Waits;
}

export async function bench(options: Options, say: Say): Promise<Figures> {
  const schedules = number(options, "schedules");
  const counts = numbers(options, "ticks");
  const runs = number(options, "runs");
  say(machine());
  await using stack = await benchStack(options["data-dir"], 2);
  await seedSchedules(stack.sql, schedules, say);
  await using processes = await startTicks(Math.max(...counts), stack.env);
  // Connects each process, and completes any pending work of the stored data.
  await processes.tick(Math.max(...counts), number(options, "batch"));
  await processes.tick(1, number(options, "batch"));
  const done: TicksRun[] = [];
  for (let run = 1; run <= runs; run++) {
    // Each number of ticks is first in turn, so that none always has the younger tables.
    for (const ticks of run % 2 === 1 ? counts : counts.toReversed()) {
      const params = { schedules, ticks, due: number(options, "due"), batchMax: number(options, "batch") };
      done.push(await oneRun(stack, processes, { ...params, run: done.length + 1 }, say));
    }
  }
  const byTicks = counts.map((ticks) => summary(ticks, done));
  const [first] = byTicks;
  for (const { ticks, ...each } of byTicks)
    say(
      `${ticks} ticks: ${each.perSecond.toLocaleString("en")} jobs/s, ${ratio(each.perSecond, first?.perSecond)} ×`,
    );
  const cores = availableParallelism();
  return {
    perSecond: byTicks.at(-1)?.perSecond,
    byTicks,
    runs: done,
    schedules,
    cores,
    ...measuredOn(stack),
  };
}

/** The share from which the cores count as busy: the rest is used by the kernel and the clock. */
const busyShare = 0.85;

export function page(figures: Figures): string {
  const { byTicks, cores, schedules } = z
    .object({ byTicks: z.array(summaryShape), cores: z.int(), schedules: z.int() })
    .parse(figures);
  const base = byTicks[0]?.perSecond;
  const rows = byTicks.map(
    ({ ticks, perSecond, cores: busy, waits }) =>
      `| ${ticks} | ${perSecond.toLocaleString("en")} | ${ratio(perSecond, base)} × | ${busy === null ? "not reported | not reported | not reported" : `${busy.postgres} | ${busy.ticks} | ${busy.emulator}`} | ${waitsText(waits)} |`,
  );
  return `Ticks in processes of their own, each with one lane and its share of the shards; ${schedules.toLocaleString("en")} schedules stored, the same due sets as in Fire, each number of ticks in turn.

| ticks | jobs/s | ratio | cores: Postgres | cores: ticks | cores: SQS emulator | the ticks' backends |
|---|---|---|---|---|---|---|
${rows.join("\n")}

${boundBy(byTicks.at(-1), cores)}`;
}

function boundBy(last: Summary | undefined, cores: number): string {
  if (last?.cores == null) return "The machine does not report what limited the rate.";
  const busy = last.cores.postgres + last.cores.ticks + last.cores.emulator;
  const told = `With ${last.ticks} ticks ${busy.toFixed(2)} of ${cores} cores were busy`;
  return busy >= busyShare * cores
    ? `${told}: the machine was full, and more ticks would share the same cores.`
    : `${told}: the rest was spent waiting, see the last column.`;
}

interface RunParams {
  schedules: number;
  due: number;
  ticks: number;
  batchMax: number;
  run: number;
}

async function oneRun(
  { sql, postgresPid }: BenchStack,
  processes: TickProcesses,
  { schedules, due, ticks, batchMax, run }: RunParams,
  say: Say,
): Promise<TicksRun> {
  const at = await justBeyondWatermark(sql);
  const seeded = await seedDue(sql, { due, schedules, run, at });
  await sql`vacuum (analyze) carillon.plan`;
  await sql`checkpoint`;
  const waits = backendWaits(sql);
  const split = cpuSplit(postgresPid);
  const startedAt = performance.now();
  const told = processes.tick(ticks, batchMax).then((done) => ({
    ...done,
    ms: performance.now() - startedAt,
    cpu: split.end(),
  }));
  const { jobs, cpuMs, ms, cpu } = await told.finally(waits.end);
  if (jobs !== seeded) throw new Error(`${seeded} were due and ${jobs} became jobs.`);
  const figures = {
    ticks,
    jobs,
    ms: Math.round(ms),
    perSecond: perSecond(jobs, ms),
    ticksMs: Math.round(cpuMs),
  };
  say(
    `run ${run}: ${ticks} ticks, ${jobs.toLocaleString("en")} jobs in ${figures.ms} ms, ${figures.perSecond.toLocaleString("en")}/s`,
  );
  return { ...figures, cpu, waits: await waits.end() };
}

const summaryShape = z.object({
  ticks: z.int(),
  perSecond: z.number(),
  /** Cores that each side kept busy; null where the system does not report it. */
  cores: z.object({ ticks: z.number(), emulator: z.number(), postgres: z.number() }).nullable(),
  waits: z.object({ running: z.number(), wal: z.number(), other: z.number(), client: z.number() }),
});

type Summary = z.infer<typeof summaryShape>;

function summary(ticks: number, all: readonly TicksRun[]): Summary {
  const runs = all.filter((run) => run.ticks === ticks);
  const sum = (of: (run: TicksRun) => number) => runs.reduce((total, run) => total + of(run), 0);
  const ms = sum((run) => run.ms);
  const isTold = runs.every(({ cpu }) => cpu !== null);
  const share = (of: (run: TicksRun) => number) => Math.round((sum(of) / ms) * 100) / 100;
  return {
    ticks,
    perSecond: median(runs.map((run) => run.perSecond)),
    cores: isTold
      ? {
          ticks: share((run) => run.ticksMs),
          emulator: Math.max(
            0,
            share(({ cpu, ticksMs }) => (cpu?.nodeMs ?? 0) - ticksMs),
          ),
          postgres: share(({ cpu }) => cpu?.postgresMs ?? 0),
        }
      : null,
    waits: {
      running: sum(({ waits }) => waits.running),
      wal: sum(({ waits }) => waits.wal),
      other: sum(({ waits }) => waits.other),
      client: sum(({ waits }) => waits.client),
    },
  };
}

function ratio(rate: number, base = Number.NaN): number {
  return Math.round((rate / base) * 100) / 100;
}
