import { sqlState } from "../../lib/db/sql-state.ts";
import type { Carillon } from "../support/carillon.ts";
import { connectAsMember } from "../support/role-logins.ts";
import { unknownZone } from "./plan-steps.ts";

/**
 * The keys of five rows of one consumer. The one in the middle is bad, so that rows before and
 * after it are good.
 */
export const keys = ["a", "b", "c", "d", "e"] as const;
export const bad = "c";
export const neighbours = keys.filter((key) => key !== bad);

/** The bad schedule has a zone of its own, and so a cadence of its own. */
export const zoneOfBad = "Asia/Tokyo";

/** Part of payloads and of the errors that the database raises; no log may have it. */
export const secret = "sk-live-of-a-caller";

/** The row at which a consumer fails. */
export interface Spot {
  table: string;
  /** An SQL condition on the row, given its alias. */
  condition: (row: string) => string;
  /** The statement of the consumer that fails; by default its updates and deletes. */
  on?: keyof typeof events;
}

export interface RowPoison {
  /** The reason in the quarantine; null if the row itself can be read and written. */
  reason: string | null;
  /** Runs `act` while the row is bad. */
  during: (world: Carillon, spot: Spot, act: () => Promise<unknown>) => Promise<void>;
}

const events = { insert: "insert", delete: "delete", change: "update or delete" } as const;

async function trapped(
  { sql }: Carillon,
  { table, condition, on = "change" }: Spot,
  body: string,
  act: () => Promise<unknown>,
): Promise<void> {
  await sql.unsafe(`
    create or replace function public.trap() returns trigger language plpgsql as $$ begin ${body}; return coalesce(new, old); end $$;
    create trigger trap before ${events[on]} on carillon.${table} for each row
      when (${condition(on === "insert" ? "new" : "old")}) execute function public.trap()`);
  await act();
  await sql.unsafe(`drop trigger trap on carillon.${table}`);
}

/**
 * Runs `act` with another limit than the role's in production, where a lock timeout is five seconds
 * and a statement timeout forty.
 */
async function bounded(world: Carillon, limits: string, act: () => Promise<unknown>): Promise<void> {
  const usual = { ...world.as };
  const own = await Promise.all(
    (["carillon_tick", "carillon_worker"] as const).map(async (role) => {
      const sql = await connectAsMember(world.sql, world.databaseUrl, role, 1);
      await sql.unsafe(limits);
      return sql;
    }),
  );
  const [tick = usual.tick, worker = usual.worker] = own;
  Object.assign(world.as, { tick, worker });
  try {
    await act();
  } finally {
    Object.assign(world.as, usual);
    await Promise.all(own.map((sql) => sql.end()));
  }
}

/** Only a statement that waits for a lock can meet it. */
const impatient = "set lock_timeout = '200ms'";

/** A lock is waited for until the statement timeout, which no statement without such a wait needs. */
const patient = "set lock_timeout = 0; set statement_timeout = '10s'";

/**
 * Postgres cancels the statement at once, with the SQLSTATE of a statement timeout. A real and short
 * timeout would also cancel other statements on a busy machine.
 */
const cancelled = "perform pg_cancel_backend(pg_backend_pid())";

/** An advisory lock that no part of Carillon takes. */
const testLock = "pg_advisory_xact_lock(77, 77)";

const locked = (world: Carillon, spot: Spot, act: () => Promise<unknown>) =>
  lockedDuring(world, spot, () => bounded(world, impatient, act));

/**
 * Locks the row while a part runs that waits for any lock unless it sets a limit itself. Returns
 * how many transactions of the tick were cancelled by their statement timeout.
 */
export async function lockedForPatient(
  world: Carillon,
  spot: Spot,
  act: () => Promise<unknown>,
): Promise<number> {
  let givenUp = 0;
  await lockedDuring(world, spot, () =>
    bounded(world, patient, async () => {
      const { tick } = world.as;
      const { begin } = tick;
      tick.begin = (work, mode) =>
        begin(work, mode).catch((error: unknown) => {
          if (sqlState(error) === "cancelled") givenUp += 1;
          throw error;
        });
      await act();
    }),
  );
  return givenUp;
}

async function lockedDuring(world: Carillon, spot: Spot, act: () => Promise<unknown>): Promise<void> {
  const { table, condition, on } = spot;
  // A row that does not exist yet cannot be locked: its insert waits for a lock of the other
  // transaction instead.
  if (on === "insert")
    return trapped(world, spot, `perform ${testLock}`, () =>
      world.sql.begin(async (tx) => {
        await tx.unsafe(`select ${testLock}`);
        await act();
      }),
    );
  await world.sql.begin(async (tx) => {
    await tx.unsafe(`select from carillon.${table} r where ${condition("r")} for update`);
    await act();
  });
}

async function inCadence(
  { sql }: Carillon,
  column: "timezone" | "expression",
  value: string,
  act: () => Promise<unknown>,
): Promise<void> {
  const spoilt = await sql<{ id: number; was: string }[]>`
    update carillon.cadences c set ${sql(column)} = ${value} from carillon.cadences o
    where o.id = c.id and c.timezone = ${zoneOfBad} returning c.id, o.${sql(column)} as was`;
  if (spoilt.length === 0) throw new Error("No cadence was changed.");
  await act();
  for (const { id, was } of spoilt)
    await sql`update carillon.cadences set ${sql(column)} = ${was} where id = ${id}`;
}

/** Faults of a row that any consumer may meet. */
export const rowPoisons = {
  unwritable: {
    reason: "P0001 raised by a function or a trigger",
    during: (world, spot, act) => trapped(world, spot, `raise exception '${secret}'`, act),
  },
  locked: { reason: "55P03", during: locked },
  slow: {
    reason: "57014",
    during: (world, spot, act) => trapped(world, spot, cancelled, act),
  },
  unknownZone: {
    reason: `The time zone ${unknownZone} is not known to this runtime.`,
    during: (world, _, act) => inCadence(world, "timezone", unknownZone, act),
  },
  unreadableCadence: {
    reason: "Error",
    during: (world, _, act) => inCadence(world, "expression", "no cron at all", act),
  },
} satisfies Record<string, RowPoison>;

export type RowPoisonName = keyof typeof rowPoisons;
