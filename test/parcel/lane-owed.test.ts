import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("an occurrence waits for an earlier one that is still in the backlog, and no worker is sent for it meanwhile", async () => {
  await world.put("s", { when: "every 10s", overlap: "queue" });
  await world.tick();
  await world.clock.setNow(at(10 * second));
  await world.sql`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    select id, shard, 'cadence', version, array[${at(-minute)}::timestamptz], array[${at(-minute)}::timestamptz], carillon.clock(), carillon.clock()
    from carillon.schedules where key = 's'`;
  const [job] = await world.jobs("s");
  // Otherwise the schedule's jobs run out of order, which `overlap: queue` forbids.
  const claimed = await claimParcel(world.sql, job?.parcelId ?? "0", 30 * second);
  expect(claimed.outcome).toBe("empty");
  const [waiting] = await world.jobs("s");
  await world.clock.advance(2 * minute);
  const offered = async () => (await sweep(world.sql, world.log)).outgoing.map(({ id }) => id);
  // A message for this parcel would find it waiting, and be followed by another at once, as long as
  // there is a backlog.
  expect(await offered()).not.toContain(waiting?.parcelId);
  await world.sql`delete from carillon.backlog`;
  await world.clock.advance(5 * minute);
  expect(await offered()).toContain(waiting?.parcelId);
});
