import { spawnSync } from "node:child_process";
import { readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import path from "node:path";
import { type Clock, systemClock } from "../../../clock.ts";
import { isCode } from "./binaries.ts";

const patienceMs = 5_000;
const pollMs = 10;

/**
 * Stops a server that outlived its parent. After `kill -9` of that process, a server may still run
 * or shut down, and a second one must not use its cluster. Logs nothing. Returns the server's
 * process id, if there was one.
 */
export async function stopLeftover(
  clusterDir: string,
  clock: Clock = systemClock,
): Promise<number | undefined> {
  const pid = recordedPid(clusterDir);
  if (pid === undefined) return undefined;
  if (!isServerOf(pid, clusterDir)) {
    // The process id now belongs to another process, which Postgres would mistake for a server and
    // refuse to start. When the process is gone the file stays: Postgres uses it to find backends
    // that still run.
    if (isAlive(pid)) rmSync(path.join(clusterDir, "postmaster.pid"), { force: true });
    return undefined;
  }
  // SIGINT is Postgres's fast shutdown. SIGQUIT stops at once, and the next start replays the WAL.
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    if (!send(pid, signal)) return pid;
    for (let waited = 0; waited < patienceMs; waited += pollMs) {
      if (!isServerOf(pid, clusterDir)) return pid;
      await clock.sleep(pollMs);
    }
  }
  throw new Error(
    `A Postgres of an earlier run still uses ${clusterDir} and does not stop: kill process ${pid} by hand.`,
  );
}

/** The process id of a server that runs on the cluster; undefined without one. */
export function runningServer(clusterDir: string): number | undefined {
  const pid = recordedPid(clusterDir);
  return pid !== undefined && isServerOf(pid, clusterDir) ? pid : undefined;
}

/**
 * The state in postmaster.pid, which Postgres writes at start and removes at a clean stop: the
 * process, and whether it is ready.
 */
export function serverState(clusterDir: string): { pid: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(path.join(clusterDir, "postmaster.pid"), "utf8").split("\n");
    const pid = Number(lines[0]);
    return Number.isInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === "ready" } : undefined;
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function recordedPid(clusterDir: string): number | undefined {
  return serverState(clusterDir)?.pid;
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if (isCode(error, "ESRCH")) return false;
    throw new Error(
      `A Postgres of an earlier run (process ${pid}) belongs to another user and still runs: stop it first.`,
      {
        cause: error,
      },
    );
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

/**
 * A server's working directory is its cluster, which distinguishes it from a process that got the
 * same id later.
 */
function isServerOf(pid: number, clusterDir: string): boolean {
  if (process.platform === "linux") {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(clusterDir);
    } catch (error) {
      return isCode(error, "EACCES");
    }
  }
  const { stdout } = spawnSync("ps", ["-p", String(pid), "-o", "command="], { encoding: "utf8" });
  return stdout.includes("postgres") && stdout.includes(clusterDir);
}
