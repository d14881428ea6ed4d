import { type Clock, systemClock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { Sql } from "../connect.ts";
import { sqlState } from "../sql-state.ts";
import { type Applying, applyMigration } from "./apply-migration.ts";
import { blockersOf, blockersText } from "./blockers.ts";
import type { Migration } from "./migration.ts";
import { holderText, migrationLockHolder, prepareSession, tryMigrationLock } from "./migration-lock.ts";

/** A newer release has migrated the database: this code would misread its tables. */
export class NewerDatabase extends Error {
  override readonly name = "NewerDatabase";

  constructor(found: number, known: number) {
    super(
      `The database is at migration ${found}; this release knows none after ${known}. Nothing was changed. Deploy a release that is at least as new as the database.`,
    );
  }
}

/**
 * The database has other migrations than this code, so its tables differ from those that the code
 * expects.
 */
export class OtherDatabase extends Error {
  override readonly name = "OtherDatabase";

  constructor(number: number, found: string, known: string) {
    const differs =
      found === known
        ? `Migration ${number} (${known}) of the database had other statements than that of this release.`
        : `The database has "${found}" as migration ${number}; this release has "${known}".`;
    super(
      `${differs} It was made by code from before the first release, or by a changed copy. Nothing was changed. Start with an empty database (for a local stack: with another data directory), or deploy the code that made this one.`,
    );
  }
}

export interface MigrateLimits {
  /** The limit of one run, and so of each transaction and each wait in it. */
  runMs: number;
  /** The run has less time than usual: a migration that does not finish in it has not failed. */
  isCutShort: boolean;
  /**
   * How long a statement waits for a lock before it lets the transactions behind it pass. Functions
   * wait for at most five seconds.
   */
  lockTimeoutMs: number;
  /**
   * For a rollback of the release. A release that is older than the database does nothing, if the
   * newer migrations left the database usable for it.
   */
  mayBeOlder: boolean;
}

const defaults: MigrateLimits = {
  runMs: 600_000,
  isCutShort: false,
  lockTimeoutMs: 2_000,
  mayBeOlder: false,
};

export interface MigrateDeps {
  /** At least two connections: one migrates, and one looks for sessions that block it. */
  sql: Sql;
  log: Log;
  clock: Clock;
}

export interface MigrationRun {
  applied: string[];
  /**
   * The work that remains, or the run that is doing it, in words; undefined when the database is at
   * this release.
   */
  left: string | undefined;
  /**
   * The database is newer than this release, and its migrations left it usable for this release.
   */
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
 * Brings the database up to date as far as the time allows; the next run continues there. A
 * migration that fails to finish although it had a whole run is an error, and is rolled back.
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
  // Read before any lock: after a rollback of the release, it must not wait for a statement that
  // the newer release left running on the server.
  const missing = await missingOf(sql, migrations, limits.mayBeOlder);
  if (missing === "ahead") return { applied: [], left: undefined, ahead: true };
  if (missing.length === 0) return { applied: [], left: undefined, ahead: false };

  return sql.alone(async (session) => {
    const pid = await prepareSession(session);
    let first = !limits.isCutShort;
    while (!(await tryMigrationLock(session))) {
      if (clock.now().getTime() >= until)
        return { applied: [], left: await runningMigration(sql), ahead: false };
      first = false;
      await clock.sleep(LOCK_POLL_MS);
    }
    return applyMissing({ ...deps, session, pid, limits, until, first }, migrations);
  });
}

async function applyMissing(applying: Applying, migrations: Migration[]): Promise<MigrationRun> {
  const { session, clock, log, until } = applying;
  const applied: string[] = [];
  // Read again: the previous holder of the lock may have applied some or all.
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

async function runningMigration(sql: Sql): Promise<string> {
  const holder = await migrationLockHolder(sql);
  if (holder === undefined) return "another run ended just now";
  const blockers = await blockersOf(sql, holder.pid);
  const waits = blockers.length === 0 ? "" : `, which waits for ${blockersText(blockers)}`;
  return `another run migrates: ${holderText(holder)}${waits}`;
}

/**
 * The migrations to apply; "ahead" if the database is newer than this release but its functions
 * work with it.
 */
async function missingOf(
  sql: Pick<Sql, "unsafe">,
  migrations: Migration[],
  mayBeOlder: boolean,
): Promise<Migration[] | "ahead"> {
  const applied = await sql.unsafe<{ number: number; name: string; digest: string | null }[]>(
    "select number, name, digest from carillon.migrations order by number",
  );
  for (const { number, name, digest } of applied) {
    const known = migrations[number - 1];
    if (known !== undefined && (known.name !== name || known.digest !== digest))
      throw new OtherDatabase(number, name, known.name);
  }
  const found = applied.at(-1)?.number ?? 0;
  const last = migrations.at(-1)?.number ?? 0;
  if (found <= last) return migrations.filter(({ number }) => number > found);
  if (mayBeOlder && (await worksWith(sql, last))) return "ahead";
  throw new NewerDatabase(found, last);
}

/** Whether every migration that this release does not know keeps its functions working. */
async function worksWith(sql: Pick<Sql, "unsafe">, last: number): Promise<boolean> {
  const [newer] = await sql.unsafe<{ fit: boolean }[]>(
    "select coalesce(bool_and(coalesce(back_to <= $1, false)), true) as fit from carillon.migrations where number > $1",
    [last],
  );
  return newer?.fit === true;
}

/**
 * Two runs may meet here: `if not exists` alone can still collide inside the catalogue of Postgres.
 */
async function prepareTables(sql: Sql): Promise<void> {
  try {
    await sql.unsafe(`
      create schema if not exists carillon;
      create table if not exists carillon.migrations (
        number int primary key, name text not null, applied_at timestamptz(3) not null default clock_timestamp(),
        -- The digest of the statements of the migration. Null only in a database from before the first release.
        digest text,
        -- The oldest release whose functions work with the tables as this migration leaves them, by its last migration. Null: no older release.
        back_to int);
      -- How far a migration in batches has come. It is not in carillon.migrations until it is through.
      create table if not exists carillon.unfinished_migrations (number int primary key, place text not null);
      do $$
      begin
        -- Without this condition the statement would wait for all readers of the table.
        if not exists (select from pg_attribute where attrelid = 'carillon.migrations'::regclass and attname = 'digest') then
          alter table carillon.migrations add column digest text;
        end if;
      end $$`);
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
