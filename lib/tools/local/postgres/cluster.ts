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

/** A data directory of ours: the cluster that Postgres owns, and beside it the superuser's password and the server's log. */
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
 * How the server is told where its cluster is. Root may reach folders that the server's account may not (a checkout in
 * root's home), but the working directory is entered before the account changes, and Linux lets it be named from inside.
 */
export function pathForServer(clusterDir: string, account: Account | undefined): string {
  return account !== undefined && process.platform === "linux" ? "/proc/self/cwd" : clusterDir;
}

/** Nothing of our environment reaches the server: a PGDATA or PGPORT of the user's own must not steer it. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC" };
}

/** Makes the cluster if there is none, and gives the superuser's password. Killed halfway, it begins anew the next time. */
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
  throw new Error(`initdb could not make a Postgres cluster in ${path.dirname(fresh)}: ${reason}`);
}

/** What root has made, another user cannot use. */
function refuseForeign(dataDir: string): void {
  const uid = process.getuid?.();
  const owner = statSync(dataDir).uid;
  if (uid === undefined || uid === 0 || owner === uid) return;
  throw new Error(
    `The Postgres in ${dataDir} belongs to user ${owner}, not to you (${uid}). Name another folder, or let its owner remove it.`,
  );
}

function openCluster(files: ClusterFiles): string {
  const remedy = `Remove ${files.dataDir} to begin anew, or name another folder`;
  const version = readFileSync(path.join(files.clusterDir, "PG_VERSION"), "utf8").trim();
  if (version !== majorVersion) {
    throw new Error(
      `The Postgres cluster in ${files.dataDir} is of version ${version}, not ${majorVersion}. ${remedy}.`,
    );
  }
  if (!existsSync(files.passwordFile)) {
    throw new Error(
      `The password of the Postgres cluster is gone: ${files.passwordFile} is missing. ${remedy}.`,
    );
  }
  return readFileSync(files.passwordFile, "utf8");
}
