import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { done } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { until } from "../support/until.ts";
import { quarantined, raised } from "./poison.ts";
import { keys } from "./row-poisons.ts";
import { apart } from "./row-scenario.ts";

/**
 * A parcel that waits for its turn cannot be written, while a job runs whose settle gives that
 * turn.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

/**
 * Five jobs, a second apart. While the first runs, the parcel behind it becomes bad. Returns the
 * key of its schedule.
 */
async function fiveBehindEachOther(body: object): Promise<() => string> {
  for (const [index, key] of keys.entries())
    await world.put(key, { when: `at ${at(minute + index * second).toISOString()}`, ...body });
  await apart(world);
  let bad = "";
  world.outcome = async () => {
    if (bad !== "") return done;
    await until("the others wait", async () => (await waiting()).length === keys.length - 1);
    const [next] = await waiting();
    bad = next?.key ?? "";
    await world.sql.unsafe(`
      create function public.poisoned() returns trigger language plpgsql as $$ begin raise exception 'a secret'; end $$;
      create trigger poison before update or delete on carillon.parcels for each row when (old.id = ${next?.id}) execute function public.poisoned()`);
    return done;
  };
  await world.tick();
  await world.clock.setNow(at(minute + 5 * second));
  return () => bad;
}

const waiting = () => world.sql<{ id: string; key: string }[]>`
  select p.id, s.key from carillon.parcels p join carillon.schedules s on s.id = p.schedule_ids[1]
  where p.turn = 'waits' or p.lane is not null order by p.turn_at, s.key`;

const mended = () => world.sql`drop trigger poison on carillon.parcels`;

/** Works for some minutes, and returns the messages that stayed on their queues. */
async function minutes(count: number): Promise<string[]> {
  const stay = await world.work();
  for (let each = 0; each < count; each++) {
    await world.clock.advance(minute);
    await world.tick();
    stay.push(...(await world.work()));
  }
  return stay;
}

const deliveries = (of: readonly string[]) =>
  of.map((key) => world.delivered.filter((each) => each.key === key).length);
const succeeded = async () =>
  (await world.jobs()).filter(({ state }) => state === "succeeded").map(({ key }) => key);

test.each([
  ["whose concurrency is limited", 1, null],
  ["whose share of the workers is full", null, 1],
] as const)(
  "A parcel that cannot be written at a target %s stops no settle, and no later parcel",
  async (_, concurrency, window) => {
    world.window = window;
    await world.sql`insert into carillon.targets (name, concurrency) values ('handler/h', ${concurrency})`;
    const badOf = await fiveBehindEachOther({ target: { handler: "h" } });
    expect(await minutes(6)).toEqual([]);
    const bad = badOf();
    const others = keys.filter((key) => key !== bad);
    expect(await succeeded()).toEqual(others);
    expect(deliveries(others)).toEqual([1, 1, 1, 1]);
    const [job] = await world.jobs(bad);
    expect(await quarantined(world)).toMatchObject([
      { consumer: "turn", item: `parcel ${job?.parcelId}`, reason: raised },
    ]);
    expect(JSON.stringify(world.log.lines)).not.toContain("a secret");
    await mended();
    await minutes(10);
    expect(await quarantined(world)).toEqual([]);
    expect(await succeeded()).toEqual([...keys]);
    expect(deliveries(keys)).toEqual([1, 1, 1, 1, 1]);
  },
);

test("A parcel in a lane that cannot be written does not repeat the job before it, and the lane continues once it is repaired", async () => {
  await fiveBehindEachOther({ group: "order:1", serial: true });
  expect(await minutes(6)).toEqual([]);
  expect(await succeeded()).toEqual(["a"]);
  expect(deliveries(["a", "b"])).toEqual([1, 0]);
  await mended();
  await minutes(70);
  expect(await quarantined(world)).toEqual([]);
  expect(await world.sql`select from carillon.lane_entries`).toEqual([]);
  expect(await succeeded()).toEqual([...keys]);
  expect(deliveries(keys)).toEqual([1, 1, 1, 1, 1]);
});

test("A waiting job that cannot be written does not stop other jobs of its target when waiting jobs are joined", async () => {
  world.window = 1;
  for (const [index, key] of keys.entries())
    await world.put(key, {
      when: `at ${at(minute + index * second).toISOString()}`,
      target: { handler: "h" },
    });
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  await world.tick();
  const [running, ...others] = await world.jobs();
  await world.clock.setNow(at(minute));
  const claimed = await claimParcel(world.as.worker, running?.parcelId ?? "0", 10 * second, 1);
  expect(claimed.outcome).toBe("claimed");
  await world.clock.setNow(at(minute + 5 * second));
  for (const { parcelId } of others)
    expect(await claimParcel(world.as.worker, parcelId ?? "0", minute, 1)).toMatchObject({ outcome: "held" });
  await world.sql`
    create function public.poisoned() returns trigger language plpgsql as $$ begin raise exception 'a secret'; end $$`;
  const [bad] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = 'c'`;
  await world.sql.unsafe(
    `create trigger poison before update on carillon.jobs for each row when (old.schedule_id = ${bad?.id}) execute function public.poisoned()`,
  );
  const [job] = await world.jobs("c");

  await minutes(3);
  expect(await succeeded()).toEqual(["a", "b", "d", "e"]);
  expect(deliveries(keys)).toEqual([1, 1, 0, 1, 1]);
  expect(await quarantined(world)).toMatchObject([
    { consumer: "turn", item: `parcel ${job?.parcelId}`, reason: raised },
  ]);
  await world.sql`drop trigger poison on carillon.jobs`;
  await minutes(10);
  expect(await quarantined(world)).toEqual([]);
  expect(await succeeded()).toEqual([...keys]);
});
