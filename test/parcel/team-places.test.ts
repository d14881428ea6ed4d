import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { explain } from "../../lib/explain/explain.ts";
import { endLease } from "../../lib/parcel/end-lease.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import type { Deliver } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { touched } from "../support/touched.ts";
import { runWorkers } from "../support/workers.ts";
import { due, dueOnce, lease, parcels, swept, workerOf } from "./limit-world.ts";
import {
  allWait,
  countOf,
  type FamilyDelivery,
  inOneShard,
  limitTeams,
  parcelsOfTeams,
  placesOf,
  shared,
  takes,
  teamOf,
  turnsAt,
  worstOf,
} from "./team-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("a team has at most its places at a limited target, and another team's parcel behind it goes on", async () => {
  await limitTeams(world, 10, 4);
  const [large = "", next = "", few = ""] = await parcelsOfTeams(world, ["large", "next", "few"]);
  const { claim, claimed } = workerOf(world, 5);
  expect(await claimed(large)).toMatchObject({ slots: 4 });
  await world.sql`update carillon.parcels set team_id = (select team_id from carillon.parcels where id = ${large}) where id = ${next}`;
  expect(await claim(next)).toMatchObject({ outcome: "held", insteadId: undefined });
  expect(await claimed(few)).toMatchObject({ slots: 4 });
  expect(await swept(world)).toEqual([]);
});

test("a team that has all its places gets the next turn when one of them becomes free, and by no other's", async () => {
  await limitTeams(world, 8, 4);
  const [large = "", more = "", few = ""] = await parcelsOfTeams(world, ["large", "few"], 20);
  const { claim, claimed, settle } = workerOf(world, 5);
  const [first, other] = [await claimed(large), await claimed(few)];
  expect(await claim(more)).toMatchObject({ outcome: "held" });
  expect(await settle(other)).toEqual([]);
  expect(await settle(first)).toEqual([more]);
  expect(await claimed(more)).toMatchObject({ slots: 4 });
});

test("a team that has some of its places gets the others by a grant", async () => {
  await limitTeams(world, 10, 4);
  const [, small = ""] = await parcelsOfTeams(world, ["large"], 13);
  expect(await workerOf(world, 5).claimed(small)).toMatchObject({ slots: 3 });
  await world.sql`update carillon.parcels set turn = 'waits', turn_at = ${due}, ready_at = 'infinity' where slots is null`;
  expect(await swept(world)).toHaveLength(1);
  expect(await placesOf(world)).toEqual({ large: 4 });
});

test("explain tells a job that waits for a place of its team from one that waits for any place", async () => {
  await limitTeams(world, 4, 3);
  const [large = "", next = "", few = ""] = await parcelsOfTeams(world, ["large", "few"], 12);
  const { claim, claimed } = workerOf(world, 5);
  await claimed(large);
  await claim(next);
  const sentenceOf = async (key: string) => (await explain(world.sql, { key, at: due })).sentence;
  expect(await sentenceOf("large-011")).toContain("as many jobs under way as one team may (3)");
  await claimed(few);
  await world.sql`update carillon.parcels set turn = 'waits', ready_at = 'infinity' where turn is null and slots is null`;
  expect(await sentenceOf("few-011")).toContain("whose limits or share of the workers are used up");
});

test("one grant gives the places that a team may not take to the teams behind it", async () => {
  await limitTeams(world, 10, 4);
  await parcelsOfTeams(world, ["large", "few", "third"], 20);
  await allWait(world);
  await swept(world);
  expect(Object.values(await placesOf(world)).sort()).toEqual([2, 4, 4]);
});

test("a heavy team whose first parcel takes all its places keeps no place from another by its second", async () => {
  await limitTeams(world, 100, 4);
  await parcelsOfTeams(world, ["large", "few"], 20);
  await world.sql`update carillon.teams set weight = 100 where prefix = 'large-'`;
  await world.sql`update carillon.targets set share = 2`;
  await allWait(world);
  await swept(world);
  expect(await placesOf(world)).toEqual({ few: 4, large: 4 });
});

