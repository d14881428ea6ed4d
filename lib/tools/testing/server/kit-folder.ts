import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import path from "node:path";
import { migrationsDirectory, readMigrations } from "../../../db/migrate/migration.ts";

/**
 * The folder of the server that the tests of this user share. Another schema, and so another
 * release, has a folder of its own. The name is short, because the path of a socket has at most 104
 * characters.
 */
export async function kitFolder(): Promise<string> {
  const hash = createHash("sha256");
  for (const { name, text } of await readMigrations(migrationsDirectory)) hash.update(`${name}\0${text}\0`);
  const base = process.env["CARILLON_TEST_DIR"] ?? path.join(tmpdir(), `carillon-test-${userInfo().uid}`);
  const folder = path.join(base, hash.digest("hex").slice(0, 12));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

export const socketOf = (folder: string): string => path.join(folder, "s");
export const logOf = (folder: string): string => path.join(folder, "log");
