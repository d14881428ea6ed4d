import { afterAll, beforeAll, expect, test } from "vitest";
import { type Issued, issueToken, withToken } from "../api/issued-token.ts";
import { putOf, type QuotaWorld, quotaWorld } from "./quota-world.ts";

let world: QuotaWorld;
let shop: Issued;
let bank: Issued;
beforeAll(async () => {
  world = await quotaWorld();
  shop = await world.team("shop:");
  bank = await world.team("bank:");
  for (const [key, by] of [
    ["shop:first", shop],
    ["bank:first", bank],
  ] as const)
    expect((await world.put(key, {}, by)).status).toBe(201);
});
afterAll(() => world.api.stop());

const group = "bank:settlement";
const refused = { status: 403, json: { errors: [{ path: "group" }] } };

test("No way of an edit brings a team's schedule or job into the group of another team", async () => {
  expect(await world.put("shop:a", { group, serial: true }, shop)).toMatchObject(refused);
  expect(await world.put("shop:first", { group }, shop)).toMatchObject(refused);
  const send = (method: string, path: string, body: object) =>
    world.api.send(method, path, { ...withToken(shop), body });
  expect(await send("PATCH", "/v1/schedules/shop:first", { group })).toMatchObject(refused);
  const job = { key: "shop:j", target: { queue: "demo" }, group, serial: true };
  expect(await send("POST", "/v1/jobs", job)).toMatchObject(refused);
  const patched = await send("POST", "/v1/schedules:patch", {
    filter: { prefix: "shop:" },
    patch: { group },
  });
  expect(patched).toMatchObject({ json: { done: 0, failed: 1 } });
  const batch = await world.batch([putOf("shop:b", { group }), { job }, putOf("shop:c")], shop);
  expect(batch.json).toMatchObject({ results: [{ status: 403 }, { status: 403 }, { status: 201 }] });
});

test("The team itself, a caller of all keys, and a token of a longer or shorter prefix use the group", async () => {
  expect((await world.put("bank:a", { group, serial: true }, bank)).status).toBe(201);
  expect((await world.put("shop:by-admin", { group })).status).toBe(201);
  // An edit that leaves the group as it is is not refused.
  expect((await world.put("shop:by-admin", { group, description: "kept" }, shop)).status).toBe(200);
  const inner = await world.team("bank:eu:");
  expect((await world.put("bank:eu:a", { group }, inner)).status).toBe(201);
  expect((await world.put("bank:b", { group: "bank:eu:x" }, bank)).status).toBe(201);
});

test("A group with a name of no team takes the schedules of every team", async () => {
  for (const [key, by] of [
    ["shop:order", shop],
    ["bank:order", bank],
  ] as const)
    expect((await world.put(key, { group: "order:1" }, by)).status).toBe(201);
});

test("A group of a team takes no schedule of others before the team's first edit: its first token that writes makes the team", async () => {
  const late = await world.team("late:");
  const squat = { group: "late:exports", serial: true };
  expect(await world.put("shop:squat", squat, shop)).toMatchObject(refused);
  expect((await world.put("late:a", squat, late)).status).toBe(201);
});

test("A token that only reads makes no team, and neither does a token that was refused", async () => {
  await issueToken(world.api, { name: "reads", prefix: "seen:", scope: "read" });
  const taken = { name: "reads", prefix: "seen:", scope: "write" };
  expect((await world.api.send("POST", "/v1/tokens", { body: taken })).status).toBe(409);
  const past = { name: "past", prefix: "past:", scope: "write", expiresAt: "2020-01-01T00:00:00Z" };
  expect((await world.api.send("POST", "/v1/tokens", { body: past })).status).toBe(400);
  expect(await world.api.sql`select prefix from carillon.teams where prefix in ('seen:', 'past:')`).toEqual(
    [],
  );
});

test("A schedule that was in a group before the team had its first token stays there until its group changes", async () => {
  expect((await world.put("shop:early", { group: "next:x" }, shop)).status).toBe(201);
  await world.team("next:");
  expect((await world.put("shop:early", { group: "next:x", description: "kept" }, shop)).status).toBe(200);
  expect((await world.put("shop:early", {}, shop)).status).toBe(200);
  expect(await world.put("shop:early", { group: "next:x" }, shop)).toMatchObject(refused);
});