test("parcels of several priorities of a team have its places together", async () => {
  await limitTeams(world, 10, 4);
  await dueOnce(world, "large", 3, { ...shared, priority: "high" });
  await dueOnce(world, "low", 3, shared);
  await world.sql`select carillon.keep_team('large-')`;
  await world.sql`update carillon.schedules set team_id = (select id from carillon.teams where prefix = 'large-')`;
  await inOneShard(world);
  await world.tick();
  await world.clock.setNow(due);
  await allWait(world);
  await swept(world);
  expect(await placesOf(world)).toEqual({ large: 3, low: 1 });
});

test("a parcel whose worker died keeps its team's places until its lease is ended, and then the team's next one has them", async () => {
  await limitTeams(world, 10, 4);
  const [large = "", next = ""] = await parcelsOfTeams(world, ["large"], 20);
  const { claim, claimed } = workerOf(world, 5);
  await claimed(large);
  expect(await claim(next)).toMatchObject({ outcome: "held" });
  await world.clock.advance(lease + second);
  expect(await claim(next)).toMatchObject({ outcome: "held" });
  await endLease({ sql: world.sql, log: world.log }, large, []);
  expect(await placesOf(world)).toEqual({ large: 4 });
  expect(await claimed(next)).toMatchObject({ slots: 4 });
});

test("fewer places for a team end no job and hold for the next ones, and more places are given at once", async () => {
  await limitTeams(world, 10, 6);
  const [large = "", next = ""] = await parcelsOfTeams(world, ["large"], 12);
  const { claim, claimed, settle } = workerOf(world, 5);
  const first = await claimed(large);
  expect(first).toMatchObject({ slots: 6 });
  await limitTeams(world, 10, 2);
  expect(await claim(next)).toMatchObject({ outcome: "held" });
  await limitTeams(world, 10, 8);
  expect(await parcels(world)).toMatchObject([{ slots: 6 }, { turn: "granted", slots: 2 }]);
  await limitTeams(world, 10, 2);
  expect(await parcels(world)).toMatchObject([{ slots: 6 }, { turn: "waits", slots: null }]);
  await settle(first);
  expect(await placesOf(world)).toEqual({ large: 2 });
});

test("a team that has more than its places, since they were lowered, keeps no other from its turn", async () => {
  await limitTeams(world, 20, 6);
  const [few = "", , large = "", next = ""] = await parcelsOfTeams(world, ["few", "large"], 12);
  const { claim, claimed } = workerOf(world, 5);
  expect(await claimed(large)).toMatchObject({ slots: 6 });
  await limitTeams(world, 20, 2);
  expect(await claim(next)).toMatchObject({ outcome: "held" });
  await world.sql`update carillon.parcels set turn = 'waits', turn_at = ${due}, ready_at = 'infinity' where id = ${few}`;
  expect(await swept(world)).toEqual([few]);
  expect(await placesOf(world)).toEqual({ few: 2, large: 6 });
});

test("a fast parcel has no more jobs than its team has places", async () => {
  await limitTeams(world, 10, 4, "queue/demo");
  const [large = "", next = "", , , few = ""] = await parcelsOfTeams(world, ["large", "few"], 16, {
    target: { queue: "demo" },
  });
  expect((await parcels(world)).map(({ jobs }) => jobs)).toEqual(Array.from({ length: 8 }, () => 4));
  const { claim, claimed } = workerOf(world);
  expect((await claimed(large)).jobs).toHaveLength(4);
  expect(await claim(next)).toMatchObject({ outcome: "held" });
  expect((await claimed(few)).jobs).toHaveLength(4);
});

