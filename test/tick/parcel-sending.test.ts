import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OutgoingParcel, parcelOfMessage } from "../../lib/parcel/parcel-queue.ts";
import { parcelSending } from "../../lib/tick/fire/parcel-sending.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/**
 * Parcels as batches of several shards make them; they are not stored, so none is marked as sent.
 */
function parcel(id: number, waitMs: number): OutgoingParcel {
  return { id: String(id), queue: "fast", waitMs };
}

const sent = () =>
  world.queue.requests.flatMap((entries) =>
    entries.map(({ MessageBody = "", DelaySeconds }) => [parcelOfMessage(MessageBody), DelaySeconds]),
  );

const begun = (timeIsUp = () => false) =>
  parcelSending({
    ...world,
    timeIsUp,
    note: (error) => {
      throw error;
    },
  });

/**
 * A clock that advances with sleeps and with each request, and the time at which each parcel was
 * sent.
 */
function passingTime(from: number, requestMs: number) {
  let now = from;
  const sentAt = new Map<string, number>();
  world.queue.timing = {
    now: () => now,
    sleep: async (ms) => {
      now += ms;
    },
  };
  world.queue.fate = ({ Id = "" }) => {
    sentAt.set(Id, now);
    now += requestMs / 10;
    return "arrives";
  };
  return { sentAt, now: () => now, pass: (ms: number) => (now += ms) };
}

describe("the parcels of a tick", () => {
  test("Parcels of several shards are sent in the order in which they are ready, within the same moment of a second", async () => {
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

  test("Messages arrive when their parcels are ready, within a tenth of a second, at any part of a second", async () => {
    const time = passingTime(123_456.7, 5);
    const sending = begun();
    const readyAt = new Map<string, number>();
    for (let n = 1; n <= 200; n++) {
      const waitMs = 70 * second + ((n * 7_919) % 100_000);
      readyAt.set(String(n), time.now() + waitMs);
      sending.add([parcel(n, waitMs)]);
    }
    await sending.finish();
    const late = sent().map(([id, delay]) => {
      const key = String(id);
      return (time.sentAt.get(key) ?? 0) + Number(delay) * second - (readyAt.get(key) ?? 0);
    });
    expect(late).toHaveLength(200);
    expect(Math.max(...late)).toBeLessThanOrEqual(100);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(-100);
  });

  test("Parcels that fit into one request are sent without a wait of the tick", async () => {
    const time = passingTime(0, 0);
    const sending = begun();
    sending.add(Array.from({ length: 10 }, (_, n) => parcel(n + 1, 130 * second - 137 * n)));
    await sending.finish();
    expect(time.now()).toBe(0);
    expect(sent().map(([, delay]) => delay)).toEqual([128, 128, 128, 129, 129, 129, 129, 129, 129, 129]);
  });

  test("Parcels of a few requests delay the tick by a second at most", async () => {
    const time = passingTime(0, 0);
    const sending = begun();
    sending.add(Array.from({ length: 400 }, (_, n) => parcel(n + 1, 130 * second + 7 * n)));
    await sending.finish();
    expect(time.now()).toBeLessThanOrEqual(second);
  });

  test("Between lots, the sender leaves queue and database to others for as long as the lot took", async () => {
    const time = passingTime(0, 20);
    const sending = begun();
    // Each moment of a second has some lots, so the sender never waits for one: only its rests cost
    // time.
    sending.add(Array.from({ length: 960 }, (_, n) => parcel(n + 1, 130 * second + 10 * n)));
    await sending.finish();
    // Ninety-six requests, one by one in this test.
    expect(time.now()).toBeGreaterThan(3.3 * second);
    expect(sent()).toHaveLength(960);
  });

  test("Parcels that are ready at one instant delay the tick by a bounded number of seconds, however many they are", async () => {
    const time = passingTime(0, 20);
    const sending = begun();
    sending.add(Array.from({ length: 3_999 }, (_, n) => parcel(n + 1, 130 * second)));
    await sending.finish();
    // Four hundred requests of a fiftieth of a second are eight seconds.
    expect(time.now()).toBeLessThan((8 + 15 + 1) * second);
    expect(sent()).toHaveLength(3_999);
  });

  test("Parcels are sent without a rest if the tick has no time left", async () => {
    const time = passingTime(0, 50);
    const sending = begun(() => true);
    sending.add(Array.from({ length: 400 }, (_, n) => parcel(n + 1, 130 * second + 7 * n)));
    await sending.finish();
    expect(sent()).toHaveLength(400);
    expect(time.now()).toBeCloseTo(2 * second);
  });

  test("No request begins later than 25 seconds after all jobs are made, however many parcels are left", async () => {
    const time = passingTime(0, 200);
    const sending = begun();
    sending.add(Array.from({ length: 2_000 }, (_, n) => parcel(n + 1, n * 50)));
    await sending.finish();
    expect(time.now()).toBeGreaterThan(24 * second);
    // Eight requests begin together, and this clock counts them one after the other.
    expect(time.now()).toBeLessThan(27 * second);
    expect(sent().length).toBeLessThan(1_400);
  });

  test("No request begins later than 5 seconds after all jobs are made if the tick has no time left", async () => {
    const time = passingTime(0, 200);
    const sending = begun(() => true);
    sending.add(Array.from({ length: 2_000 }, (_, n) => parcel(n + 1, n * 50)));
    await sending.finish();
    expect(time.now()).toBeGreaterThan(4 * second);
    expect(time.now()).toBeLessThan(7 * second);
  });

  test("Parcels that are ready soon do not wait for those of other shards", async () => {
    const sending = begun();
    sending.add([parcel(1, 160 * second), parcel(2, 5 * second)]);
    sending.add([parcel(3, 120 * second), parcel(4, -second), parcel(5, 59 * second)]);
    await expect.poll(() => sent().length).toBe(3);
    await sending.finish();
    expect(sent().map(([id]) => id)).toEqual(["2", "4", "5", "3", "1"]);
  });

  test("The wait of a parcel is reduced by the time it was kept back", async () => {
    const time = passingTime(0, 0);
    const sending = begun();
    sending.add([parcel(1, 160 * second)]);
    time.pass(7 * second);
    await sending.finish();
    expect(sent()).toEqual([["1", 152]]);
  });

  test("Parcels that are ready together keep the order of their priorities", async () => {
    const sending = begun();
    // The wait of each row of a statement is computed a little later than that of the row before.
    sending.add([parcel(1, 160_000.04), parcel(2, 160_000.02), parcel(3, 160_000)]);
    await sending.finish();
    expect(sent().map(([id]) => id)).toEqual(["1", "2", "3"]);
  });

  test("Parcels beyond the number that the tick keeps back are sent before the tick has made all of them", async () => {
    const sending = begun();
    sending.add(Array.from({ length: 4_000 }, (_, n) => parcel(n + 1, 160 * second)));
    await expect.poll(() => sent().length).toBe(4_000);
    await sending.finish();
    expect(sent()).toHaveLength(4_000);
  });
});
