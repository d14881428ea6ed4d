import { afterEach, beforeEach, expect, test } from "vitest";
import type { Claimed } from "../../lib/parcel/claim.ts";
import { done } from "../../lib/target/delivery.ts";
import { goOnMs } from "../../lib/worker/next-turn.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { due, dueOnce, ids, parcels, workerOf } from "./limit-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

/** This number of parcels of ten jobs each, due and not sent. */
async function slowParcels(count: number): Promise<string[]> {
  await dueOnce(world, "a", count * 10);
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(due);
  return ids(world, "handler/a");
}

/**
 * The message of this parcel arrives at a worker with a window of one; messages that are sent
 * meanwhile do not.
 */
async function arrives(id: string): Promise<string[]> {
  world.window = 1;
  world.delivered = [];
  world.queue.fate = () => "lost";
  world.queue.put("slow", JSON.stringify({ v: 1, parcel: id }));
  expect(await world.work()).toEqual([]);
  return world.delivered.map(({ key }) => key);
}

const insteadOf = (claimed: Claimed) =>
  claimed.outcome === "held" ? (claimed.insteadId ?? null) : "not held";
const keys = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `a-${String(from + index).padStart(3, "0")}`);

test("a worker whose parcel must wait works the parcel that has the turn, though its message is still on its way", async () => {
  const [one = "", two = "", three = "", four = ""] = await slowParcels(4);
  const { claimed, settle } = workerOf(world, 1);
  const first = await claimed(one);
  for (const id of [two, three]) expect(await arrives(id)).toEqual([]);
  expect(await settle(first)).toEqual([two]);
  // The second parcel takes so long that its worker goes on with no other.
  world.outcome = async ({ key }) => {
    if (key.endsWith("9")) await world.clock.advance(goOnMs);
    return done;
  };
  expect(await arrives(four)).toEqual(keys(10, 20));
  expect(await parcels(world)).toMatchObject([
    { id: three, turn: "granted" },
    { id: four, turn: "waits" },
  ]);
  // The message of the second parcel arrives late and finds nothing to do.
  expect(await arrives(two)).toEqual([]);
  expect(await arrives(three)).toEqual(keys(20, 30));
  expect(await arrives(four)).toEqual(keys(30, 40));
  expect(await parcels(world)).toEqual([]);
});

test("a worker is not given a parcel that is not ready, nor one that another worker has", async () => {
  const [one = "", two = "", three = "", four = ""] = await slowParcels(4);
  const { claim, claimed, settle } = workerOf(world, 1);
  const first = await claimed(one);
  expect(insteadOf(await claim(two))).toBe(null);
  expect(await settle(first)).toEqual([two]);
  await world.sql`update carillon.parcels set ready_at = ready_at + interval '1 second' where id = ${two}`;
  expect(insteadOf(await claim(three))).toBe(null);
  await world.clock.advance(second);
  await claimed(two);
  expect(insteadOf(await claim(four))).toBe(null);
});

test("a worker is not given a parcel that goes to another target", async () => {
  await dueOnce(world, "b", 20);
  const [one = "", two = ""] = await slowParcels(2);
  const [three = "", four = ""] = await ids(world, "handler/b");
  const { claim, claimed, settle } = workerOf(world, 1);
  const first = await claimed(one);
  expect(insteadOf(await claim(two))).toBe(null);
  expect(await settle(first)).toEqual([two]);
  await claimed(three);
  expect(insteadOf(await claim(four))).toBe(null);
});

test("a worker that waits for its parcel's time works a ready parcel of that target meanwhile, and starts its own on time", async () => {
  const late = at(minute + 3 * second);
  await dueOnce(world, "a", 3);
  await dueOnce(world, "b", 3, { target: { handler: "a" } }, late);
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(minute + 2 * second));
  const [ready = "", waiting = ""] = await ids(world, "handler/a");
  world.queue.put("slow", JSON.stringify({ v: 1, parcel: waiting }));
  expect(await world.work()).toEqual([]);
  expect(world.delivered.map(({ key }) => key).sort()).toEqual([...keys(0, 3), "b-000", "b-001", "b-002"]);
  const ofLate = world.delivered.filter(({ key }) => key.startsWith("b"));
  expect(ofLate.map(({ at: moment }) => moment)).toEqual(ofLate.map(() => late.toISOString()));
  expect(await parcels(world)).toEqual([]);
  expect(await arrives(ready)).toEqual([]);
});

test("if a parcel that a worker works meanwhile fails, the message of its own parcel comes again, after that parcel is done", async () => {
  await dueOnce(world, "a", 1);
  await dueOnce(world, "b", 1, { target: { handler: "a" } }, at(minute + 3 * second));
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(minute + 2 * second));
  const [, waiting = ""] = await ids(world, "handler/a");
  const body = JSON.stringify({ v: 1, parcel: waiting });
  world.queue.put("slow", body);
  world.outcome = ({ key }) => {
    if (key.startsWith("a")) throw new Error("gone");
    return done;
  };
  // The end of the other parcel is uncertain, so the message comes again. It finds its own parcel
  // settled.
  expect(await world.work()).toEqual([body]);
  expect(await world.jobs()).toMatchObject([
    { key: "a-000", state: "waiting" },
    { key: "b-000", state: "succeeded" },
  ]);
});

test("an early message is not given a parcel that is not ready, that goes to another target, or that another worker has", async () => {
  await dueOnce(world, "a", 1);
  await dueOnce(world, "b", 1, { target: { handler: "a" } }, at(minute + 3 * second));
  await dueOnce(world, "c", 1, { target: { handler: "c" } });
  await world.tick();
  const [ready = "", waiting = ""] = await ids(world, "handler/a");
  const { claim, claimed } = workerOf(world, 5);
  await world.clock.setNow(at(minute - second));
  expect(await claim(waiting)).toEqual({ outcome: "early", waitMs: 4_000, freed: [] });
  await world.clock.setNow(at(minute + second));
  expect(await claim(waiting)).toMatchObject({ outcome: "early", insteadId: ready });
  await claimed(ready);
  expect(await claim(waiting)).toEqual({ outcome: "early", waitMs: 2_000, freed: [] });
});
