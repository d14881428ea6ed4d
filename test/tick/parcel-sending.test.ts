import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OutgoingParcel, parcelOfMessage } from "../../lib/parcel/parcel-queue.ts";
import { parcelSending } from "../../lib/tick/parcel-sending.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** Parcels as batches of several shards make them; nobody marks them, since they are not stored. */
function parcel(id: number, waitMs: number): OutgoingParcel {
  return { id: String(id), queue: "fast", waitMs };
}

const sent = () =>
  world.queue.requests.flatMap((entries) =>
    entries.map(({ MessageBody = "", DelaySeconds }) => [parcelOfMessage(MessageBody), DelaySeconds]),
  );

const note = (error: unknown) => {
  throw error;
};

describe("the parcels of a tick", () => {
  test("of several shards are sent in the order in which they are ready", async () => {
    for (let n = 0; n < 24; n++)
      await world.put(`k${n}`, { when: `at 2026-03-02T10:30:${String(30 - n).padStart(2, "0")}` });
    await world.clock.setNow(at("10:29:00"));
    await world.tick();
    const ready = await world.sql<{ id: string }[]>`select id from carillon.parcels order by ready_at, id`;
    const shards = await world.sql`select distinct shard from carillon.parcels`;
    expect(shards.length).toBeGreaterThan(4);
    expect(ready).toHaveLength(24);
    expect(sent().map(([id]) => id)).toEqual(ready.map(({ id }) => id));
  });

  test("that are ready soon do not wait for those of other shards", async () => {
    const sending = parcelSending(world, note, () => 0);
    sending.add([parcel(1, 60 * second), parcel(2, 5 * second)]);
    sending.add([parcel(3, 20 * second), parcel(4, -second)]);
    await expect.poll(() => sent().length).toBe(2);
    await sending.finish();
    expect(sent().map(([id]) => id)).toEqual(["2", "4", "3", "1"]);
  });

  test("wait as much less as they were kept back", async () => {
    let now = 0;
    const sending = parcelSending(world, note, () => now);
    sending.add([parcel(1, 60 * second)]);
    now = 7 * second;
    await sending.finish();
    expect(sent()).toEqual([["1", 52]]);
  });

  test("that are ready together keep the order of their priorities", async () => {
    const sending = parcelSending(world, note, () => 0);
    // Each row of a statement is told its wait a little later than the one before.
    sending.add([parcel(1, 60_000.04), parcel(2, 60_000.02), parcel(3, 60_000)]);
    await sending.finish();
    expect(sent().map(([id]) => id)).toEqual(["1", "2", "3"]);
  });

  test("are sent before the tick has made all of them where they are many", async () => {
    const sending = parcelSending(world, note, () => 0);
    sending.add(Array.from({ length: 4_000 }, (_, n) => parcel(n + 1, 60 * second)));
    await expect.poll(() => sent().length).toBe(4_000);
    await sending.finish();
    expect(sent()).toHaveLength(4_000);
  });
});
