import type { Carillon } from "./carillon.ts";
import { at, minute } from "./instants.ts";

/** The due time of the jobs of `oneParcel`. */
export const due = at(minute);

/**
 * Makes schedules (`job-0`, `job-1` …) that are due together in a minute, and fires them in one
 * parcel of up to 250. Returns the parcel's id, and leaves the clock at the due time.
 */
export async function oneParcel(world: Carillon, count: number, body: object = {}): Promise<string> {
  for (let index = 0; index < count; index++)
    await world.put(`job-${index}`, { when: `at ${due.toISOString()}`, payload: index, ...body });
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  await world.tick();
  await world.clock.setNow(due);
  const [parcel] = await world.sql<{ id: string }[]>`select id from carillon.parcels`;
  if (parcel === undefined) throw new Error("No parcel was made.");
  return parcel.id;
}
