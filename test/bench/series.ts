import type { Sql } from "../../lib/db/connect.ts";
import { readPrefixStats } from "../../lib/stats/prefix-stats.ts";
import { readSeries, type SeriesSearch } from "../../lib/stats/series.ts";
import { readSeriesPlace } from "../../lib/stats/series-place.ts";
import { readStats } from "../../lib/stats/stats.ts";
import { benchStack, measuredOn } from "./bench-stack.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";
import { seedJobs } from "./seed-jobs.ts";

export const does = "pages of the series of all jobs and of some schedules, and the stats of a prefix";

export const options = { schedules: "3000000", jobs: "30000000", runs: "5" };

const hourMs = 3_600_000;

/** The keys of seeded schedules are random: a digit more selects a sixteenth of them. */
const searches: Readonly<Record<string, { owners: SeriesSearch["owners"]; hours: number }>> = {
  "all, an hour": { owners: {}, hours: 1 },
  "all, a day": { owners: {}, hours: 24 },
  "a few schedules, an hour": { owners: { prefix: "bench:00000" }, hours: 1 },
  "a few schedules, a day": { owners: { prefix: "bench:00000" }, hours: 24 },
  "hundreds of schedules, an hour": { owners: { prefix: "bench:000" }, hours: 1 },
  "thousands of schedules, an hour": { owners: { prefix: "bench:00" }, hours: 1 },
  "half of the schedules, an hour": { owners: { prefix: "bench:" }, hours: 1 },
  "a target, an hour": { owners: { target: "queue/bench" }, hours: 1 },
};

/** A day of jobs, evenly, of schedules in no order → each page of the series, and the stats. */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const schedules = number(options, "schedules");
  const jobs = number(options, "jobs");
  const runs = number(options, "runs");
  say(machine());
  await using stack = await benchStack(options["data-dir"], 4);
  const { sql } = stack;
  await seedSchedules(sql, schedules, say);
  await seedJobs(sql, { schedules, jobs }, say);
  const [{ to } = { to: new Date() }] = await sql<
    { to: Date }[]
  >`select max(occurrence) as to from carillon.jobs`;
  const figures: Record<string, object> = {};
  const told = async (name: string, read: () => Promise<string>) => {
    const ms: number[] = [];
    let what = "";
    for (let run = 0; run < runs; run++) {
      const startedAt = performance.now();
      what = await read();
      ms.push(Math.round(performance.now() - startedAt));
    }
    figures[name] = { median: median(ms), most: Math.max(...ms), what };
    say(`${name.padEnd(34)} ${median(ms)} ms (at most ${Math.max(...ms)}): ${what}`);
  };
  for (const [name, { owners, hours }] of Object.entries(searches)) {
    const from = new Date(to.getTime() - hours * hourMs);
    const search: SeriesSearch = { owners, from, to, step: "1m", limit: 1_440 };
    await told(name, async () => {
      const { items, next } = await readSeries(sql, search);
      const made = items.reduce((sum, item) => sum + item.made, 0);
      return `${items.length} steps, ${made} jobs${next === undefined ? "" : ", and more pages"}`;
    });
    await told(`${name}, all pages`, async () => `${await pagesOf(sql, search)} pages`);
  }
  await told("stats", async () => String((await readStats(sql)).schedules.total));
  for (const prefix of ["bench:00000", "bench:000", "bench:0", "bench:"])
    await told(`stats of ${prefix}`, async () =>
      String((await readPrefixStats(sql, prefix)).lastHour?.fired),
    );
  return { figures, schedules, jobs, ...measuredOn(stack) };
}

async function pagesOf(sql: Sql, search: SeriesSearch): Promise<number> {
  let after: SeriesSearch["after"];
  for (let pages = 1; ; pages++) {
    const { next } = await readSeries(sql, { ...search, after });
    if (next === undefined) return pages;
    after = readSeriesPlace(next) ?? undefined;
  }
}
