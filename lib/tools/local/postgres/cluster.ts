import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type { Account } from "./account.ts";
import type { Binaries } from "./binaries.ts";

/**
 * A data directory of Carillon: the cluster that Postgres owns, and beside it the superuser's
 * password and the server's log.
 */
export interface ClusterFiles {
  dataDir: string;
  clusterDir: string;
  passwordFile: string;
  logFile: string;
}

const majorVersion = "18";

export function clusterFiles(dataDir: string): ClusterFiles {
  const absolute = path.resolve(dataDir);
  return {
    dataDir: absolute,
    clusterDir: path.join(absolute, "cluster"),
    passwordFile: path.join(absolute, "password"),
    logFile: path.join(absolute, "server.log"),
  };
}

/**
 * The path of the cluster as the server's account can use it. Root may reach folders that this
 * account cannot (a checkout in root's home). The working directory is entered before the account
 * changes, and on Linux a path relative to it works.
 */
export function pathForServer(clusterDir: string, account: Account | undefined): string {
  return account !== undefined && process.platform === "linux" ? "/proc/self/cwd" : clusterDir;
}

/**
 * The server does not inherit this process's environment: a user's PGDATA or PGPORT must not affect
 * it.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC" };
}

/**
 * Creates the cluster if there is none, and returns the superuser's password. A creation that is
 * killed halfway starts over the next time.
 */
export function ensureCluster(
  files: ClusterFiles,
  binaries: Binaries,
  account: Account | undefined,
  durable: boolean,
): string {
  mkdirSync(files.dataDir, { recursive: true, mode: 0o700 });
  refuseForeign(files.dataDir);
  if (existsSync(files.clusterDir)) return openCluster(files);
  const password = randomBytes(24).toString("base64url");
  const fresh = `${files.clusterDir}-new`;
  const passwordForInitdb = path.join(files.dataDir, "password-new");
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(passwordForInitdb, password, { mode: 0o600 });
  if (account !== undefined) {
    for (const own of [files.dataDir, fresh, passwordForInitdb]) chownSync(own, account.uid, account.gid);
  }
  initdb(fresh, binaries, account, durable);
  rmSync(passwordForInitdb);
  writeFileSync(files.passwordFile, password, { mode: 0o600 });
  chmodSync(files.passwordFile, 0o600);
  renameSync(fresh, files.clusterDir);
  return password;
}

function initdb(fresh: string, binaries: Binaries, account: Account | undefined, durable: boolean): void {
  const { status, error, stderr } = spawnSync(
    binaries.initdb,
    [
      ...["--pgdata", pathForServer(fresh, account)],
      ...["--username", "postgres", "--auth", "scram-sha-256", "--pwfile", path.join("..", "password-new")],
      ...["--encoding", "UTF8", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--no-locale"],
      ...(durable ? [] : ["--no-sync"]),
    ],
    {
      ...account,
      cwd: fresh,
      env: serverEnvironment(),
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  if (status === 0) return;
  const reason = error?.message ?? stderr.trim();
  throw new Error(`initdb could not create a Postgres cluster in ${path.dirname(fresh)}: ${reason}`);
}

/** Another user cannot use a cluster that root created. */
function refuseForeign(dataDir: string): void {
  const uid = process.getuid?.();
  const owner = statSync(dataDir).uid;
  if (uid === undefined || uid === 0 || owner === uid) return;
  throw new Error(
    `The Postgres in ${dataDir} belongs to user ${owner}, not to you (${uid}). Use another folder, or have its owner remove it.`,
  );
}

function openCluster(files: ClusterFiles): string {
  const remedy = `Remove ${files.dataDir} to start over, or use another folder`;
  const version = readFileSync(path.join(files.clusterDir, "PG_VERSION"), "utf8").trim();
  if (version !== majorVersion) {
    throw new Error(
      `The Postgres cluster in ${files.dataDir} has version ${version}, not ${majorVersion}. ${remedy}.`,
    );
  }
  if (!existsSync(files.passwordFile)) {
    throw new Error(
      `The file with the password of the Postgres cluster, ${files.passwordFile}, is missing. ${remedy}.`,
    );
  }
  return readFileSync(files.passwordFile, "utf8");
}
