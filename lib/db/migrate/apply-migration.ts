import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { Sql, Tx } from "../connect.ts";
import type { Session } from "../sql.ts";
import { sqlState } from "../sql-state.ts";
import { type Blocker, blockersText, watchBlockers } from "./blockers.ts";
import { applyOutside } from "./migrate-outside.ts";
import type { Migration } from "./migration.ts";

/** Parameters of a run of migrations. */
export interface Applying {
  sql: Sql;
  log: Log;
  clock: Clock;
  session: Session;
  /** The process id of the session on the server. */
  pid: number;
  limits: { runMs: number; lockTimeoutMs: number };
  /** When the run has to end, in milliseconds. */
  until: number;
  /**
   * True while the migration has the whole time of a run: before the first migration or batch of
   * the run, and never in a run that is cut short.
   */
  first: boolean;
}

/** A sentence about the work that remains; undefined when the migration is done. */
type Left = string | undefined;

const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 15_000;

export async function applyMigration(run: Applying, migration: Migration): Promise<Left> {
  switch (migration.kind) {
    case "transaction":
      return patiently(run, migration, async (tx) => {
        await tx`lock table carillon.migrations in exclusive mode`;
        // Skips a migration that is already recorded: a person may have applied it by hand, without
        // the lock of this session.
        if (!(await record(tx, migration))) return;
        await tx.unsafe(migration.text);
      });
    case "outside": {
      const left = await applyOutside(run, migration);
      return (
        left ??
        patiently(run, migration, async (tx) => {
          await record(tx, migration);
        })
      );
    }
    case "batches":
      return inBatches(run, migration);
  }
}

/**
 * Runs batches until one finds no rows left. The position that a batch has reached is committed
 * with it.
 */
async function inBatches(run: Applying, migration: Migration): Promise<Left> {
  let place: string | null = null;
  for (;;) {
    const left = await patiently(run, migration, async (tx) => {
      place = await oneBatch(tx, migration);
    });
    if (left !== undefined) return left;
    if (place === null) return undefined;
    // After a batch, as after a migration, the run no longer has its whole time.
    run.first = false;
    if (run.clock.now().getTime() >= run.until) return `${nameOf(migration)} has reached ${place}`;
  }
}

async function oneBatch(tx: Tx, migration: Migration): Promise<string | null> {
  const { number } = migration;
  const [begun] = await tx<{ place: string }[]>`
    select place from carillon.unfinished_migrations where number = ${number}`;
  const before = begun?.place ?? null;
  const [row] = await tx.unsafe(migration.text, [before]);
  const place: unknown = row?.["place"];
  if (place === null) {
    await tx`delete from carillon.unfinished_migrations where number = ${number}`;
    await record(tx, migration);
    return null;
  }
  if (typeof place !== "string" || place === before) {
    throw new Error(
      `${nameOf(migration)} must answer each time with one row and a text "place" that moves on, or null when it is done.`,
    );
  }
  await tx`
    insert into carillon.unfinished_migrations (number, place) values (${number}, ${place})
    on conflict (number) do update set place = excluded.place`;
  return place;
}

/**
 * Retries after a lock timeout, until the migration gets its lock or the time is over. While a
 * migration waits for a lock, every later transaction waits behind it. So the migration waits
 * briefly, lets them pass, and tries again.
 */
async function patiently(
  run: Applying,
  migration: Migration,
  work: (tx: Tx) => Promise<void>,
): Promise<Left> {
  const { session, clock, until, log } = run;
  // An attempt may end before a look at its blockers has: the report keeps those that were seen last.
  let blockers: Blocker[] = [];
  for (let pause = PAUSE_MS; ; pause = Math.min(pause * 2, PAUSE_MS_MAX)) {
    const startedAt = clock.now().getTime();
    const statementMs = Math.max(until - startedAt, run.limits.lockTimeoutMs);
    const watch = watchBlockers(run.sql, run.pid, clock, run.limits.lockTimeoutMs / 4);
    try {
      await session.begin(async (tx) => {
        await bound(tx, statementMs, run.limits.lockTimeoutMs);
        await work(tx);
      });
      return undefined;
    } catch (error) {
      const seen = watch.end();
      if (seen.length > 0) blockers = seen;
      const state = sqlState(error);
      if (state === "cancelled") return tooLong(run, migration, clock.now().getTime() - startedAt, error);
      if (state !== "lock_timeout" && state !== "deadlock") throw error;
    } finally {
      watch.end();
    }
    log.warn("migration.blocked", {
      number: migration.number,
      name: migration.name,
      by: blockersText(blockers),
    });
    if (clock.now().getTime() + pause >= until) return blocked(run, migration, blockers);
    await clock.sleep(pause);
  }
}

function blocked(run: Applying, migration: Migration, blockers: Blocker[]): Left {
  const who = blockersText(blockers);
  if (!run.first) return `${nameOf(migration)} waits for a lock that is held by ${who}`;
  throw new Error(
    `${nameOf(migration)} did not get its lock: it is held by ${who}. Nothing of it was applied. End that session (see "A deployment is stuck" in the runbook), and deploy again.`,
  );
}

function tooLong(run: Applying, migration: Migration, ms: number, cause: unknown): Left {
  if (!run.first) return `${nameOf(migration)} needs the whole time of a run`;
  throw new Error(
    `${nameOf(migration)} was cancelled after ${Math.round(ms / 1000)} s; one transaction has ${Math.round(run.limits.runMs / 1000)} s. Nothing of it was applied. Split it into batches, or run it outside a transaction.`,
    { cause },
  );
}

/**
 * Sets the limits for this transaction alone. `statement_timeout` starts again with each statement;
 * `transaction_timeout`, where the server has it, bounds their sum.
 */
async function bound(tx: Tx, statementMs: number, lockMs: number): Promise<void> {
  const [whole, lock] = [String(Math.round(statementMs)), String(lockMs)];
  await tx`
    select set_config('statement_timeout', ${whole}, true), set_config('lock_timeout', ${lock}, true)`;
  await tx`
    select set_config('transaction_timeout', ${String(Math.round(statementMs) + 5_000)}, true)
    where current_setting('transaction_timeout', true) is not null`;
}

/** Returns false if the migration is recorded already. */
async function record(tx: Tx, { number, name, digest, backTo }: Migration): Promise<boolean> {
  const inserted = await tx`
    insert into carillon.migrations (number, name, digest, back_to) values (${number}, ${name}, ${digest}, ${backTo})
    on conflict (number) do nothing returning number`;
  return inserted.length === 1;
}

function nameOf({ number, name }: Migration): string {
  return `Migration ${number} (${name})`;
}
