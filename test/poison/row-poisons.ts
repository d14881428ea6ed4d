import { sqlState } from "../../lib/db/sql-state.ts";
import type { Carillon } from "../support/carillon.ts";
import { connectAsMember } from "../support/role-logins.ts";
import { unknownZone } from "./plan-steps.ts";

/** Five rows of one consumer, of which the one in the middle is bad: neighbours are before it and behind it. */
export const keys = ["a", "b", "c", "d", "e"] as const;
export const bad = "c";
export const neighbours = keys.filter((key) => key !== bad);

/** The bad schedule is in a zone of its own, so that its cadence is one. */
export const zoneOfBad = "Asia/Tokyo";

/** Stands in payloads and in what the database raises; no log has it. */
export const secret = "sk-live-of-a-caller";

/** The row at which a consumer is to fail. */
export interface Spot {
  table: string;
  /** Of the row by its alias. */
  condition: (row: string) => string;
  /** What the consumer does with it; changes and removes it where this is left out. */
  on?: keyof typeof events;
}

export interface RowPoison {
  /** What the quarantine says of the row; null where the row itself can be read and written. */
  reason: string | null;
  /** The row is bad while this acts. */
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

/** With a limit that is shorter than its role's in production, where a lock is waited for five seconds and a statement may take forty. */
async function bounded(
  world: Carillon,
  setting: "lock_timeout" | "statement_timeout" | typeof patient,
  act: () => Promise<unknown>,
): Promise<void> {
  const usual = { ...world.as };
  const own = await Promise.all(
    (["carillon_tick", "carillon_worker"] as const).map(async (role) => {
      const sql = await connectAsMember(world.sql, world.databaseUrl, role, 1);
      await sql.unsafe(setting === patient ? patient : `set ${setting} = '${boundedMs}ms'`);
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

const boundedMs = 200;

/** A lock is waited for until the statement is given up for its time. */
const patient = "set lock_timeout = 0; set statement_timeout = '3s'";

/** An advisory lock that no part of Carillon takes. */
const testLock = "pg_advisory_xact_lock(77, 77)";

const locked = (world: Carillon, spot: Spot, act: () => Promise<unknown>) =>
  lockedDuring(world, spot, () => bounded(world, "lock_timeout", act));

/**
 * The row is locked while a part acts that waits for any lock, unless it sets a limit itself. Returns how many transactions of the tick were given up
 * for their time.
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
  // A row that is yet to be written cannot be locked: to write it waits for what the other transaction has.
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
  if (spoilt.length === 0) throw new Error("No cadence was spoilt.");
  await act();
  for (const { id, was } of spoilt)
    await sql`update carillon.cadences set ${sql(column)} = ${was} where id = ${id}`;
}

/** What a row may be whatever its consumer does with it. */
export const rowPoisons = {
  unwritable: {
    reason: "P0001 raised by a function or a trigger",
    during: (world, spot, act) => trapped(world, spot, `raise exception '${secret}'`, act),
  },
  locked: { reason: "55P03", during: locked },
  slow: {
    reason: "57014",
    during: (world, spot, act) =>
      trapped(world, spot, "perform pg_sleep(60)", () => bounded(world, "statement_timeout", act)),
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
