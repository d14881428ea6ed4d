import type { Sql } from "../../lib/db/connect.ts";
import { benchStack, measuredOn } from "./bench-stack.ts";
import { type Figures, machine, number, type Options, type Say } from "./report.ts";
import { jobSearch, jobSearches, scheduleCount, scheduleSearch, scheduleSearches } from "./searches.ts";
import { seedSearch } from "./seed-search.ts";

interface Timed {
  p50: number;
  p99: number;
  items: number;
}

export const does = "pages of each search of schedules and jobs, p50 and p99";

export const options = { schedules: "3000000", jobs: "1000000", runs: "40" };

/** Successive pages of every search: the cost of each, and the size of the indexes. */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const schedules = number(options, "schedules");
  const runs = number(options, "runs");
  say(machine());
  await using stack = await benchStack(options["data-dir"], 2);
  const { sql } = stack;
  const [{ have } = { have: false }] = await sql<{ have: boolean }[]>`
    select exists (select from carillon.schedules) as have`;
  if (!have) {
    say(`storing ${schedules.toLocaleString("en")} schedules …`);
    await seedSearch(sql, { schedules, jobs: number(options, "jobs") });
    await sql`vacuum (analyze)`;
  }
  const pages: Record<string, Timed> = {};
  const told = (name: string, timed: Timed) => {
    pages[name] = timed;
    say(`${name.padEnd(28)} p50 ${timed.p50} ms, p99 ${timed.p99} ms, ${timed.items} items a page`);
  };
  for (const [name, filter] of Object.entries(scheduleSearches))
    told(name, await timedPages(runs, (after?: string) => scheduleSearch(sql, filter, after)));
  for (const [name, filter] of Object.entries(jobSearches))
    told(
      name,
      await timedPages(runs, (before?: Parameters<typeof jobSearch>[2]) => jobSearch(sql, filter, before)),
    );
  for (const name of ["all", "common tag", "rare target", "ended", "common creator"] as const)
    told(
      `count: ${name}`,
      await timedPages(5, async () => {
        const { count } = await scheduleCount(sql, scheduleSearches[name] ?? {});
        return { items: count, next: undefined };
      }),
    );
  const indexes = await sizes(sql, schedules);
  for (const [name, bytes] of Object.entries(indexes)) say(`${name.padEnd(28)} ${bytes} bytes per schedule`);
  return {
    pages,
    bytesPerSchedule: indexes,
    schedules,
    ...measuredOn(stack),
  };
}

/** Times the pages of a search. Each run continues after the last page of the run before. */
async function timedPages<Place>(
  runs: number,
  page: (after?: Place) => Promise<{ items: number; next: Place | undefined }>,
): Promise<Timed> {
  const times: number[] = [];
  let items = 0;
  let after: Place | undefined;
  for (let run = 0; run < runs; run++) {
    const from = performance.now();
    const found = await page(after);
    times.push(performance.now() - from);
    items += found.items;
    after = found.next;
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => Number((times[Math.min(runs - 1, Math.floor(runs * share))] ?? 0).toFixed(1));
  return { p50: at(0.5), p99: at(0.99), items: Math.round(items / runs) };
}

async function sizes(sql: Sql, schedules: number): Promise<Record<string, number>> {
  const rows = await sql<{ name: string; bytes: string }[]>`
    select c.relname as name, pg_relation_size(c.oid) as bytes from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'carillon' and c.relname in ('schedules', 'schedules_live_key', 'schedules_group', 'schedules_target', 'schedules_paused',
      'schedules_created_by', 'schedule_tags', 'schedule_tags_pkey', 'plan_far', 'plan_far_due') order by 1`;
  return Object.fromEntries(
    rows.map(({ name, bytes }) => [name, Number((Number(bytes) / schedules).toFixed(1))]),
  );
}
