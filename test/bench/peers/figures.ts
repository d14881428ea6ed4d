import { cpuLine } from "../cpu-split.ts";
import { median, perSecond } from "../report.ts";
import type { Run, Work } from "./measure.ts";
import type { Peer } from "./peer.ts";

/** The medians of a contestant's runs of one work. */
export interface WorkFigures {
  storedPerSecond: number;
  donePerSecond: number;
  firstMs: number;
  lastMs: number;
  doneMs: number;
  /** The highest number of jobs that ran more than once in a run. */
  again: number;
  walPerJob: { store: number; done: number } | null;
  /**
   * CPU of Postgres and of all other processes, in microseconds per job; null where the system does
   * not report it.
   */
  cpu: { postgresUs: number; othersUs: number } | null;
  runs: Run[];
}

export interface ContestantFigures {
  name: string;
  version: string;
  settings: string;
  promise: string;
  count: number;
  processes: number;
  works: Partial<Record<Work, WorkFigures>>;
}

export function figuresOf({
  peer,
  count,
  workers,
  runs,
}: {
  peer: Peer;
  count: number;
  workers: readonly unknown[];
  runs: Record<Work, Run[]>;
}): ContestantFigures {
  const { name, version, settings, promise } = peer;
  const works = Object.fromEntries(
    (["due", "added"] as const)
      .filter((work) => runs[work].length > 0)
      .map((work) => [work, workFigures(runs[work], count)]),
  );
  return { name, version, settings, promise, count, processes: workers.length, works };
}

function workFigures(runs: Run[], count: number): WorkFigures {
  const mid = (of: (run: Run) => number) => Math.round(median(runs.map(of)));
  const wal = runs.flatMap(({ walPerJob }) => (walPerJob === null ? [] : [walPerJob]));
  const cpu = runs.flatMap((run) => (run.cpu === null ? [] : [run.cpu]));
  const each = (ms: readonly number[]) => Math.round((median(ms) / count) * 1_000);
  return {
    storedPerSecond: Math.round(median(runs.map(({ storeMs }) => perSecond(count, storeMs)))),
    donePerSecond: Math.round(median(runs.map(({ doneMs }) => perSecond(count, doneMs)))),
    firstMs: mid(({ firstMs }) => firstMs),
    lastMs: mid(({ lastMs }) => lastMs),
    doneMs: mid(({ doneMs }) => doneMs),
    again: Math.max(...runs.map(({ again }) => again)),
    walPerJob:
      wal.length === 0
        ? null
        : { store: median(wal.map(({ store }) => store)), done: median(wal.map(({ done }) => done)) },
    cpu:
      cpu.length === 0
        ? null
        : {
            postgresUs: each(cpu.map(({ postgresMs }) => postgresMs)),
            othersUs: each(cpu.map(({ nodeMs }) => nodeMs)),
          },
    runs,
  };
}

/** One run in one line. */
export function runText(run: Run, count: number): string {
  const rate = (ms: number) => `${perSecond(count, ms).toLocaleString("en")}/s`;
  const again = run.again === 0 ? "each once" : `${run.again} more than once`;
  return `stored ${rate(run.storeMs)}, done ${rate(run.doneMs)} (first ${run.firstMs} ms, last ${run.lastMs} ms), ${again}; ${cpuLine(run.cpu)}`;
}
