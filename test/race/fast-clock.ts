import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Sql } from "../../lib/db/connect.ts";

/**
 * Makes time run `factor` times as fast, for a database and for a JavaScript clock beside it:
 * leases, offers and the horizon take minutes, so a race in real time would contain few of their
 * events.
 */
export async function speedUp(sql: Sql, factor: number): Promise<Clock & { origin: number }> {
  const [row] = await sql<{ origin: number }[]>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as origin`;
  if (row === undefined) throw new Error("The database returned no time.");
  const { origin } = row;
  const start = `timestamptz 'epoch' + ${origin} * interval '1 millisecond'`;
  await sql.unsafe(`
    create or replace function carillon.clock() returns timestamptz language sql volatile parallel safe
    as $$ select date_trunc('milliseconds', ${start} + (clock_timestamp() - (${start})) * ${factor}) $$`);
  return {
    origin,
    now: () => new Date(origin + (Date.now() - origin) * factor),
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}
