import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Options, Say } from "./report.ts";

export const repository = fileURLToPath(new URL("../..", import.meta.url));

export interface RunningMess {
  /** The API's address. */
  url: string;
  dataDir: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Runs the mess in a process of its own, among as many quiet schedules and jobs as the options name,
 * and stops it when the work is done.
 */
export async function withMess(
  options: Options,
  say: Say,
  work: (mess: RunningMess) => Promise<void>,
): Promise<void> {
  const dataDir = options["data-dir"] ?? (await mkdtemp(path.join(tmpdir(), "carillon-mess-")));
  const env = { ...process.env, CARILLON_DATA_DIR: dataDir, CARILLON_LOG: "silent" };
  const mess = startMess(options, env);
  try {
    await work({ url: await readyUrl(mess, say), dataDir, env });
  } finally {
    await stopMess(mess);
    if (options["data-dir"] === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

type Mess = ChildProcessByStdio<null, Readable, null>;

function startMess(options: Options, env: NodeJS.ProcessEnv): Mess {
  const arguments_ = [`--quiet-schedules=${options["schedules"]}`, `--quiet-jobs=${options["jobs"]}`];
  return spawn(process.execPath, [path.join(repository, "test/support/mess/run.ts"), ...arguments_], {
    env: { ...env, CARILLON_PORT: "0", CARILLON_SQS_PORT: "0", CARILLON_EVENTS_PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function readyUrl(mess: Mess, say: Say): Promise<string> {
  for await (const line of createInterface(mess.stdout)) {
    const [, url] = /^carillon ready api=(\S+)/.exec(line) ?? [];
    if (url !== undefined) {
      mess.stdout.resume();
      return url;
    }
    // The stack's log has a time in front.
    if (!/^\d\d:/.test(line)) say(line);
  }
  throw new Error("The mess ended before it was ready.");
}

async function stopMess(mess: Mess): Promise<void> {
  if (mess.exitCode !== null) return;
  const ended = new Promise((resolve) => mess.once("exit", resolve));
  mess.kill("SIGTERM");
  await ended;
}
