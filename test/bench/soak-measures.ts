import { type Flatness, flatness, type Point, slicesMin } from "./load/flat.ts";
import type { SliceLateness } from "./load/ledger.ts";
import type { LoadSlice } from "./load/load-orders.ts";
import type { Sample } from "./load/sample.ts";

/** One line of a panel: a measure over time, in minutes since the beginning. */
export interface Measure {
  panel: string;
  unit: string;
  label: string;
  points: { x: number; y: number | null }[];
  /**
   * The usual variation in the measure's unit; null for a measure that is not judged: the ledger
   * grows with its records.
   */
  noise: number | null;
}

export interface Judged extends Pick<Measure, "panel" | "unit" | "label">, Flatness {}

export const latenessPanel = "Late by, jobs due then";

/** Rises without meaning: a pending vacuum, a garbage collection, a checkpoint's pages. */
const noise = {
  latenessMs: 100,
  answerMs: 30,
  deadRows: 20_000,
  walMBs: 1.5,
  memoryMB: 60,
  smallTableMB: 4,
} as const;

/** Tables that hold only work under way. Every other table keeps a row for each job or edit. */
const small = new Set(["parcels", "shards", "tallies"]);

export function measures(
  samples: readonly Sample[],
  lateness: readonly SliceLateness[],
  answers: readonly LoadSlice[],
  from: number,
): Measure[] {
  const minutes = (at: number) => (at - from) / 60_000;
  const latenessOf = (label: "p50" | "p99", field: "p50Ms" | "p99Ms"): Measure => ({
    panel: latenessPanel,
    unit: "ms",
    label,
    points: lateness.map((slice) => ({ x: minutes(slice.at), y: slice[field] })),
    noise: noise.latenessMs,
  });
  const answersOf = (label: "p50" | "p99", field: "p50Ms" | "p99Ms"): Measure => ({
    panel: "Answers of the API",
    unit: "ms",
    label,
    points: answers
      .filter(({ requests }) => requests > 0)
      .map((slice) => ({ x: minutes(slice.at), y: slice[field] })),
    noise: noise.answerMs,
  });
  return [
    latenessOf("p50", "p50Ms"),
    latenessOf("p99", "p99Ms"),
    answersOf("p50", "p50Ms"),
    answersOf("p99", "p99Ms"),
    ...ofTables(samples, minutes),
    written(samples, minutes),
    ...memory(samples, minutes),
    ...cores(samples, minutes),
  ];
}

type Minutes = (at: number) => number;

function ofTables(samples: readonly Sample[], minutes: Minutes): Measure[] {
  const names = samples.at(-1)?.tables.map(({ name }) => name) ?? [];
  const tableAt = (sample: Sample, name: string) => sample.tables.find((table) => table.name === name);
  const dead = names.map(
    (name): Measure => ({
      panel: "Dead rows",
      unit: "rows",
      label: name,
      points: samples.map((sample) => ({ x: minutes(sample.at), y: tableAt(sample, name)?.dead ?? null })),
      noise: noise.deadRows,
    }),
  );
  const sizes = names.map((name): Measure => {
    const megabytes = (sample: Sample) => {
      const table = tableAt(sample, name);
      return table === undefined ? null : (table.tableBytes + table.indexBytes) / 2 ** 20;
    };
    return {
      panel: "Tables with their indexes",
      unit: "MB",
      label: name,
      points: samples.map((sample) => ({ x: minutes(sample.at), y: megabytes(sample) })),
      noise: small.has(name) ? noise.smallTableMB : null,
    };
  });
  return [...dead, ...sizes];
}

/** A tick writes a minute's jobs at once, so the WAL of a minute is judged, not that of a slice. */
function written(samples: readonly Sample[], minutes: Minutes): Measure {
  const points = samples.flatMap((sample) => {
    const before = samples.findLast(({ at }) => at <= sample.at - minuteMs + toleranceMs);
    if (before === undefined) return [];
    const megabytes = (sample.walBytes - before.walBytes) / 2 ** 20;
    return [{ x: minutes(sample.at), y: megabytes / ((sample.at - before.at) / 1_000) }];
  });
  return { panel: "WAL, over the minute before", unit: "MB/s", label: "", points, noise: noise.walMBs };
}

const minuteMs = 60_000;
const toleranceMs = 1_000;

function memory(samples: readonly Sample[], minutes: Minutes): Measure[] {
  return (["stack", "postgres"] as const).map((name) => ({
    panel: "Memory",
    unit: "MB",
    label: processNames[name],
    points: samples.map((sample) => ({
      x: minutes(sample.at),
      y: sample[name] === null ? null : sample[name].memoryBytes / 2 ** 20,
    })),
    noise: noise.memoryMB,
  }));
}

const processNames = { stack: "the stack (Node)", postgres: "Postgres" } as const;

/** CPU use, which is not judged: it shows what limits the other measures. */
function cores(samples: readonly Sample[], minutes: Minutes): Measure[] {
  return (["stack", "postgres"] as const).map((name) => ({
    panel: "Processor",
    unit: "cores",
    label: processNames[name],
    points: samples.slice(1).map((sample, index) => {
      const [before, after] = [samples[index]?.[name] ?? null, sample[name]];
      const seconds = (sample.at - (samples[index]?.at ?? sample.at)) / 1_000;
      const y = before === null || after === null ? null : (after.cpuSeconds - before.cpuSeconds) / seconds;
      return { x: minutes(sample.at), y };
    }),
    noise: null,
  }));
}

/**
 * Measures that have stopped rising, and those that have not. A measure that the system does not
 * report is listed as unjudged.
 */
export function judged(all: readonly Measure[]): { judged: Judged[]; untold: string[] } {
  const verdicts: Judged[] = [];
  const untold: string[] = [];
  for (const { panel, unit, label, points, noise: own } of all) {
    const taken = points.flatMap(({ x, y }): Point[] => (y === null ? [] : [{ x, y }]));
    if (own === null || taken.length === 0) continue;
    if (taken.length < slicesMin) untold.push(`${panel} ${label}`.trim());
    else verdicts.push({ panel, unit, label, ...flatness(taken, own) });
  }
  return { judged: verdicts, untold };
}
