import { readdir, readFile } from "node:fs/promises";
import type { Log } from "../log/log.ts";
import type { Sql } from "./connect.ts";
import { sqlState } from "./sql-state.ts";

export interface Migration {
  number: number;
  name: string;
  text: string;
}

/** The database was migrated by a newer release than this code: running on would read tables that mean something else. */
export class NewerDatabase extends Error {
  override readonly name = "NewerDatabase";

  constructor(found: number, known: number) {
    super(
      `The database is at migration ${found}; this release knows none after ${known}. Nothing was changed. Deploy a release that is at least as new as the database.`,
    );
  }
}

/** The migrations of this checkout or bundle, in order. */
export async function readMigrations(directory: URL | string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  const base = directory instanceof URL ? directory : new URL(`file://${directory}/`);
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(name.slice(0, 4));
      if (number !== index + 1)
        throw new Error(`Migration ${name} is out of order: number ${index + 1} was expected.`);
      return { number, name: name.slice(5, -4), text: await readFile(new URL(name, base), "utf8") };
    }),
  );
}

export const migrationsDirectory: URL = new URL("../../migrations/", import.meta.url);

/**
 * Brings the database up to date. Each migration is one transaction that inserts its number first: of two migrators the
 * second waits at the lock, finds the number and does nothing.
 */
export async function migrate(sql: Sql, migrations: Migration[], log: Log): Promise<{ applied: string[] }> {
  await prepare(sql);
  const applied: string[] = [];
  const last = migrations.at(-1)?.number ?? 0;
  for (const migration of migrations) {
    const done = await sql.begin(async (tx) => {
      await tx`lock table carillon.migrations in exclusive mode`;
      const [newest] = await tx<
        { number: number }[]
      >`select number from carillon.migrations order by number desc limit 1`;
      if (newest !== undefined && newest.number > last) throw new NewerDatabase(newest.number, last);
      if (newest !== undefined && newest.number >= migration.number) return false;
      await tx`insert into carillon.migrations (number, name) values (${migration.number}, ${migration.name})`;
      await tx.unsafe(migration.text);
      return true;
    });
    if (!done) continue;
    applied.push(migration.name);
    log.info("migration.applied", { number: migration.number, name: migration.name });
  }
  return { applied };
}

/** Two migrators may meet here: `if not exists` alone can still collide inside Postgres' own catalogue. */
async function prepare(sql: Sql): Promise<void> {
  try {
    await sql.unsafe(`
      create schema if not exists carillon;
      create table if not exists carillon.migrations (
        number int primary key, name text not null, applied_at timestamptz(3) not null default clock_timestamp());`);
  } catch (error) {
    if (
      sqlState(error) !== "unique_violation" &&
      sqlState(error) !== "duplicate_schema" &&
      sqlState(error) !== "duplicate_table"
    ) {
      throw error;
    }
  }
}
