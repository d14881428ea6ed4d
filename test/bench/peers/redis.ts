import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { systemClock } from "../../../lib/clock.ts";
import { freeLoopbackPort } from "../../../lib/tools/local/free-port.ts";

const startMaxMs = 10_000;
const pollMs = 20;

/**
 * A Redis for this bench alone with an append-only file, synced each second or before each answer.
 */
export async function startRedis(sync: "everysec" | "always", during: AsyncDisposableStack): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), "carillon-bench-redis-"));
  const port = await freeLoopbackPort();
  const given = { bind: "127.0.0.1", port, dir: directory, save: "", appendonly: "yes", appendfsync: sync };
  const args = Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn("redis-server", args, { stdio: "ignore" });
  const exited = once(child, "exit");
  during.defer(async () => {
    child.kill("SIGTERM");
    await exited;
    await rm(directory, { recursive: true, force: true });
  });
  const until = Date.now() + startMaxMs;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > until) throw new Error("The Redis server did not start.");
    await systemClock.sleep(pollMs);
  }
  return `redis://127.0.0.1:${port}`;
}

async function answers(port: number): Promise<boolean> {
  const socket = createConnection({ host: "127.0.0.1", port });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
