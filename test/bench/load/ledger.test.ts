import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../../lib/db/connect.ts";
import { type Carillon, carillon } from "../../support/carillon.ts";
import { at, second } from "../../support/instants.ts";
import { checkLedger } from "./ledger.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
  await world.put("often", { when: "every 60s" });
  await world.put("moved", { when: "every 60s", startsAt: "2026-03-02T09:00:20Z" });
  await world.put("once", { when: "in 3s" });
  await world.put("short", { when: "every 60s" });
  for (let advanced = 0; advanced < 300; advanced += 10) {
    await world.tick();
    await world.work();
    if (advanced === 90) await world.patch("moved", { startsAt: "2020-01-01T00:00:45Z" });
    if (advanced === 150) await world.patch("often", { payload: { edit: 1 } });
    if (advanced === 200) await world.remove("short");
    await world.clock.advance(10 * second);
  }
  await world.work();
});

afterAll(() => world.stop());

const within = { from: at("10:00:00"), to: at("10:04:30") };

describe("the ledger of a load", () => {
  test("the check of the ledger accepts exactly the occurrences of each version while it was current", async () => {
    const checked = await checkLedger(world.sql, within);
    // often 4, short 3, once 1; moved at 10:00:20, 10:01:20, and from 10:01:30 on at 10:01:45,
    // 10:02:45, 10:03:45.
    expect(checked).toEqual({ owed: 13, states: { succeeded: 13 }, faults: 0, first: [] });
  });

  test.each([
    [
      "missing",
      (sql: Tx) => sql`
      delete from carillon.jobs where (occurrence, schedule_id) = (
        select j.occurrence, j.schedule_id from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where s.key = 'once')
      returning occurrence`,
    ],
    [
      "extra",
      (sql: Tx) => sql`
      insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, started_at, finished_at, attempt)
      select occurrence + interval '7 seconds', schedule_id, due_at, version, state, started_at, finished_at, attempt
      from carillon.jobs order by occurrence limit 1 returning occurrence`,
    ],
    [
      "open",
      (sql: Tx) => sql`
      update carillon.jobs set state = 'waiting', parcel_id = 1, finished_at = null
      where occurrence = (select max(occurrence) from carillon.jobs where state = 'succeeded' and occurrence <= ${within.to}) returning occurrence`,
    ],
    [
      "early",
      (sql: Tx) => sql`
      update carillon.jobs set started_at = due_at - interval '1 millisecond'
      where occurrence = (select min(occurrence) from carillon.jobs where state = 'succeeded') returning occurrence`,
    ],
  ])("the check of the ledger finds a job that is %s", async (fault, harm) => {
    const undone = new Error("as it was");
    await expect(
      world.sql.begin(async (tx) => {
        // The database itself does not accept such a row.
        await tx`alter table carillon.jobs drop constraint jobs_never_early`;
        const harmed = await harm(tx);
        expect(harmed).toHaveLength(1);
        const { faults, first } = await checkLedger(tx, within);
        expect([faults, first.map((each) => each.fault)]).toEqual([1, [fault]]);
        throw undone;
      }),
    ).rejects.toBe(undone);
  });
});
