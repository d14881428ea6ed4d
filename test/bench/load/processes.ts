import { readdir, readFile } from "node:fs/promises";

/** Memory and CPU time of a process and its descendants. */
export interface ProcessUse {
  memoryBytes: number;
  cpuSeconds: number;
}

const ticksPerSecond = 100;

/**
 * From /proc, so null on other systems than Linux. Memory is the proportional share where the
 * kernel reports it, so that Postgres's shared memory counts once; otherwise the resident set of
 * the process.
 */
export async function processUse(root: number): Promise<ProcessUse | null> {
  if (process.platform !== "linux") return null;
  const tree = await descendants(root);
  const each = await Promise.all(tree.map(usageOf));
  const used = each.filter((use) => use !== undefined);
  return {
    memoryBytes: used.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
    cpuSeconds: used.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  };
}

/** A process without its descendants. */
export async function singleUse(pid: number): Promise<ProcessUse | null> {
  return process.platform === "linux" ? ((await usageOf(pid)) ?? null) : null;
}

async function descendants(root: number): Promise<number[]> {
  const pids = (await readdir("/proc")).map(Number).filter(Number.isInteger);
  const parents = new Map<number, number>();
  for (const pid of pids) {
    const parent = (await statOf(pid))?.parent;
    if (parent !== undefined) parents.set(pid, parent);
  }
  const isBelow = (pid: number): boolean => {
    for (let each: number | undefined = pid; each !== undefined && each > 1; each = parents.get(each))
      if (each === root) return true;
    return false;
  };
  return pids.filter(isBelow);
}

async function usageOf(pid: number): Promise<ProcessUse | undefined> {
  const stat = await statOf(pid);
  if (stat === undefined) return undefined;
  const memory =
    (await readGone(`/proc/${pid}/smaps_rollup`)) ?? (await readGone(`/proc/${pid}/status`)) ?? "";
  const kilobytes = /^(?:Pss|VmRSS):\s+(\d+) kB$/m.exec(memory)?.[1];
  // The time of children that ended earlier is in their parent's figures.
  return { memoryBytes: Number(kilobytes ?? 0) * 1_024, cpuSeconds: stat.cpuSeconds };
}

async function statOf(pid: number): Promise<{ parent: number; cpuSeconds: number } | undefined> {
  const text = await readGone(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The name is in brackets and may contain any character.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
  return { parent: Number(fields[1]), cpuSeconds: ticks / ticksPerSecond };
}

/** Undefined when the process has ended or belongs to another user. */
async function readGone(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES" || code === "EPERM") return undefined;
    throw error;
  }
}
