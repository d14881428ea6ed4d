import { afterEach, beforeEach, expect, test } from "vitest";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.sql`select carillon.note_grouped(array['handler/digest'], array[true])`;
});

afterEach(() => world.stop());

const keepTeam = (prefix: string) => world.sql`select carillon.keep_team(${prefix})`;

/** Makes a job of the group for each key, due after a time, in a parcel of its schedule's shard. */
async function dueJobs(keys: readonly string[], afterMs: number, body: object = {}): Promise<void> {
  const when = `at ${new Date(world.clock.now().getTime() + afterMs).toISOString()}`;
  for (const key of keys)
    await world.put(key, { when, target: { handler: "digest" }, group: "person:1", ...body });
  await world.tick();
  world.queue.messages = [];
  await world.clock.advance(afterMs);
}

const parcelOf = async (key: string) =>
  (await world.jobs(key)).find(({ state }) => state === "waiting")?.parcelId ?? "0";

const claim = async (key: string) => claimParcel(world.sql, await parcelOf(key), 10 * minute);

async function claimed(key: string): Promise<ClaimedParcel> {
  const parcel = await claim(key);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel of ${key} is ${parcel.outcome}.`);
  return parcel;
}

const keysOf = ({ jobs }: ClaimedParcel) => jobs.map(({ key }) => key).sort();

const settle = (parcel: ClaimedParcel) =>
  settleParcel(
    world.sql,
    parcel,
    parcel.jobs.map(() => ({ kind: "succeeded" })),
  );

const lanes = async () =>
  Object.fromEntries(
    (await world.sql<{ key: string; lane: string | null }[]>`select key, lane from carillon.schedules`).map(
      ({ key, lane }) => [key, lane],
    ),
  );

const teamId = async (prefix: string) =>
  (await world.sql<{ id: number }[]>`select id from carillon.teams where prefix = ${prefix}`)[0]?.id;

test("A grouped handler's claim has the jobs of one team, or of no team, and the teams of a group run side by side", async () => {
  for (const prefix of ["shop:", "bank:"]) await keepTeam(prefix);
  await dueJobs(["shop:a", "bank:a", "a", "shop:b", "bank:b", "b"], minute);
  const parcels = [await claimed("shop:a"), await claimed("bank:a"), await claimed("a")];
  expect(parcels.map(keysOf)).toEqual([
    ["shop:a", "shop:b"],
    ["bank:a", "bank:b"],
    ["a", "b"],
  ]);
  const [shop, bank] = [await teamId("shop:"), await teamId("bank:")];
  expect(parcels.map(({ jobs }) => jobs.map(({ team }) => team))).toEqual([
    [shop, shop],
    [bank, bank],
    [null, null],
  ]);
  // A later job of a team waits for the call of its own team.
  await dueJobs(["shop:c"], second);
  expect(await claim("shop:c")).toMatchObject({ outcome: "empty" });
  expect((await settle(parcels[1] as ClaimedParcel)).outgoing).toEqual([]);
  expect((await settle(parcels[0] as ClaimedParcel)).outgoing).toHaveLength(1);
  expect(keysOf(await claimed("shop:c"))).toEqual(["shop:c"]);
});

test("Serial jobs of a group exclude each other also across teams", async () => {
  for (const prefix of ["shop:", "bank:"]) await keepTeam(prefix);
  await dueJobs(["shop:a", "bank:a"], minute, { target: { queue: "demo" }, serial: true });
  const first = await claimed("shop:a");
  expect(await claim("bank:a")).toMatchObject({ outcome: "empty" });
  expect((await settle(first)).outgoing).toHaveLength(1);
  expect(keysOf(await claimed("bank:a"))).toEqual(["bank:a"]);
});

test("Schedules that are older than their team go on in the lane of no team until ticks have moved them, and each job is in one lane", async () => {
  const old = "grouped/digest/person:1";
  await dueJobs(["shop:a", "shop:b", "bank:a"], second);
  const running = await claimed("shop:a");
  expect(keysOf(running)).toEqual(["bank:a", "shop:a", "shop:b"]);
  await keepTeam("shop:");
  await dueJobs(["shop:c"], second);
  expect(await lanes()).toMatchObject({ "shop:a": old, "bank:a": old });
  const own = `grouped/digest@${await teamId("shop:")}/person:1`;
  expect((await lanes())["shop:c"]).toBe(own);
  // Neither lane waits for the other.
  const next = await claimed("shop:c");
  expect(keysOf(next)).toEqual(["shop:c"]);
  await world.clock.advance(61 * second);
  await world.tick();
  await world.tick();
  expect(await lanes()).toEqual({ "shop:a": own, "shop:b": own, "shop:c": own, "bank:a": old });
  // The jobs that were running when they moved keep the others of their team waiting.
  await dueJobs(["shop:d"], second);
  expect(await claim("shop:d")).toMatchObject({ outcome: "empty" });
  expect((await settle(next)).outgoing).toEqual([]);
  expect((await settle(running)).outgoing).toHaveLength(1);
  expect(keysOf(await claimed("shop:d"))).toEqual(["shop:d"]);
  expect(await world.sql`select from carillon.parcels where lane is not null`).toEqual([]);
});

test("Jobs that waited in the lane of no team when their schedules moved run in the lane of their team", async () => {
  await dueJobs(["shop:a", "bank:a"], second);
  const running = await claimed("shop:a");
  await dueJobs(["shop:b", "shop:c", "bank:b"], second);
  for (const key of ["shop:b", "shop:c", "bank:b"])
    expect(await claim(key)).toMatchObject({ outcome: "empty" });
  await keepTeam("shop:");
  await world.clock.advance(61 * second);
  await world.tick();
  await world.tick();
  expect(await claim("shop:b")).toMatchObject({ outcome: "empty" });
  expect((await settle(running)).outgoing).toHaveLength(2);
  expect(keysOf(await claimed("shop:b"))).toEqual(["shop:b", "shop:c"]);
  expect(keysOf(await claimed("bank:b"))).toEqual(["bank:b"]);
});

test("A job of a team whose schedule is still in the lane of no team comes with its team, so that its call can be apart", async () => {
  await keepTeam("shop:");
  await dueJobs(["shop:a", "a"], minute);
  const old = "grouped/digest/person:1";
  // As functions of an earlier release write a schedule.
  await world.sql`update carillon.schedules set lane = ${old}`;
  await world.sql`update carillon.lane_entries set lane = ${old}`;
  const parcel = await claimed("a");
  expect(parcel.jobs.map(({ key, team }) => [key, team]).sort()).toEqual([
    ["a", null],
    ["shop:a", await teamId("shop:")],
  ]);
  await dueJobs(["b", "shop:b"], second);
  await world.sql`update carillon.schedules set lane = ${old}`;
  await world.sql`update carillon.lane_entries set lane = ${old}`;
  for (const key of ["b", "shop:b"]) expect(await claim(key)).toMatchObject({ outcome: "empty" });
  // An edit moves the schedule, and the job that waits with it.
  await world.put("shop:b", {
    when: `at ${new Date(world.clock.now().getTime() + minute).toISOString()}`,
    target: { handler: "digest" },
    group: "person:1",
    description: "edited",
  });
  expect((await lanes())["shop:b"]).toBe(`grouped/digest@${await teamId("shop:")}/person:1`);
  expect(keysOf(await claimed("shop:b"))).toEqual(["shop:b"]);
  expect((await settle(parcel)).outgoing).toHaveLength(1);
  expect(keysOf(await claimed("b"))).toEqual(["b"]);
});
