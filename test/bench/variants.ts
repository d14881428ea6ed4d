import { benchStack, measuredOn } from "./bench-stack.ts";
import { fireRuns } from "./fire.ts";
import { dueAtOf, fireInPlace, type InPlace, inPlaceVariants, storeInPlace } from "./in-place.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";
import { walUse } from "./wal-use.ts";

export const does = "the insert-only plan beside rows that are changed in place, in turns on one server";

export const options = { schedules: "3000000", due: "100000", runs: "3", lanes: "2", batch: "5000" };

interface VariantRun {
  perSecond: number;
  walPerJob: number;
  wholePageBytesPerJob: number;
}

interface Variant {
  name: string;
  runs: VariantRun[];
  /** Growth in MB of the tables and indexes that hold the due instants, over all runs. */
  grownMb: number;
}

export interface VariantFigures extends Figures {
  variants: Variant[];
  schedules: number;
  due: number;
}

const hourMs = 3_600_000;

export async function bench(options: Options, say: Say): Promise<VariantFigures> {
  const schedules = number(options, "schedules");
  const due = number(options, "due");
  const sets = number(options, "runs");
  const lanes = number(options, "lanes");
  const batchMax = number(options, "batch");
  if (due * sets > schedules) throw new Error("--due times --runs are more than there are --schedules.");
  say(machine());
  await using stack = await benchStack(options["data-dir"], lanes + 1);
  await seedSchedules(stack.sql, schedules, say);
  for (const variant of inPlaceVariants) {
    say(`storing ${schedules.toLocaleString("en")} ${variant.name} rows …`);
    await storeInPlace(stack.sql, variant, { schedules, due, sets, everyMs: hourMs });
  }
  const ours: Variant = { name: "insert-only plan, with parcels, sent and marked", runs: [], grownMb: 0 };
  const others = inPlaceVariants.map((variant) => ({
    variant,
    name: nameOf(variant),
    runs: [] as VariantRun[],
    grownMb: 0,
  }));
  const size = (tables: string) => sizeMb(stack.sql, tables);
  for (let set = 1; set <= sets; set++) {
    const before = await size("carillon.plan%");
    ours.runs.push(...(await fireRuns(stack, { schedules, due, lanes, batchMax, runs: 1, seed: set }, say)));
    ours.grownMb += (await size("carillon.plan%")) - before;
    for (const each of others) {
      const table = `public.in_place_${each.variant.name}`;
      const sizeBefore = await size(table);
      await stack.sql`checkpoint`;
      const wal = await walUse(stack.sql);
      const startedAt = performance.now();
      const jobs = await fireInPlace(stack.sql, each.variant, { upTo: dueAtOf(set), lanes, batchMax });
      const ms = performance.now() - startedAt;
      const used = await wal.end();
      if (jobs !== due) throw new Error(`${due} rows were due in place and ${jobs} became jobs.`);
      const run = {
        perSecond: perSecond(jobs, ms),
        walPerJob: Math.round(used.bytes / jobs),
        wholePageBytesPerJob: Math.round(used.wholePageBytes / jobs),
      };
      each.runs.push(run);
      each.grownMb += (await size(table)) - sizeBefore;
      say(
        `${each.name}: ${run.perSecond.toLocaleString("en")}/s, ${run.walPerJob} B WAL each, ${run.wholePageBytesPerJob} of it whole pages`,
      );
    }
  }
  const variants = [ours, ...others.map(({ name, runs, grownMb }) => ({ name, runs, grownMb }))];
  for (const { name, runs, grownMb } of variants)
    say(
      `${name}: ${of(runs, "perSecond").toLocaleString("en")} jobs/s, ${of(runs, "walPerJob")} B WAL each, grown by ${grownMb} MB`,
    );
  return {
    variants,
    schedules,
    due,
    lanes,
    batchMax,
    ...measuredOn(stack),
  };
}

function nameOf({ name, fillfactor }: InPlace): string {
  return `changed in place, ${name} rows, fillfactor ${fillfactor}, jobs only`;
}

function of(runs: readonly VariantRun[], figure: keyof VariantRun): number {
  return median(runs.map((run) => run[figure]));
}

/** Table and indexes; for a partitioned table, of all its days. */
async function sizeMb(sql: Parameters<typeof walUse>[0], like: string): Promise<number> {
  const [row] = await sql<{ mb: number }[]>`
    select coalesce(sum(pg_total_relation_size(c.oid)) / 1e6, 0)::int as mb
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and n.nspname || '.' || c.relname like ${like}`;
  return row?.mb ?? 0;
}

export function page({ variants, schedules, due }: VariantFigures): string {
  const rows = variants.map(
    ({ name, runs, grownMb }) =>
      `| ${name} | ${of(runs, "perSecond").toLocaleString("en")} | ${of(runs, "walPerJob").toLocaleString("en")} | ${of(runs, "wholePageBytesPerJob").toLocaleString("en")} | ${grownMb} |`,
  );
  return `${schedules.toLocaleString("en")} schedules, ${due.toLocaleString("en")} of them due at one instant and scattered, in turns on one server with a checkpoint before each run; medians.

| storage of the next due time | jobs/s | WAL, bytes a job | of it whole pages | growth of its tables, MB |
|---|---|---|---|---|
${rows.join("\n")}

The rows changed in place do less: they make jobs, but no parcels, and neither send nor mark anything; wide ones hold the whole schedule, narrow ones only the due time.
Each of these rows is on another page, which the first change after a checkpoint writes whole to the WAL, and so are both its places in the index; new rows of the plan are side by side.`;
}
