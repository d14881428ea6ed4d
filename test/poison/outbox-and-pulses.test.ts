import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { afterEach, expect, test } from "vitest";
import { beatWorld } from "../pulse/beat-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { impatientTick } from "./poison.ts";
import { bad, keys, neighbours, rowPoisons, secret } from "./row-poisons.ts";
import { idOf, keysWhere, putAll } from "./row-scenario.ts";

let stop: () => Promise<void> = async () => {};
afterEach(() => stop());

const inTheDatabase = ["unwritable", "locked", "slow"] as const;

/** A bus that takes each event, and the ids of the schedules that it received. */
function takingBus(onTold: () => Promise<void> = async () => {}) {
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const events = new EventBridgeClient({ region: "us-east-1", credentials });
  const reported: string[] = [];
  events.middlewareStack.add(
    () =>
      async ({ input }) => {
        const { Entries } = input as { Entries: { Detail: string }[] };
        for (const { Detail } of Entries) reported.push(String(JSON.parse(Detail).scheduleid));
        await onTold();
        return { response: {}, output: { $metadata: {}, Entries: Entries.map(() => ({ EventId: "1" })) } };
      },
    { step: "initialize", priority: "high" },
  );
  return { events, bus: "default", reported };
}

/** Writes an event for each of five schedules; returns a query of those still to be sent. */
async function fiveEvents(world: Carillon): Promise<() => Promise<string[]>> {
  await putAll(world, { when: "0 9 1 1 *" });
  await world.sql`
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
    select 'dead', carillon.clock(), id, 'cadence', 0, 1, carillon.clock(), carillon.clock() from carillon.schedules order by id`;
  return () => keysWhere(world, "exists (select from carillon.outbox o where o.schedule_id = s.id)");
}

test.each(inTheDatabase)(
  "An event that cannot be deleted, because its row is %s, is sent again, and the other events are sent once",
  async (name) => {
    const world = await carillon();
    stop = world.stop;
    const { reported, ...bus } = takingBus();
    world.more.tick = { bus };
    const left = await fiveEvents(world);
    const id = await idOf(world, bad);
    const spot = {
      table: "outbox",
      condition: (row: string) => `${row}.schedule_id = ${id}`,
      on: "delete" as const,
    };
    await rowPoisons[name].during(world, spot, () =>
      world.tick().catch((error: unknown) => expect(String(error)).not.toContain(secret)),
    );
    expect(await left()).toEqual([bad]);
    await world.clock.advance(2 * minute);
    await world.tick();
    expect(await left()).toEqual([]);
    expect(reported.filter((each) => each !== id)).toHaveLength(neighbours.length);
    expect(JSON.stringify(world.log.lines)).not.toContain(secret);
  },
);

test("An event whose row another transaction locks while it is sent is not waited for, and is sent again", async () => {
  const world = await carillon();
  stop = world.stop;
  const { promise: over, resolve: letGo } = Promise.withResolvers<void>();
  let locking = Promise.resolve();
  let isFirst = true;
  const { reported, ...bus } = takingBus(async () => {
    // The event that is sent again would meet the end of a second lock.
    if (!isFirst) return;
    isFirst = false;
    const { promise: isLocked, resolve: onLocked } = Promise.withResolvers<void>();
    const id = await idOf(world, bad);
    locking = world.sql.begin(async (tx) => {
      await tx`select from carillon.outbox where schedule_id = ${id} for update`;
      onLocked();
      await over;
    });
    await isLocked;
  });
  world.more.tick = { bus };
  const left = await fiveEvents(world);
  await impatientTick(world);
  await world.tick();
  expect(await left()).toEqual([bad]);
  letGo();
  await locking;
  await world.clock.advance(2 * minute);
  await world.tick();
  expect(await left()).toEqual([]);
  expect(reported).toHaveLength(keys.length + 1);
});

test.each(inTheDatabase)(
  "A shard whose pulses cannot be made, because a row is %s, does not stop other shards, and makes them once repaired",
  async (name) => {
    const world = await beatWorld();
    stop = world.stop;
    await world.store(keys.map((_, index) => ({ id: index + 1, every: 60 })));
    const shardOfBad = keys.indexOf(bad) + 1;
    const beating = async () =>
      (await world.sql<{ shard: number }[]>`select distinct shard from carillon.parcels order by 1`).map(
        ({ shard }) => keys[shard - 1],
      );
    const condition = (row: string) => `${row}.shard = ${shardOfBad}`;
    await rowPoisons[name].during(world, { table: "parcels", condition, on: "insert" }, () =>
      expect(world.tick()).rejects.toThrow(rowPoisons[name].reason),
    );
    expect(await beating()).toEqual(neighbours);
    expect(JSON.stringify(world.log.lines)).not.toContain(secret);
    await world.clock.advance(minute);
    await world.tick();
    expect(await beating()).toEqual(keys);
  },
);
