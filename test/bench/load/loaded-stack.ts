import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { connect, type Sql } from "../../../lib/db/connect.ts";

/**
 * The local stack as `npm start` runs it, in a process of its own, and a superuser's connection to
 * its database.
 */
export interface LoadedStack extends AsyncDisposable {
  urls: { api: string; sqs: string };
  token: string;
  sql: Sql;
  pids: { stack: number; postgres: number };
  /**
   * The stack's log lines above `info`: the beginning of each message with its count, the most
   * frequent first.
   */
  complaints(): string[];
  /** Rejects when the stack ends unexpectedly. */
  ended: Promise<never>;
}

const startScript = path.join(import.meta.dirname, "..", "..", "..", "lib", "tools", "local", "start.ts");
const token = "load-token";
const stopPatienceMs = 10_000;
const firstLinesMax = 40;

export async function loadedStack(dataDir: string): Promise<LoadedStack> {
  const { DATABASE_URL: _, npm_lifecycle_event: __, ...inherited } = process.env;
  const child = spawn(process.execPath, [startScript], {
    env: {
      ...inherited,
      CARILLON_PORT: "0",
      CARILLON_SQS_PORT: "0",
      CARILLON_EVENTS_PORT: "0",
      CARILLON_DATA_DIR: dataDir,
      CARILLON_TOKEN: token,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = new Map<string, number>();
  const urls = await started(child, said);
  const server = await readServer(path.join(dataDir, "postgres"));
  const sql = connect({ DATABASE_URL: server.url }, { max: 2, applicationName: "carillon-load" });
  let stopping = false;
  const ended = once(child, "exit").then(([code]) => {
    if (stopping) return new Promise<never>(() => {});
    throw new Error(`The stack ended unexpectedly with code ${code}: ${[...said.keys()].join("; ")}`);
  });
  // Prevents an unhandled rejection when the caller does not await it.
  ended.catch(() => {});
  return {
    urls,
    token,
    sql,
    pids: { stack: child.pid ?? 0, postgres: server.pid },
    complaints: () =>
      [...said].sort(([, a], [, b]) => b - a).map(([sentence, times]) => `${times} × ${sentence}`),
    ended,
    [Symbol.asyncDispose]: async () => {
      stopping = true;
      await sql.end();
      await stopProcess(child);
    },
  };
}

function started(child: ChildProcess, said: Map<string, number>): Promise<LoadedStack["urls"]> {
  const first: string[] = [];
  return new Promise((resolve, reject) => {
    const read = (line: string) => {
      if (first.length < firstLinesMax) first.push(line);
      const [, api, sqs] = /^carillon ready api=(\S+) sqs=(\S+) /.exec(line) ?? [];
      if (api !== undefined && sqs !== undefined) return resolve({ api, sqs });
      const [, complaint] = /^[\d:.]+ [!✗] (.*)$/.exec(line) ?? [];
      if (complaint === undefined) return;
      const sentence = complaint
        .replace(/ \(\w+=.*$/, "")
        .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "…")
        .replace(/\d+/g, "…")
        .slice(0, 120);
      if (said.size < 100 || said.has(sentence)) said.set(sentence, (said.get(sentence) ?? 0) + 1);
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) throw new Error("The stack's output is not piped.");
      createInterface(stream).on("line", read);
    }
    child.once("exit", (code) =>
      reject(new Error(`The stack did not start and exited with code ${code}:\n${first.join("\n")}`)),
    );
  });
}

/** The address of the embedded server, from its files in the data directory. */
async function readServer(dataDir: string): Promise<{ url: string; pid: number }> {
  const state = await readFile(path.join(dataDir, "cluster", "postmaster.pid"), "utf8");
  const [pid, , , port] = state.split("\n").map(Number);
  const password = (await readFile(path.join(dataDir, "password"), "utf8")).trim();
  if (pid === undefined || port === undefined) throw new Error("postmaster.pid has no port.");
  return { pid, url: `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/carillon` };
}

/** Stops the process cleanly, and kills it when that takes too long. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const hurry = setTimeout(() => child.kill("SIGKILL"), stopPatienceMs);
  await exited;
  clearTimeout(hurry);
}