test("a fast parcel that was packed before each team had its places is cut to them once", async () => {
  await limitTeams(world, 10, null, "queue/demo");
  const [large = ""] = await parcelsOfTeams(world, ["large"], 10, { target: { queue: "demo" } });
  await limitTeams(world, 10, 4, "queue/demo");
  expect((await workerOf(world).claimed(large)).jobs).toHaveLength(4);
  expect((await parcels(world)).map(({ jobs }) => jobs)).toEqual([4, 4, 2]);
});

test("forty teams that have all their places hide no other team that waits", async () => {
  await limitTeams(world, 1_000, 1);
  await parcelsOfTeams(world, ["many"], 820);
  await world.sql`select carillon.keep_team('team-' || n) from generate_series(1, 41) n`;
  await world.sql`
    update carillon.parcels p set team_id = t.id
    from (select id, row_number() over (order by id) % 41 as n from carillon.parcels) o, (select id, row_number() over (order by id) - 1 as n from carillon.teams where prefix like 'team-%') t
    where o.id = p.id and t.n = (o.n + 20) % 41`;
  await allWait(world);
  await world.sql`
    update carillon.parcels p set turn = null, slots = 1, ready_at = ${due}, lease_until = ${at(2 * minute)}, claimed_at = ${due}
    from (select min(id) as id from carillon.parcels group by team_id order by 1 limit 40) f where p.id = f.id`;
  for (let ms = 0; ms < 50; ms += 1)
    expect(
      new Set((await turnsAt(world, new Date(due.getTime() + ms), 10)).map(({ team }) => team)).size,
    ).toBe(1);
});

test("a grant beside another team reads none of the ten thousand parcels of a team that has all its places", async () => {
  await limitTeams(world, 10, 4);
  const [, large = ""] = await parcelsOfTeams(world, ["few", "large"], 10);
  await world.sql`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, target_id, team_id, turn, turn_at, occurrences, schedule_ids)
    select 0, 'slow', 'infinity', 'infinity', p.target_id, p.team_id, 'waits', ${due}::timestamptz - n * interval '1 ms', p.occurrences, p.schedule_ids
    from carillon.parcels p, generate_series(1, 10000) n where p.id = ${large}`;
  await world.sql`update carillon.parcels set slots = 4, lease_until = ${at(2 * minute)}, claimed_at = ${due} where id = ${large}`;
  await world.sql`update carillon.parcels set turn = 'waits', turn_at = ${due}, ready_at = 'infinity' where slots is null and turn is null`;
  const own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  const read = await touched(own, () => sweep(own, world.log));
  await own.end();
  expect(await placesOf(world)).toEqual({ few: 4, large: 4 });
  expect(
    Object.entries(read.index).filter(([name, count]) => name.startsWith("parcels") && count > 60),
  ).toEqual([]);
});

test("twelve jobs of a team that hang at a limit of four leave another team's jobs their places, and those start at once", async () => {
  const deliveries: FamilyDelivery[] = [];
  await limitTeams(world, 4, 3);
  await dueOnce(world, "large", 12, { ...shared, timeout: "2m" });
  for (let n = 0; n < 44; n += 1) await dueOnce(world, `few-${n}`, 1, shared, at(minute + n * second));
  await teamOf(world, "large");
  await teamOf(world, "few");
  await world.tick();
  await world.clock.setNow(due);
  const deliver = (clock: Parameters<ReturnType<typeof takes>>[0]): Deliver => {
    const [hanging, quick] = [takes(deliveries, 100 * second)(clock), takes(deliveries, 200)(clock)];
    return (jobs, context) => (jobs[0]?.key.startsWith("large") === true ? hanging : quick)(jobs, context);
  };
  const workers = { slow: 10, window: 5, stepMs: 100, ticks: true, deliver };
  await runWorkers(world, workers, () => countOf(deliveries, "few") === 44);
  expect(worstOf(deliveries, "few")).toBeLessThanOrEqual(400);
  expect(countOf(deliveries, "large")).toBe(3);
  await runWorkers(world, workers, () => countOf(deliveries, "large") === 12);
});
