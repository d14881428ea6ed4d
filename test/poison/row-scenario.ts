import type { Consumer } from "../../lib/quarantine/quarantine.ts";
import type { Carillon } from "../support/carillon.ts";
import { bad, keys, type Spot, secret, zoneOfBad } from "./row-poisons.ts";

/** A consumer with five rows to do, named by the keys of their schedules. */
export interface Scenario {
  /**
   * The consumer of the bad row's quarantine entry. Null if it has no quarantine, and its row is
   * retried in another way.
   */
  consumer: Consumer | null;
  world?: () => Promise<Carillon>;
  arrange: (world: Carillon) => Promise<void>;
  spot: (world: Carillon) => Promise<Spot>;
  /** One run of the consumer; by default a tick. */
  act?: (world: Carillon) => Promise<unknown>;
  /** The run in which a repaired row is done; by default `act`. */
  goOn?: (world: Carillon) => Promise<unknown>;
  /** The keys of rows that are done. */
  done: (world: Carillon) => Promise<string[]>;
}

/** Schedules of all keys, each with a payload that no log may have. */
export async function putAll(world: Carillon, body: object): Promise<void> {
  for (const key of keys) await world.put(key, { ...zoned(key), payload: { password: secret }, ...body });
}

const zoned = (key: string) => ({ timezone: key === bad ? zoneOfBad : "Europe/Berlin" });

/** Puts all schedules into one shard, so that their rows are worked together. */
export async function together({ sql }: Carillon): Promise<void> {
  for (const table of ["schedules", "plan", "plan_far", "holds"])
    await sql`update carillon.${sql(table)} set shard = 3`;
}

/** Puts each schedule into a shard of its own, and so its jobs into a parcel of their own. */
export async function apart({ sql }: Carillon): Promise<void> {
  await sql`update carillon.schedules set shard = ascii(key) - 97`;
  await sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
}

export async function idOf({ sql }: Carillon, key: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`;
  if (row === undefined) throw new Error(`There is no schedule ${key}.`);
  return row.id;
}

/** The keys of schedules that match the condition. */
export async function keysWhere({ sql }: Carillon, condition: string): Promise<string[]> {
  const rows = await sql.unsafe<{ key: string }[]>(
    `select s.key from carillon.schedules s where ${condition} order by s.key`,
  );
  return rows.map(({ key }) => key);
}

/** A row of the bad schedule in this table. */
export const ofBad =
  (table: string, on?: Spot["on"]) =>
  async (world: Carillon): Promise<Spot> => {
    const id = await idOf(world, bad);
    return {
      table,
      condition: (row) => `${row}.schedule_id = ${id}`,
      ...(on === undefined ? {} : { on }),
    };
  };

/** The bad schedule itself. */
export const badSchedule = async (): Promise<Spot> => ({
  table: "schedules",
  condition: (row) => `${row}.key = '${bad}'`,
});
