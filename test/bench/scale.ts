import { benchStack, measuredOn } from "./bench-stack.ts";
import type { CpuShares } from "./cpu-split.ts";
import { drainRuns } from "./drain-runs.ts";
import { fireRuns } from "./fire.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";
import { foretoldMs } from "./scale/foretold.ts";
import { scalePage } from "./scale/page.ts";
import type { JobCost } from "./scale/peak.ts";
import { seedSchedules } from "./seed.ts";

export const does =
  "the load that one database carries, simulated from the cost of a job here; and whether the simulation predicts this machine";

export const options = { schedules: "300000", due: "50000", runs: "3" };

export const pageFile = "scale.md";

export interface ScaleFigures extends Figures {
  fire: JobCost;
  drain: JobCost;
  /** The time of a burst three times as large, measured and simulated. */
  burst: { jobs: number; measuredMs: number; foretoldMs: number };
  machine: string;
}

/** Measures a small burst, simulates a larger one, and measures that too. */
export async function bench(options: Options, say: Say): Promise<ScaleFigures> {
  const due = number(options, "due");
  const runs = number(options, "runs");
  const schedules = number(options, "schedules");
  say(machine());
  const { small, large, on } = await bursts(options, { schedules, due, runs }, say);
  const fire = middle(small.map(costOf));
  const drain = await drainCost(due, runs, say);
  const jobs = large[0]?.jobs ?? 0;
  const burst = { jobs, measuredMs: median(large.map(({ ms }) => ms)), foretoldMs: foretoldMs(fire, jobs) };
  say(`a burst of ${jobs} jobs took ${burst.measuredMs} ms; ${burst.foretoldMs} ms were predicted`);
  return { fire, drain, burst, ...on };
}

/** A burst, and one three times as large. */
async function bursts(
  options: Options,
  { schedules, due, runs }: { schedules: number; due: number; runs: number },
  say: Say,
) {
  await using stack = await benchStack(options["data-dir"], 3);
  await seedSchedules(stack.sql, schedules, say);
  const params = { schedules, lanes: 1, batchMax: 5_000, runs };
  const small = await fireRuns(stack, { ...params, due }, say);
  const large = await fireRuns(stack, { ...params, due: due * 3, seed: runs }, say);
  return { small, large, on: measuredOn(stack) };
}

export function page(figures: ScaleFigures): string {
  return scalePage(figures);
}

interface Run {
  jobs: number;
  ms: number;
  walPerJob: number;
  cpu: CpuShares | null;
}

function costOf({ jobs, ms, cpu, walPerJob }: Run): JobCost {
  if (cpu === null) throw new Error("Only Linux reports CPU time by process, which the simulation needs.");
  return { serialMs: ms / jobs, databaseMs: cpu.postgresMs / jobs, walBytes: walPerJob };
}

/** On a database of its own, without unclaimed jobs of earlier firings. */
async function drainCost(jobs: number, runs: number, say: Say): Promise<JobCost> {
  await using stack = await benchStack(undefined, 3);
  const cases = [{ drained: "no-op", carrier: "direct" }] as const;
  const done = await drainRuns(stack, { jobs, runs, workers: { fast: 1, slow: 10 }, cases }, say);
  return middle(done.map(costOf));
}

/** The run with the median time. */
function middle(costs: readonly JobCost[]): JobCost {
  const found = costs.toSorted((a, b) => a.serialMs - b.serialMs)[Math.floor(costs.length / 2)];
  if (found === undefined) throw new Error("Nothing was measured.");
  return found;
}
