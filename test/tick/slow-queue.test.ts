import { afterEach, beforeEach, expect, test } from "vitest";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/**
 * Runs a tick of `timeMs` whose requests take `requestMs` each, eight at a time. Returns when it
 * ended.
 */
async function tickWithSlowQueue({ timeMs, requestMs }: { timeMs: number; requestMs: number }) {
  const standing = { timing: world.queue.timing, fate: world.queue.fate };
  const startedAt = standing.timing.now();
  let now = startedAt;
  world.queue.timing = {
    now: () => now,
    sleep: async (ms) => {
      now += ms;
    },
  };
  let lastMs = 0;
  let requests = 0;
  world.queue.fate = () => {
    if (world.queue.requests.length > requests) {
      requests = world.queue.requests.length;
      lastMs = now - startedAt;
      now += requestMs / 8;
    }
    return "arrives";
  };
  world.queue.requests = [];
  await tick(world, tickDefaults, () => now >= startedAt + timeMs);
  Object.assign(world.queue, standing);
  return { lastMs, endedMs: now - startedAt };
}

const unsent = async () => {
  const [row] = await world.sql<{ count: number; found: number }[]>`
    select count(*)::int as count, (count(*) filter (where offer_at <= carillon.clock() + interval '1 minute'))::int as found
    from carillon.parcels where offers = 0`;
  return row;
};

test("A tick whose requests to SQS take too long has time for its housekeeping, and the next one sends the remaining messages", async () => {
  const often = { when: "every 1s", target: { handler: "none" } };
  for (let n = 0; n < 20; n++) await world.put(`k${n}`, often);
  const { schedule: owes } = await world.put("owes", { when: "every 30d" });
  await world.sql`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    select id, shard, 'cadence', version, array[o], array[o], carillon.clock(), carillon.clock()
    from carillon.schedules cross join (select carillon.clock() - interval '1 day') past (o) where id = ${owes.id}`;

  const { lastMs, endedMs } = await tickWithSlowQueue({ timeMs: 38 * second, requestMs: second });
  expect(await world.jobs("owes")).toHaveLength(1);
  expect(lastMs).toBeLessThan(38 * second);
  expect(endedMs).toBeLessThan(39 * second);
  const left = await unsent();
  expect(left?.count).toBeGreaterThan(0);
  expect(left?.found).toBe(left?.count);

  await world.clock.advance(minute);
  await world.tick();
  expect(await unsent()).toEqual({ count: 0, found: 0 });
});

test("Parcels that a sweep had no time to send are the first that the next sweep sends", async () => {
  await world.sql`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
    select 0, 'slow', carillon.clock() - interval '1 minute', carillon.clock() - interval '20 seconds', array[carillon.clock()], array[n::bigint]
    from generate_series(1, 3000) n`;
  const { lastMs } = await tickWithSlowQueue({ timeMs: 10 * second, requestMs: second });
  expect(lastMs).toBeLessThan(10 * second);
  const sent = world.queue.messages.length;
  expect(sent).toBeGreaterThan(300);
  expect(sent).toBeLessThan(1_000);
  expect(await unsent()).toEqual({ count: 3_000 - sent, found: 3_000 - sent });

  await world.tick();
  expect(world.queue.messages).toHaveLength(3_000);
});

test("A tick on a slow SQS sends nothing after its time, even if its housekeeping makes parcels", async () => {
  await world.put("owes", { when: "every 30d", target: { handler: "none" } });
  await world.sql`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    select s.id, s.shard, 'cadence', s.version, array_agg(o order by o), array_agg(o order by o), carillon.clock(), carillon.clock()
    from carillon.schedules s cross join generate_series(carillon.clock() - interval '2 days', carillon.clock() - interval '1 day', interval '1 minute') o
    group by s.id`;
  const { lastMs } = await tickWithSlowQueue({ timeMs: 6 * second, requestMs: 4 * second });
  expect((await world.jobs("owes")).length).toBeGreaterThan(1_000);
  expect(lastMs).toBeLessThan(6 * second);
});

test("The pulses of a tick are made before it waits for the messages of later jobs", async () => {
  for (let n = 0; n < 4; n++) await world.put(`k${n}`, { when: "every 1s", target: { handler: "none" } });
  await world.put("beats", { when: "every 10s", delivery: "pulse", target: { queue: "demo" } });
  const { timing } = world.queue;
  let made: number | undefined;
  world.queue.timing = {
    ...timing,
    sleep: async () => {
      made ??= (await world.sql`select from carillon.parcels where pulse_at is not null`).length;
    },
  };
  await world.tick();
  expect(made).toBeGreaterThan(0);
});
