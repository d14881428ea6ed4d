import { claimParcel } from "../../lib/parcel/claim.ts";
import type { Carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { bad, keys, type Spot } from "./row-poisons.ts";
import { apart, keysWhere, ofBad, putAll, type Scenario, together } from "./row-scenario.ts";

const once = { when: `at ${at(minute).toISOString()}` };

/**
 * Five due parcels of one job each, in five shards. Their messages are lost if `fate` is `lost`.
 */
async function dueParcels(world: Carillon, fate: "arrives" | "lost", body: object = {}): Promise<void> {
  world.queue.fate = () => fate;
  await putAll(world, { ...once, ...body });
  await apart(world);
  await world.tick();
  await world.clock.setNow(at(minute));
  world.queue.fate = () => "arrives";
}

const shardOfBad = keys.indexOf(bad);
const parcelOfBad = async (): Promise<Spot> => ({
  table: "parcels",
  condition: (row) => `${row}.shard = ${shardOfBad}`,
});

const withParcel = (world: Carillon, condition: string) =>
  keysWhere(world, `exists (select from carillon.parcels p where p.shard = s.shard and ${condition})`);

const withoutParcel = (world: Carillon, condition: string) =>
  keysWhere(world, `not exists (select from carillon.parcels p where p.shard = s.shard and ${condition})`);

const succeeded = (world: Carillon) =>
  keysWhere(
    world,
    "exists (select from carillon.jobs j where j.schedule_id = s.id and j.state = 'succeeded')",
  );

/** Messages that stayed on the queue come again, and parcels of a dead worker are offered again. */
const untilItIsWorked = async (world: Carillon) => {
  await world.clock.advance(minute);
  await world.tick();
  await world.work();
};

/** Scenarios of consumers of parcels: the sweep, claims and settles. */
export const parcelScenarios = {
  lease: {
    consumer: "lease",
    arrange: async (world) => {
      await dueParcels(world, "lost");
      for (const { id } of await world.sql<{ id: string }[]>`select id from carillon.parcels`)
        await claimParcel(world.sql, id, 30 * second);
      await world.clock.advance(minute);
    },
    spot: parcelOfBad,
    done: (world) => withoutParcel(world, "p.lease_until is not null"),
  },
  offer: {
    consumer: "offer",
    arrange: async (world) => {
      await dueParcels(world, "lost");
      await world.clock.advance(minute);
    },
    spot: parcelOfBad,
    done: (world) => withParcel(world, "p.offers > 1"),
  },
  lane: {
    consumer: "lane",
    // A job of each schedule waits in its lane, and the job before it ended without handing the
    // lane on.
    arrange: async (world) => {
      await putAll(world, { when: "every 10s", overlap: "queue", maxFires: 2 });
      await apart(world);
      await world.tick();
      world.queue.messages = [];
      await world.clock.setNow(at(20 * second));
      for (const key of keys)
        for (const { parcelId } of await world.jobs(key))
          await claimParcel(world.sql, parcelId ?? "0", minute);
      await world.sql`delete from carillon.parcels where lane is null`;
      await world.sql`
        update carillon.jobs set state = 'cancelled', parcel_id = null, finished_at = carillon.clock() where occurrence = ${at(10 * second)}`;
      await world.clock.advance(minute);
    },
    spot: parcelOfBad,
    done: (world) => withoutParcel(world, "p.lane is not null"),
  },
  turn: {
    consumer: "turn",
    arrange: async (world) => {
      for (const key of keys) await world.put(key, { ...once, target: { handler: `handler-${key}` } });
      await apart(world);
      await world.tick();
      world.queue.messages = [];
      await world.sql`
        update carillon.parcels set turn = 'waits', turn_at = ${at(minute)}, ready_at = 'infinity', offer_at = 'infinity'`;
      await world.clock.advance(2 * minute);
    },
    spot: parcelOfBad,
    done: (world) => withoutParcel(world, "p.turn = 'waits'"),
  },
  claim: {
    consumer: "claim",
    arrange: (world) => dueParcels(world, "arrives"),
    spot: parcelOfBad,
    act: (world) => world.work(),
    goOn: untilItIsWorked,
    done: async (world) => [...new Set(world.delivered.map(({ key }) => key))].toSorted(),
  },
  settle: {
    consumer: null,
    arrange: async (world) => {
      await putAll(world, once);
      await together(world);
      await world.tick();
      await world.clock.setNow(at(minute));
    },
    spot: ofBad("jobs"),
    act: (world) => world.work(),
    goOn: untilItIsWorked,
    done: succeeded,
  },
} satisfies Record<string, Scenario>;
