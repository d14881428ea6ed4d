import { benchStack } from "./bench-stack.ts";
import { fireRuns } from "./fire.ts";
import { type Figures, machine, median, number, numbers, type Options, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";

export const does = "fire with the same due set at several sizes of the table";

export const options = { schedules: "300000,3000000", due: "100000", runs: "3", lanes: "2", batch: "5000" };

/** The same due set in a small and in a large table: what a tick costs must follow what is due, not what is stored. */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const sizes = numbers(options, "schedules");
  const due = number(options, "due");
  const lanes = number(options, "lanes");
  const batchMax = number(options, "batch");
  say(machine());
  await using stack = await benchStack(options["data-dir"], lanes + 1);
  const rates: { schedules: number; perSecond: number; walPerJob: number }[] = [];
  for (const schedules of sizes) {
    await seedSchedules(stack.sql, schedules, say);
    const runs = await fireRuns(
      stack,
      { schedules, due, lanes, batchMax, runs: number(options, "runs") },
      say,
    );
    rates.push({
      schedules,
      perSecond: median(runs.map((run) => run.perSecond)),
      walPerJob: median(runs.map((run) => run.walPerJob)),
    });
  }
  const ratio = Number(((rates[0]?.perSecond ?? 0) / (rates.at(-1)?.perSecond ?? 1)).toFixed(2));
  for (const rate of rates)
    say(
      `${rate.schedules.toLocaleString("en")} schedules: ${rate.perSecond.toLocaleString("en")} jobs/s, ${rate.walPerJob} B WAL each`,
    );
  say(`growth: the smallest table is ${ratio} × as fast as the largest`);
  return { ratio, rates, due, lanes, machine: machine(), settings: stack.settings };
}
