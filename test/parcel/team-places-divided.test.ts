import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { due, dueOnce, ids, parcels, swept, workerOf } from "./limit-world.ts";
import { allWait, inOneShard, limitTeams, parcelsOfTeams, placesOf, shared, teamOf } from "./team-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("a waiting parcel with jobs of several teams is divided when it is claimed, and each team has its own places", async () => {
  await limitTeams(world, 10, null);
  for (const family of ["large", "few", "none"])
    await dueOnce(world, family, family === "large" ? 3 : 2, shared);
  for (const family of ["large", "few"]) await teamOf(world, family);
  await inOneShard(world);
  await world.tick();
  await world.clock.setNow(due);
  const [mixed = ""] = await ids(world);
  expect(await parcels(world)).toMatchObject([{ jobs: 7 }]);
  await allWait(world);
  await swept(world);
  await limitTeams(world, 10, 2);
  expect(await parcels(world)).toMatchObject([{ turn: "granted", slots: 2 }]);
  const claim = await workerOf(world, 5).claim(mixed);
  expect(claim).toMatchObject({ outcome: "claimed" });
  if (claim.outcome !== "claimed") return;
  for (const { id } of claim.freed) await workerOf(world, 5).claimed(id);
  expect(await placesOf(world)).toEqual({ few: 2, large: 2, none: 2 });
  expect(
    await world.sql`select count(*)::int as lost from carillon.jobs j left join carillon.parcels p on p.id = j.parcel_id and j.schedule_id = any(p.schedule_ids)
    where p.id is null`,
  ).toEqual([{ lost: 0 }]);
});

test("jobs of two teams at a target with places for each team do not share a parcel", async () => {
  await limitTeams(world, 10, 3);
  await parcelsOfTeams(world, ["large", "few"], 3);
  expect(await parcels(world)).toMatchObject([{ jobs: 3 }, { jobs: 3 }]);
});

test("keys without a team have the places of one team together", async () => {
  await limitTeams(world, 10, 4);
  for (const family of ["one", "other"])
    await dueOnce(world, family, 10, { ...shared, ...(family === "one" ? {} : { priority: "high" }) });
  await inOneShard(world);
  await world.tick();
  await world.clock.setNow(due);
  const [one = "", other = ""] = await ids(world);
  const { claim, claimed } = workerOf(world, 5);
  expect(await claimed(one)).toMatchObject({ slots: 4 });
  expect(await claim(other)).toMatchObject({ outcome: "held" });
});

test("a job that an edit has moved out of a parcel of several teams stays where it is when that parcel is divided", async () => {
  await limitTeams(world, 10, null);
  for (const family of ["large", "few"]) await dueOnce(world, family, 3, shared);
  await inOneShard(world);
  await world.tick();
  await world.clock.setNow(due);
  for (const family of ["large", "few"]) await teamOf(world, family);
  const [mixed = ""] = await ids(world);
  const [other] = await world.sql<{ id: string }[]>`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
    select 0, 'slow', 'infinity', 'infinity', array[j.occurrence], array[s.id]
    from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where s.key = 'few-002' returning id`;
  await world.sql`
    update carillon.jobs set parcel_id = ${other?.id ?? null} where schedule_id = (select id from carillon.schedules where key = 'few-002')`;
  await limitTeams(world, 10, 2);
  expect((await workerOf(world, 5).claimed(mixed)).jobs.map(({ key }) => key)).toEqual([
    "large-000",
    "large-001",
    "large-002",
  ]);
  expect((await world.jobs("few-002"))[0]?.parcelId).toBe(other?.id);
});
