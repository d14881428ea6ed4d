import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { type Clock, systemClock } from "../../../clock.ts";
import { type Log, silentLog } from "../../../log/log.ts";
import { freeLoopbackPort } from "../free-port.ts";
import { type Account, serverAccount } from "./account.ts";
import { type Binaries, findBinaries } from "./binaries.ts";
import {
  type ClusterFiles,
  clusterFiles,
  ensureCluster,
  pathForServer,
  serverEnvironment,
} from "./cluster.ts";
import { serverState, stopLeftover } from "./leftover.ts";
import { hasSocket, removeSockets } from "./own-socket.ts";

export interface PostgresServer {
  /** Connects the superuser to the database `postgres`. */
  url: string;
  /**
   * The same through a Unix socket where there is one, which takes a third less processor time per
   * statement than the loopback interface.
   */
  socketUrl: string;
  port: number;
  /** Resolves when the server has ended, for any reason. */
  exited: Promise<void>;
  /** Fast shutdown: open transactions are rolled back, committed ones are on disk. */
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /**
   * Created if it is missing. No other server may use it; one left over from a killed run is
   * stopped.
   */
  dataDir: string;
  log?: Log;
  /** Settings of postgresql.conf, such as `{ fsync: "off" }`. */
  settings?: Readonly<Record<string, string>>;
  /**
   * The folder of other programs than those that npm installed: `initdb` and `postgres` of the same
   * major version.
   */
  programs?: string | undefined;
  clock?: Clock;
}

const startPatienceMs = 60_000;
const stopPatienceMs = 1_500;
const attemptsMax = 5;
const retryMs = 100;
const pollMs = 5;

/**
 * Starts a Postgres on a free port of the loopback interface, from npm's binaries unless others are
 * given.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { log = silentLog, clock = systemClock, settings = {} } = options;
  const startedAt = clock.now().getTime();
  const files = clusterFiles(options.dataDir);
  const account = serverAccount(files.clusterDir);
  const binaries = findBinaries(account, options.programs);
  const password = ensureCluster(files, binaries, account, settings["fsync"] !== "off");
  const leftover = await stopLeftover(files.clusterDir, clock);
  if (leftover !== undefined) log.warn("postgres.leftover", { pid: leftover });

  for (let attempt = 1; ; attempt++) {
    const port = await freeLoopbackPort();
    const child = launch({ binaries, files, account, port, settings });
    const outcome = await readiness(child, files, clock);
    if (outcome === "ready") {
      log.info("postgres.up", { port, ms: clock.now().getTime() - startedAt });
      return running(child, { port, password, clusterDir: files.clusterDir });
    }
    // Another process may take the port before the server starts, and the backends of a killed
    // server may need a moment to end.
    if (outcome.includes("in use") && attempt < attemptsMax) {
      await clock.sleep(retryMs * attempt);
      continue;
    }
    throw new Error(`Postgres did not start in ${files.dataDir}: ${outcome}`);
  }
}

interface Launch {
  binaries: Binaries;
  files: ClusterFiles;
  account: Account | undefined;
  port: number;
  settings: Readonly<Record<string, string>>;
}

function launch({ binaries, files, account, port, settings }: Launch): ChildProcess {
  removeSockets(files.clusterDir);
  const unix_socket_directories = hasSocket(files.clusterDir) ? "." : "";
  const all = { listen_addresses: "127.0.0.1", port: String(port), unix_socket_directories, ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const command = [binaries.postgres, "-D", pathForServer(files.clusterDir, account), ...flags];
  const [program = binaries.postgres, ...rest] = diesWithParent()
    ? ["setpriv", "--pdeathsig", "INT", ...command]
    : command;
  const serverLog = openSync(files.logFile, "w", 0o600);
  try {
    // The server gets a session of its own, so that the terminal's Ctrl-C does not reach it and it
    // is stopped last.
    return spawn(program, rest, {
      ...account,
      cwd: files.clusterDir,
      env: serverEnvironment(),
      detached: true,
      stdio: ["ignore", serverLog, serverLog],
    });
  } finally {
    closeSync(serverLog);
  }
}

/**
 * On Linux the kernel can interrupt the server when this process dies; elsewhere the next start
 * stops it (leftover.ts).
 */
function diesWithParent(): boolean {
  if (process.platform !== "linux") return false;
  return spawnSync("setpriv", ["--pdeathsig", "INT", "true"], { stdio: "ignore" }).status === 0;
}

/** "ready", or the reason why the server did not start. */
async function readiness(child: ChildProcess, files: ClusterFiles, clock: Clock): Promise<string> {
  let failure: string | undefined;
  child.once("error", (error) => {
    failure = error.message;
  });
  for (let waited = 0; waited < startPatienceMs; waited += pollMs) {
    if (failure !== undefined) return failure;
    if (child.exitCode !== null || child.signalCode !== null) return endOfLog(files);
    const state = serverState(files.clusterDir);
    if (state?.pid === child.pid && state?.ready) return "ready";
    await clock.sleep(pollMs);
  }
  child.kill("SIGQUIT");
  return `it was not ready after ${startPatienceMs / 1000} s; ${endOfLog(files)}`;
}

function endOfLog(files: ClusterFiles): string {
  const lines = readFileSync(files.logFile, "utf8").trim().split("\n");
  return `${files.logFile} ends with: ${lines.slice(-5).join(" / ")}`;
}

interface Place {
  port: number;
  password: string;
  clusterDir: string;
}

function running(child: ChildProcess, { port, password, clusterDir }: Place): PostgresServer {
  const exited = once(child, "exit").then(() => {});
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  return {
    url,
    socketUrl: hasSocket(clusterDir) ? `${url}?host=${encodeURIComponent(clusterDir)}` : url,
    port,
    exited,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGINT");
      const hurry = setTimeout(() => child.kill("SIGQUIT"), stopPatienceMs);
      await exited;
      clearTimeout(hurry);
    },
  };
}
