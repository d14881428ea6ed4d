import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { handOver } from "../../lib/parcel/hand-over.ts";
import {
  delaySeconds,
  type OutgoingParcel,
  parcelMessage,
  parcelOfMessage,
} from "../../lib/parcel/parcel-queue.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** Parcels that are ready in a minute, in the state after a tick that died before the hand-over. */
async function unsent(count: number): Promise<OutgoingParcel[]> {
  return world.sql<OutgoingParcel[]>`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
    select 0, case when n % 5 = 0 then 'slow' else 'fast' end::carillon.queue_class, carillon.clock() + interval '1 minute',
      carillon.clock() + interval '20 seconds', array[carillon.clock()], array[n::bigint] from generate_series(1, ${count}::int) n
    returning id, queue, 60000::float8 as "waitMs"`;
}

const marked = async () =>
  (await world.sql`select id from carillon.parcels where offers > 0 order by id`).map(({ id }) => String(id));

describe("a hand-over", () => {
  test("a hand-over sends ten messages to a request, each to its queue, to arrive a second early, and marks them", async () => {
    const parcels = await unsent(35);
    await handOver(world.sql, world.queue, parcels);
    expect(world.queue.requests.map((entries) => entries.length).sort()).toEqual([10, 10, 7, 8].sort());
    expect(world.queue.messages.filter(({ queue }) => queue === "slow")).toHaveLength(7);
    expect(world.queue.messages.every(({ delaySeconds }) => delaySeconds === 59)).toBe(true);
    expect(new Set(world.queue.messages.map(({ body }) => parcelOfMessage(body))).size).toBe(35);
    expect(await world.sql`select distinct offers, offer_at from carillon.parcels`).toEqual([
      { offers: 1, offer_at: at(2 * minute) },
    ]);
  });

  test("a parcel that is claimed before a hand-over marks it counts as sent no later than it was claimed", async () => {
    const { sql, clock } = world;
    await unsent(1);
    await sql`update carillon.parcels set claimed_at = carillon.clock(), lease_until = carillon.clock() + interval '30 seconds'`;
    await clock.advance(second);
    await sql`select carillon.mark_sent(array(select id from carillon.parcels))`;
    expect(await sql`select sent_at, claimed_at, offers from carillon.parcels`).toEqual([
      { sent_at: at(0), claimed_at: at(0), offers: 1 },
    ]);
  });

  test("a hand-over sends the last of many parcels with the wait that is left by then", async () => {
    // Otherwise, of thousands of jobs that are due together, the last ones start as late as it took
    // to send the others.
    let now = 0;
    const { timing } = world.queue;
    world.queue.timing = {
      ...timing,
      now: () => {
        now += second;
        return now;
      },
    };
    await handOver(world.sql, world.queue, await unsent(100));
    const delays = world.queue.requests.map(([first]) => first?.DelaySeconds ?? 0);
    expect(delays.toSorted((a, b) => b - a)).toEqual(Array.from({ length: 10 }, (_, n) => 58 - n));
  });

  test("a hand-over marks only parcels that are named as arrived: refused and unanswered entries are swept", async () => {
    const parcels = await unsent(20);
    const [refused, unanswered, ...arrived] = parcels.map(({ id }) => id);
    world.queue.fate = ({ Id }) =>
      Id === refused ? "refused" : Id === unanswered ? "unanswered" : "arrives";
    await handOver(world.sql, world.queue, parcels);
    expect((await marked()).sort()).toEqual(arrived.map(String).sort());
    expect(world.log.lines).toMatchObject([
      { level: "warn", event: "parcel.refused", fields: { parcel: refused, code: "Throttled" } },
    ]);
  });

  test("a hand-over without a queue is not an error: it is logged, and the sweep sends the parcels", async () => {
    world.queue.outage = new Error("away");
    await handOver(world.sql, world.queue, await unsent(12));
    expect(await marked()).toEqual([]);
    expect(world.log.lines.map(({ event }) => event)).toEqual(["parcel.unsent", "parcel.unsent"]);
  });

  test("a hand-over that cannot mark its parcels does not fail the committed edit", async () => {
    await world.tick();
    await world.sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
      create trigger refuse before update of offers on carillon.parcels execute function refuse()`);
    expect(await world.put("soon", { when: "in 5s" })).toMatchObject({ change: "created" });
    expect(world.queue.messages).toHaveLength(1);
    expect(world.log.lines.filter(({ level }) => level !== "info")).toMatchObject([
      { level: "warn", event: "parcel.unmarked", fields: { parcels: 1 } },
    ]);
  });

  test("parcels that are ready later than a message can wait are left to the sweep", async () => {
    const [soon, late] = await unsent(2);
    if (soon === undefined || late === undefined) throw new Error("There are no parcels.");
    await handOver(world.sql, world.queue, [soon, { ...late, waitMs: 900_001 }]);
    expect(await marked()).toEqual([soon.id]);
  });

  test("a hand-over does not wait for a locked parcel", async () => {
    const parcels = await unsent(3);
    await world.sql.begin(async (tx) => {
      await tx`select from carillon.parcels where id = ${parcels[0]?.id ?? ""} for update`;
      await handOver(world.sql, world.queue, parcels);
    });
    expect(await marked()).toHaveLength(2);
  });
});

describe("a message", () => {
  test("a message is delayed by whole seconds within SQS's limit, and never arrives after its parcel is ready", () => {
    expect([-5_000, 0, 999, 1_099, 1_100, 2_099, 60_500].map((waitMs) => delaySeconds(waitMs))).toEqual([
      0, 0, 0, 0, 1, 1, 60,
    ]);
    expect(delaySeconds(24 * 60 * minute)).toBe(900);
    for (let waitMs = 0; waitMs < 20 * second; waitMs += 137)
      expect(delaySeconds(waitMs) * 1_000).toBeLessThanOrEqual(Math.max(0, waitMs - 100));
  });

  test("a message has a parcel's id and nothing else, and any other text is not a message of Carillon", () => {
    expect(parcelMessage("12")).toBe('{"v":1,"parcel":"12"}');
    expect(parcelOfMessage(parcelMessage("9223372036854775807"))).toBe("9223372036854775807");
    for (const body of [
      "",
      "null",
      "[]",
      "7",
      '{"v":1}',
      '{"v":2,"parcel":"1"}',
      '{"v":1,"parcel":1}',
      '{"v":1,"parcel":"0"}',
      '{"v":1,"parcel":"-1"}',
      '{"v":1,"parcel":"1;"}',
      '{"v":1,"parcel":"9223372036854775808"}',
      '{"v":1,"parcel":"1"',
    ])
      expect(parcelOfMessage(body), body).toBeNull();
  });
});
