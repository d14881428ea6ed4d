import type { Sql } from "../../lib/db/connect.ts";
import { type BenchStack, benchStack, measuredOn } from "./bench-stack.ts";
import { fireRuns } from "./fire.ts";
import { dueAtOf, fireInPlace, type InPlace, storeInPlace } from "./in-place.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";

export const does = "fires on while a transaction is held open elsewhere, beside rows changed in place";

export const options = {
  schedules: "300000",
  due: "20000",
  minutes: "3",
  rounds: "5",
  lanes: "2",
  batch: "5000",
};

type Phase = "before" | "during" | "after";

interface Round {
  phase: Phase;
  /** Seconds since the transaction was opened. */
  seconds: number;
  ours: number;
  inPlace: number;
  oursDead: number;
  inPlaceDead: number;
}

export interface HeldFigures extends Figures {
  rounds: Round[];
  minutes: number;
  due: number;
  schedules: number;
  /** The median rate before the transaction, divided by that of the last rounds under it. */
  slowdown: { ours: number; inPlace: number };
}

const narrow: InPlace = { name: "narrow", fillfactor: 80 };
/**
 * In the next round the in-place rows are due again; by their own instants that is a second later.
 */
const everyMs = 1_000;

/**
 * The same schedules are due in each round, as minutely ones are. Runs `rounds` of them before and
 * after; between, as many as time allows while another transaction stays open, so that vacuum
 * cannot remove rows that died since.
 */
export async function bench(options: Options, say: Say): Promise<HeldFigures> {
  const params = {
    schedules: number(options, "schedules"),
    due: number(options, "due"),
    lanes: number(options, "lanes"),
    batchMax: number(options, "batch"),
  };
  const minutes = number(options, "minutes");
  const each = number(options, "rounds");
  say(machine());
  await using stack = await benchStack(options["data-dir"], params.lanes + 2);
  await seedSchedules(stack.sql, params.schedules, say);
  await storeInPlace(stack.sql, narrow, { ...params, sets: 1, everyMs });
  const rounds: Round[] = [];
  let openedAt = performance.now();
  const round = async (phase: Phase) => {
    const done = await fireRound(stack, params, rounds.length + 1);
    rounds.push({ phase, seconds: Math.round((performance.now() - openedAt) / 1_000), ...done });
    say(
      `${phase}: ${done.ours.toLocaleString("en")}/s and in place ${done.inPlace.toLocaleString("en")}/s; dead rows ${done.oursDead.toLocaleString("en")} and ${done.inPlaceDead.toLocaleString("en")}`,
    );
  };
  for (let n = 0; n < each; n++) await round("before");
  await stack.sql.begin(async (held) => {
    await held`select count(*) from carillon.shards`;
    openedAt = performance.now();
    while (performance.now() - openedAt < minutes * 60_000) await round("during");
  }, "isolation level repeatable read");
  for (let n = 0; n < each; n++) await round("after");
  const slowdown = { ours: slowdownOf(rounds, "ours", each), inPlace: slowdownOf(rounds, "inPlace", each) };
  say(
    `held-xmin: Carillon ${slowdown.ours} × slower at the end of ${minutes} minutes, in place ${slowdown.inPlace} ×`,
  );
  return {
    rounds,
    minutes,
    ...params,
    slowdown,
    ...measuredOn(stack),
  };
}

type RoundParams = { schedules: number; due: number; lanes: number; batchMax: number };

async function fireRound(
  stack: BenchStack,
  params: RoundParams,
  number: number,
): Promise<Omit<Round, "phase" | "seconds">> {
  const [ours] = await fireRuns(stack, { ...params, runs: 1 }, () => {});
  const startedAt = performance.now();
  const jobs = await fireInPlace(stack.sql, narrow, { ...params, upTo: dueAtOf(number) });
  const ms = performance.now() - startedAt;
  if (jobs !== params.due) throw new Error(`${params.due} rows were due in place and ${jobs} became jobs.`);
  return {
    ours: ours?.perSecond ?? Number.NaN,
    inPlace: perSecond(jobs, ms),
    oursDead: await deadRows(stack.sql, "carillon", "(plan_[0-9]+|plan_far|shards|parcels|jobs_[0-9]+)"),
    inPlaceDead: await deadRows(stack.sql, "public", "in_place_narrow"),
  };
}

async function deadRows(sql: Sql, schema: string, tables: string): Promise<number> {
  const [row] = await sql<{ dead: number }[]>`
    select coalesce(sum(n_dead_tup), 0)::int as dead from pg_stat_user_tables
    where schemaname = ${schema} and relname ~ ${`^${tables}$`}`;
  return row?.dead ?? 0;
}

function slowdownOf(rounds: readonly Round[], whose: "ours" | "inPlace", last: number): number {
  const rates = (phase: Phase) =>
    rounds.filter((round) => round.phase === phase).map((round) => round[whose]);
  return Number((median(rates("before")) / median(rates("during").slice(-last))).toFixed(2));
}

export function page({ rounds, minutes, due, schedules, slowdown }: HeldFigures): string {
  const rows = (["before", "during", "after"] as const).map((phase) => {
    const own = rounds.filter((round) => round.phase === phase);
    const last = own.at(-1);
    const rate = (whose: "ours" | "inPlace") => median(own.map((round) => round[whose])).toLocaleString("en");
    return `| ${phase} | ${own.length} | ${rate("ours")} | ${rate("inPlace")} | ${last?.oursDead.toLocaleString("en")} | ${last?.inPlaceDead.toLocaleString("en")} |`;
  });
  return `A transaction that has read something stays open for ${minutes} minutes, so that vacuum may remove nothing that has died since. Meanwhile ${due.toLocaleString("en")} of ${schedules.toLocaleString("en")} schedules,
the same ones each time, fire round after round: by the insert-only plan, and by rows that are changed in place (narrow ones, which make jobs alone).

| the transaction | rounds | Carillon, jobs/s (median) | in place, jobs/s (median) | Carillon, dead rows at the end | in place, dead rows at the end |
|---|---|---|---|---|---|
${rows.join("\n")}

In the last rounds under it Carillon takes **${slowdown.ours} ×** the time that it took before, and rows changed in place ${slowdown.inPlace} ×: each round leaves dead entries in the index exactly where the next one begins to search.
With Carillon, parcels (marked as sent) and watermarks leave dead rows; the plan leaves none.`;
}
