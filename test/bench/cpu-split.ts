import { readdirSync, readFileSync } from "node:fs";

/** CPU time of both sides of a bench. On a machine with all cores busy, their sum is the limit. */
export interface CpuShares {
  /** This process and its children, including the SQS emulator, without Postgres. */
  nodeMs: number;
  /** The postmaster and its children: backends, the WAL writer and others. */
  postgresMs: number;
  /** The elapsed time. */
  wallMs: number;
}

export interface CpuSplit {
  /**
   * The CPU time since the split began; null where the system does not report it (only Linux does).
   */
  end(): CpuShares | null;
}

/** Linux reports in hundredths of a second, whatever its own clock's resolution. */
const msPerCount = 10;

/** Begins the measurement; the postmaster's id is `BenchStack.postgresPid`. */
export function cpuSplit(postgresPid: number): CpuSplit {
  const startedAt = performance.now();
  const before = countedNow(postgresPid);
  return {
    end: () => {
      const after = countedNow(postgresPid);
      if (before === null || after === null) return null;
      return {
        nodeMs: after.nodeMs - before.nodeMs,
        postgresMs: after.postgresMs - before.postgresMs,
        wallMs: Math.round(performance.now() - startedAt),
      };
    },
  };
}

/** For a bench's output and its page: "CPU: Postgres 61 %, Node 39 %, 1.87 cores busy". */
export function cpuLine(shares: CpuShares | null): string {
  if (shares === null) return "CPU: not reported on this machine";
  const { nodeMs, postgresMs, wallMs } = shares;
  const all = nodeMs + postgresMs;
  if (all === 0) return "CPU: too little to count";
  const percent = (ms: number) => `${Math.round((ms / all) * 100)} %`;
  return `CPU: Postgres ${percent(postgresMs)}, Node ${percent(nodeMs)}, ${(all / wallMs).toFixed(2)} cores busy`;
}

interface Process {
  parent: number;
  ms: number;
}

function countedNow(postgresPid: number): { nodeMs: number; postgresMs: number } | null {
  const processes = readProcesses();
  if (processes === null) return null;
  const postgresMs = treeMs(processes, postgresPid);
  const all = treeMs(processes, process.pid);
  const isOurs = ancestors(processes, postgresPid).includes(process.pid);
  return { nodeMs: isOurs ? all - postgresMs : all, postgresMs };
}

/**
 * Each process's own time and that of its ended children, so that the time of a closed backend is
 * not lost.
 */
function readProcesses(): Map<number, Process> | null {
  if (process.platform !== "linux") return null;
  const processes = new Map<number, Process>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const read = readStat(pid);
    if (read !== undefined) processes.set(pid, read);
  }
  return processes;
}

function readStat(pid: number): Process | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // The process ended while others were read; its parent's figures include it now.
    return undefined;
  }
}

/**
 * The second field is the program's name in brackets, which may contain blanks and brackets itself;
 * the fourth is the parent.
 */
export function parseStat(stat: string): Process {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const counts = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), ms: counts * msPerCount };
}

function treeMs(processes: ReadonlyMap<number, Process>, root: number): number {
  let sum = 0;
  for (const [pid, { ms }] of processes) {
    if (pid === root || ancestors(processes, pid).includes(root)) sum += ms;
  }
  return sum;
}

function ancestors(processes: ReadonlyMap<number, Process>, pid: number): number[] {
  const found: number[] = [];
  for (let at = processes.get(pid)?.parent; at !== undefined && at > 0; at = processes.get(at)?.parent)
    found.push(at);
  return found;
}
