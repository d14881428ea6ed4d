import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { failed } from "../../lib/target/delivery.ts";
import { admitBacklog } from "../../lib/tick/admit-backlog.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  for (const key of ["slow", "other"])
    await world.put(key, { when: "every 30d", target: { handler: key }, retry: { base: "1h" } });
});

afterEach(() => world.stop());

async function owe(key: string, count: number): Promise<void> {
  const dates = world.sql.array(Array.from({ length: count }, (_, n) => at(-day + n * second)));
  await world.sql`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    select id, shard, 'cadence', version, ${dates}::timestamptz[], ${dates}::timestamptz[], carillon.clock(), carillon.clock()
    from carillon.schedules where key = ${key}`;
}

const budget = 100;

/** The backlog's part of the tick of the next minute. */
async function admit(): Promise<void> {
  await world.clock.advance(minute);
  const parcels = await admitBacklog({ sql: world.sql, log: world.log }, { budget, perTurn: budget });
  await handOver(world.sql, world.queue, parcels);
}

const letIn = async (key: string) => (await world.jobs(key)).length;

/** One has the only place at the target, and does not come to an end. */
async function waitForTurns(): Promise<void> {
  await world.clock.advance(minute);
  for (const { id } of await world.sql<{ id: string }[]>`select id from carillon.parcels order by id`)
    await claimParcel(world.sql, id, 600_000, 1);
}

/** The target refuses each. */
async function waitForAttempts(): Promise<void> {
  world.outcome = () => failed("refused");
  await world.clock.advance(minute);
  await world.work();
}

test.each([
  ["for their turn there", waitForTurns],
  ["for another attempt", waitForAttempts],
] as const)(
  "Owed jobs of a target that wait %s keep nothing that is owed to other targets, and more of them come when fewer wait",
  async (_, wait) => {
    await owe("slow", 3 * budget);
    await admit();
    expect(await letIn("slow")).toBe(budget);
    await wait();
    await owe("other", budget / 2);
    await admit();
    expect(await letIn("other")).toBe(budget / 2);
    expect(await letIn("slow")).toBe(budget);

    await world.sql`delete from carillon.parcels`;
    await admit();
    expect(await letIn("slow")).toBe(2 * budget);
  },
);
