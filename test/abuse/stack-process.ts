import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { onLoopback } from "./loopback.ts";

export interface Memory {
  /** Resident bytes of the process. */
  rss: number;
  /** Bytes of objects and buffers that are in use. */
  used: number;
}

export interface AttackedStack {
  api: string;
  sqs: string;
  adminToken: string;
  /** After a collection in the stack's process. */
  memory(): Promise<Memory>;
  /** Lines of its log about ticks that failed or were dropped. */
  badTicks(): readonly string[];
  /** Lines of its log about requests that failed. */
  failures(): readonly string[];
  stop(): Promise<void>;
}

const program = path.join(import.meta.dirname, "..", "..", "lib", "tools", "local", "start.ts");
const probe = path.join(import.meta.dirname, "memory-probe.ts");
const adminToken = "the-admin-token-of-an-abuse-run";
const stopsWithinMs = 15_000;
const keptLines = 50;
/** A request that was ended after its time is answered with a 503 and Retry-After, which is no fault. */
const failed = /(GET|PUT|POST|PATCH|DELETE) \/\S* failed: (?!Problem: The request took too long)/;

/** The local stack as a process of its own, in a temporary folder and on free ports. */
export async function startAttacked(clock: Clock = systemClock): Promise<AttackedStack> {
  const folder = await mkdtemp(path.join(tmpdir(), "carillon-abuse-"));
  const { DATABASE_URL: _, npm_lifecycle_event: __, ...inherited } = process.env;
  const child = spawn(process.execPath, ["--expose-gc", "--import", probe, program], {
    env: {
      ...inherited,
      CARILLON_PORT: "0",
      CARILLON_SQS_PORT: "0",
      CARILLON_EVENTS_PORT: "0",
      CARILLON_DATA_DIR: folder,
      CARILLON_TOKEN: adminToken,
    },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const stop = async () => {
    if ((await endProcess(child, clock)) === "SIGKILL") endPostgres(folder);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const { api, sqs, badTicks, failures } = await untilReady(child);
    return {
      api,
      sqs,
      adminToken,
      memory: () => memoryOf(child),
      badTicks: () => badTicks,
      failures: () => failures,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function untilReady(child: ChildProcess) {
  const lastLines: string[] = [];
  const badTicks: string[] = [];
  const failures: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<{ api: string; sqs: string }>();
  const read = (line: string) => {
    if (lastLines.push(line) > keptLines) lastLines.shift();
    if (/tick was dropped|tick failed/.test(line)) badTicks.push(line);
    if (failed.test(line)) failures.push(line);
    const [, api, sqs] = /^carillon ready api=(\S+) sqs=(\S+) /.exec(line) ?? [];
    if (api !== undefined && sqs !== undefined)
      resolve({ api: onLoopback(api).origin, sqs: onLoopback(sqs).origin });
  };
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null) createInterface(stream).on("line", read);
  child.once("exit", () => reject(new Error(`The stack ended:\n${lastLines.join("\n")}`)));
  return { ...(await promise), badTicks, failures };
}

async function memoryOf(child: ChildProcess): Promise<Memory> {
  if (child.exitCode !== null || child.signalCode !== null) throw new Error("The stack's process has ended.");
  const answer = once(child, "message");
  child.send("memory");
  const [usage]: unknown[] = await answer;
  const { rss, heapUsed, external } = usage as NodeJS.MemoryUsage;
  return { rss, used: heapUsed + external };
}

async function endProcess(child: ChildProcess, clock: Clock): Promise<NodeJS.Signals | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.signalCode;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const ended = new AbortController();
  const late = clock.sleep(stopsWithinMs, ended.signal).then(() => {
    if (!ended.signal.aborted) child.kill("SIGKILL");
  });
  await exited;
  ended.abort();
  await late;
  return child.signalCode;
}

/** A stack that was killed leaves its Postgres behind. */
function endPostgres(folder: string): void {
  for (const file of globSync("**/postmaster.pid", { cwd: folder })) {
    const [pid] = readFileSync(path.join(folder, file), "utf8").split("\n");
    process.kill(Number(pid), "SIGQUIT");
  }
}
