import { afterAll, beforeAll, expect, test } from "vitest";
import { issueToken, withToken } from "../api/issued-token.ts";
import { type QuotaWorld, quotaWorld } from "./quota-world.ts";

let world: QuotaWorld;
beforeAll(async () => {
  world = await quotaWorld("tokens=3", "acme:=holds=2", "calendars=2", "sql:=inboxRows=150");
});
afterAll(() => world.api.stop());

const messageOf = (json: unknown) => (Object(json) as { errors: { message: string }[] }).errors[0]?.message;

test("The tokens of a prefix have a limit, by whatever token of the prefix they are made, and also at once", async () => {
  const { api } = world;
  const first = await issueToken(api, { name: "first of acme", prefix: "acme:" });
  const second = await issueToken(api, { name: "second", prefix: "acme:eu:" }, first);
  const made = await Promise.all(
    ["a", "b", "c"].map((name) =>
      api.send("POST", "/v1/tokens", {
        ...withToken(name === "a" ? second : first),
        body: { name, scope: "read" },
      }),
    ),
  );
  expect(made.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
  const refused = made.find(({ status }) => status === 422);
  expect(refused?.json).toMatchObject({ type: "urn:carillon:problem:quota" });
  expect(messageOf(refused?.json)).toBe("tokens: has 3, would have 4, may have 3");
  await issueToken(api, { name: "of all keys" });
});

test("The holds of groups and tags that a prefix has set have a limit, and a released one leaves its room", async () => {
  const { api } = world;
  const by = await issueToken(api, { name: "holder", prefix: "held:" });
  await world.define("held:=holds=2");
  const hold = (group: string, verb = "pause") =>
    api.send("POST", `/v1/groups/${group}/${verb}`, { ...withToken(by), body: {} });
  expect((await hold("one")).status).toBe(200);
  expect((await hold("two")).status).toBe(200);
  expect((await hold("two")).status).toBe(200);
  const refused = await hold("three");
  expect(refused.status).toBe(422);
  expect(messageOf(refused.json)).toBe("holds: has 2, would have 3, may have 2");
  expect((await hold("one", "resume")).status).toBe(200);
  expect((await hold("three")).status).toBe(200);
  expect((await api.send("POST", "/v1/groups/four/pause", { body: {} })).status).toBe(200);
});

test("Calendars have a limit in the whole deployment", async () => {
  await world.define("calendars=2");
  const put = (name: string) => world.api.send("PUT", `/v1/calendars/${name}`, { body: { weekly: ["sat"] } });
  expect((await put("a")).status).toBe(201);
  expect((await put("b")).status).toBe(201);
  const refused = await put("c");
  expect([refused.status, messageOf(refused.json)]).toEqual([
    422,
    "calendars: has 2, would have 3, may have 2",
  ]);
  expect((await put("b")).status).toBe(200);
});
