import { type Clock, systemClock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { Sql } from "../connect.ts";
import { sqlState } from "../sql-state.ts";
import { type Applying, applyMigration } from "./apply-migration.ts";
import { blockersOf, blockersText } from "./blockers.ts";
import type { Migration } from "./migration.ts";
import { holderText, migrationLockHolder, prepareSession, tryMigrationLock } from "./migration-lock.ts";

/** The database was migrated by a newer release than this code: running on would read tables that mean something else. */
export class NewerDatabase extends Error {
  override readonly name = "NewerDatabase";

  constructor(found: number, known: number) {
    super(
      `The database is at migration ${found}; this release knows none after ${known}. Nothing was changed. Deploy a release that is at least as new as the database.`,
    );
  }
}

/** The database was migrated by code with other migrations, so its tables are not those that this code knows. */
export class OtherDatabase extends Error {
  override readonly name = "OtherDatabase";

  constructor(number: number, found: string, known: string) {
    super(
      `The database has "${found}" as migration ${number}; this release has "${known}". It was made by code from before the first release, or by a changed copy. Nothing was changed. Start with an empty database, or deploy the code that made this one.`,
    );
  }
}

export interface MigrateLimits {
  /** How long one run may take. What one transaction does, or waits for, takes no longer. */
  runMs: number;
  /** The run has less time than others: what does not get through in it has not failed. */
  isCutShort: boolean;
  /** How long a statement waits for a lock before it lets those pass who wait behind it. Functions wait for five seconds at most. */
  lockTimeoutMs: number;
  /** A release that is older than the database does nothing, if the database was left so that it works with it. For putting one back. */
  mayBeOlder: boolean;
}

const defaults: MigrateLimits = {
  runMs: 600_000,
  isCutShort: false,
  lockTimeoutMs: 2_000,
  mayBeOlder: false,
};

export interface MigrateDeps {
  /** At least two connections: one that migrates, and one that sees who is in its way. */
  sql: Sql;
  log: Log;
  clock: Clock;
}

export interface MigrationRun {
  applied: string[];
  /** What is still to be done, or in whose hands it is; undefined when the database is at this release. */
  left: string | undefined;
  /** The database is ahead of this release, and was left so that it works with it. */
  ahead: boolean;
}

const LOCK_POLL_MS = 1_000;

/** Brings the database up to date, however long that takes. */
export async function migrate(sql: Sql, migrations: Migration[], log: Log): Promise<{ applied: string[] }> {
  const applied: string[] = [];
  for (;;) {
    const run = await migrateOnce({ sql, log, clock: systemClock }, migrations);
    applied.push(...run.applied);
    if (run.left === undefined) return { applied };
  }
}

/**
 * Brings the database up to date as far as the time allows; the next run goes on from there. A migration that does not get through although it
 * had a run to itself fails, and leaves nothing of itself.
 */
export async function migrateOnce(
  deps: MigrateDeps,
  migrations: Migration[],
  given: Partial<MigrateLimits> = {},
): Promise<MigrationRun> {
  const limits = { ...defaults, ...given };
  const { sql, clock } = deps;
  const until = clock.now().getTime() + limits.runMs;
  await prepareTables(sql);
  // Asked before anything is locked: a release that is put back must not wait for what the newer one has left to the server.
  const missing = await missingOf(sql, migrations, limits.mayBeOlder);
  if (missing === "ahead") return { applied: [], left: undefined, ahead: true };
  if (missing.length === 0) return { applied: [], left: undefined, ahead: false };

  return sql.alone(async (session) => {
    const pid = await prepareSession(session);
    let first = !limits.isCutShort;
    while (!(await tryMigrationLock(session))) {
      if (clock.now().getTime() >= until) return { applied: [], left: await whoMigrates(sql), ahead: false };
      first = false;
      await clock.sleep(LOCK_POLL_MS);
    }
    return applyMissing({ ...deps, session, pid, limits, until, first }, migrations);
  });
}

async function applyMissing(applying: Applying, migrations: Migration[]): Promise<MigrationRun> {
  const { session, clock, log, until } = applying;
  const applied: string[] = [];
  // Read again: who had the lock before may have done some, or all.
  const missing = await missingOf(session, migrations, false);
  for (const migration of missing === "ahead" ? [] : missing) {
    const { number, name } = migration;
    const next = `migration ${number} (${name}) is still to be applied`;
    if (!applying.first && clock.now().getTime() >= until) return { applied, left: next, ahead: false };
    const left = await applyMigration(applying, migration);
    if (left !== undefined) return { applied, left, ahead: false };
    applying.first = false;
    applied.push(name);
    log.info("migration.applied", { number, name });
  }
  return { applied, left: undefined, ahead: false };
}

async function whoMigrates(sql: Sql): Promise<string> {
  const holder = await migrationLockHolder(sql);
  if (holder === undefined) return "another run has just ended";
  const blockers = await blockersOf(sql, holder.pid);
  const waits = blockers.length === 0 ? "" : `, which waits for ${blockersText(blockers)}`;
  return `another run migrates: ${holderText(holder)}${waits}`;
}

/** The migrations to apply, or "ahead" if the database is newer than this release and its functions work with it. */
async function missingOf(
  sql: Pick<Sql, "unsafe">,
  migrations: Migration[],
  mayBeOlder: boolean,
): Promise<Migration[] | "ahead"> {
  const applied = await sql.unsafe<{ number: number; name: string }[]>(
    "select number, name from carillon.migrations order by number",
  );
  for (const { number, name } of applied) {
    const known = migrations[number - 1]?.name;
    if (known !== undefined && known !== name) throw new OtherDatabase(number, name, known);
  }
  const found = applied.at(-1)?.number ?? 0;
  const last = migrations.at(-1)?.number ?? 0;
  if (found <= last) return migrations.filter(({ number }) => number > found);
  if (mayBeOlder && (await worksWith(sql, last))) return "ahead";
  throw new NewerDatabase(found, last);
}

/** Whether all that this release does not know was written so that its functions work on. */
async function worksWith(sql: Pick<Sql, "unsafe">, last: number): Promise<boolean> {
  const [newer] = await sql.unsafe<{ fit: boolean }[]>(
    "select coalesce(bool_and(coalesce(back_to <= $1, false)), true) as fit from carillon.migrations where number > $1",
    [last],
  );
  return newer?.fit === true;
}

/** Two migrators may meet here: `if not exists` alone can still collide inside Postgres' own catalogue. */
async function prepareTables(sql: Sql): Promise<void> {
  try {
    await sql.unsafe(`
      create schema if not exists carillon;
      create table if not exists carillon.migrations (
        number int primary key, name text not null, applied_at timestamptz(3) not null default clock_timestamp(),
        -- The oldest release whose functions work with the tables as this migration leaves them, by its last migration. Null: no older release.
        back_to int);
      -- How far a migration in batches has come. It is not in carillon.migrations until it is through.
      create table if not exists carillon.unfinished_migrations (number int primary key, place text not null);`);
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
