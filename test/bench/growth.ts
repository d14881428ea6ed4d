import type { Sql } from "../../lib/db/connect.ts";
import { type BenchStack, benchStack, measuredOn } from "./bench-stack.ts";
import { type FireParams, type FireRun, fireRuns } from "./fire.ts";
import { type Figures, machine, median, number, numbers, type Options, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";
import { bars } from "./svg/bars.ts";
import { writePicture } from "./svg/write-picture.ts";

export const does =
  "fire with the same due set at several sizes of the table, warm and out of Postgres' cache";

export const options = {
  schedules: "300000,3000000",
  due: "100000",
  runs: "3",
  lanes: "2",
  batch: "5000",
  cold: "yes",
  /**
   * The folder of the largest table, kept for the next run: storing thirty million schedules takes
   * an hour.
   */
  "large-dir": "",
};

interface Rate {
  schedules: number;
  perSecond: number;
  walPerJob: number;
  runs: FireRun[];
  /** The run with empty shared buffers; null when it was not requested. */
  cold: FireRun | null;
}

export interface GrowthFigures extends Figures {
  ratio: number;
  rates: Rate[];
  due: number;
}

/**
 * The same due set in a small and in a large table: a tick's cost must follow the number of due
 * rows, not of stored ones.
 */
export async function bench(options: Options, say: Say): Promise<GrowthFigures> {
  const sizes = numbers(options, "schedules").sort((a, b) => a - b);
  const params = {
    due: number(options, "due"),
    lanes: number(options, "lanes"),
    batchMax: number(options, "batch"),
    runs: number(options, "runs"),
  };
  say(machine());
  const rates: Rate[] = [];
  const rateIn = async (directory: string | undefined, of: readonly number[]) => {
    await using stack = await benchStack(directory, params.lanes + 1);
    for (const schedules of of) {
      await seedSchedules(stack.sql, schedules, say);
      rates.push(await rateAt(stack, { ...params, schedules }, options["cold"] === "yes", say));
    }
    return measuredOn(stack);
  };
  const largeDir = options["large-dir"] || undefined;
  const apart = largeDir === undefined ? [] : sizes.slice(-1);
  const ran = await rateIn(options["data-dir"], sizes.slice(0, sizes.length - apart.length));
  if (apart.length > 0) await rateIn(largeDir, apart);
  const ratio = Number(((rates[0]?.perSecond ?? 0) / (rates.at(-1)?.perSecond ?? 1)).toFixed(2));
  for (const rate of rates)
    say(
      `${rate.schedules.toLocaleString("en")} schedules: ${rate.perSecond.toLocaleString("en")} jobs/s, ${rate.walPerJob} B WAL each`,
    );
  say(`growth: the smallest table is ${ratio} × as fast as the largest`);
  return { ratio, rates, ...params, ...ran };
}

async function rateAt(stack: BenchStack, params: FireParams, cold: boolean, say: Say): Promise<Rate> {
  const runs = await fireRuns(stack, params, say);
  if (cold) say("and once with nothing in Postgres' cache:");
  const [coldRun = null] = cold
    ? await fireRuns(stack, { ...params, runs: 1, before: forgetPages }, say)
    : [];
  return {
    schedules: params.schedules,
    perSecond: median(runs.map((run) => run.perSecond)),
    walPerJob: median(runs.map((run) => run.walPerJob)),
    runs,
    cold: coldRun,
  };
}

/**
 * Storing the due set has just loaded the pages that will be fired. The operating system's cache
 * stays as it is.
 */
async function forgetPages(sql: Sql): Promise<void> {
  await sql`create extension if not exists pg_buffercache schema public`;
  await sql`select public.pg_buffercache_evict_all()`;
}

export async function page({ ratio, rates, due }: GrowthFigures): Promise<string> {
  const rows = rates.map(
    ({ schedules, perSecond, walPerJob, cold }) =>
      `| ${schedules.toLocaleString("en")} | ${perSecond.toLocaleString("en")} | ${walPerJob} | ${cold === null ? "–" : cold.perSecond.toLocaleString("en")} |`,
  );
  const picture = await writePicture(
    "growth",
    bars({
      title: `Jobs fired a second, ${due.toLocaleString("en")} due at one instant`,
      desc: `One group of bars for each number of schedules stored, from ${rates[0]?.schedules.toLocaleString("en")} to ${rates.at(-1)?.schedules.toLocaleString("en")}: as it is, and with nothing in Postgres' own cache.`,
      unit: "jobs/s",
      groups: rates.map(({ schedules, perSecond, runs, cold }) => {
        const each = runs.map((run) => run.perSecond);
        return {
          label: `${schedules.toLocaleString("en")} schedules stored`,
          bars: [
            {
              label: "as it is",
              value: perSecond,
              range: [Math.min(...each), Math.max(...each)],
              ours: true,
            },
            ...(cold === null ? [] : [{ label: "cache empty", value: cold.perSecond }]),
          ],
        };
      }),
    }),
  );
  return `${picture}

| schedules stored | jobs/s (median) | WAL, bytes a job | jobs/s, Postgres' cache emptied before |
|---|---|---|---|
${rows.join("\n")}

The same number is due each time, scattered over all that is stored; with the fewest stored it is **${ratio} ×** as fast as with the most. The difference is the read of each due
schedule's row, which shows whether its version is current: one page for each, anywhere in a larger table. Making the due set has just read those rows, so that most of them are still in Postgres' memory; in the last column
none is, and all are read again, from the operating system's cache if they are in it. A tick in production is between the two.`;
}
