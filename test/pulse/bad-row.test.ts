import { afterEach, beforeEach, expect, test } from "vitest";
import { failed } from "../../lib/target/delivery.ts";
import { at, second } from "../support/instants.ts";
import { type BeatWorld, beatWorld } from "./beat-world.ts";

let world: BeatWorld;

beforeEach(async () => {
  world = await beatWorld();
});

afterEach(() => world.stop());

const bad = 33;
const neighbours = [1, 17, 49];

const sentOf = (id: number) => world.sent.filter((each) => each.id.startsWith(`${id}-`)).length;

const passed = () =>
  world.sql`select reason, sum(count)::int as count from carillon.pulses_passed group by reason`;

/** Stores pulses of one shard, due each minute at its twentieth second. */
async function store(queueOfBad = "demo"): Promise<void> {
  for (const id of [...neighbours, bad])
    await world.store([{ id, every: 60, offset: 20, queue: id === bad ? queueOfBad : "demo" }]);
}

async function targetOfBad(target: unknown): Promise<void> {
  await world.sql`insert into carillon.pulse_targets (target) values (${JSON.stringify(target)}::text::jsonb)`;
  await world.sql`update carillon.pulses set target_id = (select max(id) from carillon.pulse_targets) where schedule_id = ${bad}`;
}

test.each([
  ["null", null],
  ["a number", 5],
  ["an object without a target", {}],
  ["a queue that is a number", { queue: 5 }],
  ["a queue without attributes", { queue: "demo", attributes: null }],
  ["a queue with an empty batch", { queue: "demo", batch: 0 }],
  ["a bus without a name", { event: {} }],
])(
  "pulses of a target that cannot be read (%s) are given up, and those of other targets go once",
  async (_, target) => {
    await store();
    await targetOfBad(target);
    await world.runSeconds(130);
    expect(neighbours.map(sentOf)).toEqual([2, 2, 2]);
    expect(sentOf(bad)).toBe(0);
    expect(await passed()).toEqual([{ reason: "refused", count: 2 }]);
    expect(world.log.lines.filter(({ level }) => level !== "info")).toMatchObject(
      Array.from({ length: 2 }, () => ({
        event: "pulse.given-up",
        fields: { pulses: 1, error: "The target is missing or cannot be read." },
      })),
    );
  },
);

test("pulses of a target whose row is missing are given up, and those of other targets go once", async () => {
  await store();
  await world.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update carillon.pulses set target_id = 4242 where schedule_id = ${bad}`;
  });
  await world.runSeconds(130);
  expect(neighbours.map(sentOf)).toEqual([2, 2, 2]);
  expect(await passed()).toEqual([{ reason: "refused", count: 2 }]);
});

test.each([
  "",
  "not json",
  '"data":1',
  '"data":1}}',
  '"data":1},{"id":"x"}',
  '"data":1}\u001f{"id":"2-3-c0"}',
  '\n"}{',
])("the database refuses a pulse whose envelope is not JSON (%j)", async (rest) => {
  await store();
  await expect(world.sql`update carillon.pulses set rest = ${rest}`).rejects.toThrow("pulses_rest_is_json");
});

/** Makes a row that was damaged, or written before the database refused such rows. */
async function damage(id: number): Promise<void> {
  await world.sql`alter table carillon.pulses drop constraint pulses_rest_is_json`;
  await world.sql`update carillon.pulses set rest = 'not json' where schedule_id = ${id}`;
}

test("a pulse that cannot be made into a message is given up alone: the others of its target and its second go once, also those on later pages", async () => {
  await world.storeMany(2_500, { every: 600, offset: 20, queue: "orders.fifo" });
  await damage(32);
  await world.tick();
  await world.clock.setNow(at(20 * second));
  await world.work();
  expect(world.sent).toHaveLength(2_499);
  expect(new Set(world.sent.map(({ id }) => id)).size).toBe(2_499);
  expect(await passed()).toEqual([{ reason: "refused", count: 1 }]);
  expect(await world.sql`select from carillon.parcels where pulse_at <= carillon.clock()`).toEqual([]);
  expect(world.log.lines.filter(({ level }) => level === "error")).toMatchObject([
    { event: "pulse.unmade", fields: { pulses: 1, ids: `32-${at(20 * second).getTime()}-c0` } },
  ]);
});

test("a pulse that cannot be made into a message is counted once, though others of its target are retried", async () => {
  await store("orders.fifo");
  await world.sql`update carillon.pulses set target_id = (select target_id from carillon.pulses where schedule_id = ${bad})`;
  await damage(bad);
  let isBusy = true;
  world.fate = () => (isBusy ? failed("throttled") : "taken");
  await world.tick();
  await world.clock.setNow(at(20 * second));
  await world.work();
  isBusy = false;
  await world.runSeconds(30);
  expect(neighbours.map(sentOf)).toEqual([1, 1, 1]);
  expect(await passed()).toEqual([{ reason: "refused", count: 1 }]);
  expect(world.log.lines.filter(({ event }) => event === "pulse.unmade")).toHaveLength(1);
});
