import { readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";

interface CpuTimes {
  all: number;
  steal: number;
}

/** The machine's CPU time so far, in ticks; null when /proc does not report it. */
export function cpuTimes(): CpuTimes | null {
  try {
    const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
    const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
    return { all: ticks.reduce((sum, each) => sum + each, 0), steal: ticks[7] ?? 0 };
  } catch {
    return null;
  }
}

/**
 * How busy the machine was since `before`: a slow run on a machine with other load is not a fault
 * of the tests.
 */
export function machineLine(before: CpuTimes | null): string {
  const now = cpuTimes();
  const steal =
    before === null || now === null
      ? "unknown"
      : `${((100 * (now.steal - before.steal)) / Math.max(1, now.all - before.all)).toFixed(1)} %`;
  const load = loadavg()
    .map((each) => each.toFixed(1))
    .join(" ");
  return `machine: ${availableParallelism()} cores, load ${load} (1, 5, 15 min), steal ${steal}`;
}
