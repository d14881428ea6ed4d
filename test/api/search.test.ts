import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { at, minute } from "../support/instants.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

const pageShape = z.object({
  items: z.array(z.object({ key: z.string(), nextAt: z.string().nullable().optional() })),
  cursor: z.string().optional(),
});

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  const days = JSON.stringify({ dates: ["12-25"] });
  expect((await api.send("PUT", "/v1/calendars/days", { body: days, as: "admin" })).status).toBe(201);
  const schedules: Record<string, object> = {
    "a:1": { when: "in 2h", target: { queue: "orders" }, tags: ["x"], calendar: { name: "days" } },
    "a:2": { when: "in 1h", target: { queue: "mail" }, tags: ["x"], group: "g" },
    "b:1": {
      when: "in 3h",
      target: { queue: "orders" },
      group: "g",
      paused: true,
      calendar: { name: "days" },
    },
    "b:2": { when: "in 30m", target: { event: {} }, tags: ["x", "y"] },
  };
  for (const [key, body] of Object.entries(schedules)) {
    const as = key === "b:2" ? "write" : "admin";
    expect((await api.send("PUT", `/v1/schedules/${key}`, { body: JSON.stringify(body), as })).status).toBe(
      201,
    );
  }
  await api.sql`
    insert into carillon.tokens (id, hash, name, scope, prefix, created_at, created_by)
    values (gen_random_uuid(), ${createHash("sha256").update("team-token").digest()}, 'team', 'read', 'a:', carillon.clock(), 'test')`;
});

afterAll(() => api.stop());

const get = (path: string, query: string) => api.send("GET", path, { query });
const asTeam = (path: string, query: string) =>
  api.send("GET", path, { query, as: "", headers: { authorization: "Bearer team-token" } });
const keysOf = (answer: { json: unknown }) => pageShape.parse(answer.json).items.map(({ key }) => key);
const iso = (minutes: number) => encodeURIComponent(at(minutes * minute).toISOString());

describe("GET /v1/schedules", () => {
  test.each([
    ["target=queue", ["a:1", "a:2", "b:1"]],
    ["target=queue%2Forders", ["a:1", "b:1"]],
    ["target=queue%2Fnone", []],
    ["createdBy=nobody", []],
    ["createdBy=writeer", ["b:2"]],
    ["createdBy=adminer&tag=x", ["a:1", "a:2"]],
    ["calendar=days", ["a:1", "b:1"]],
    ["calendar=days&group=g", ["b:1"]],
    ["calendar=none", []],
    ["state=paused", ["b:1"]],
    ["failing=true", []],
    ["prefix=b&tag=y", ["b:2"]],
  ])("A search finds schedules by %s", async (query, keys) => {
    expect(keysOf(await get("/v1/schedules", query))).toEqual(keys);
    expect((await get("/v1/schedules:count", query)).json).toEqual({ count: keys.length, more: false });
  });

  test("A search by next occurrence is ordered by time, page by page", async () => {
    expect(keysOf(await get("/v1/schedules", `nextTo=${iso(90)}`))).toEqual(["b:2", "a:2"]);
    const query = `nextFrom=${iso(45)}`;
    const first = await get("/v1/schedules", `${query}&limit=1`);
    const { cursor = "" } = pageShape.parse(first.json);
    expect(keysOf(first)).toEqual(["a:2"]);
    expect(keysOf(await get("/v1/schedules", `${query}&limit=1&cursor=${cursor}`))).toEqual(["a:1"]);
  });

  test("A search refuses a cursor of another filter or list", async () => {
    const { cursor = "" } = pageShape.parse((await get("/v1/schedules", "tag=x&limit=1")).json);
    expect(keysOf(await get("/v1/schedules", `tag=x&limit=2&cursor=${cursor}`))).toEqual(["a:2", "b:2"]);
    for (const query of ["", "tag=y", "tag=x&prefix=a", "tag=x&failing=true", `tag=x&nextTo=${iso(90)}`])
      expect((await get("/v1/schedules", `${query}&cursor=${cursor}`.replace(/^&/, ""))).status, query).toBe(
        400,
      );
    expect((await get("/v1/jobs", `cursor=${cursor}`)).status).toBe(400);
  });

  test.each([
    "failing=false",
    "failing=",
    "nextFrom=tomorrow",
    "target=rocket",
    "target=queue%2F",
    "createdBy=",
    "q=a",
  ])("A search refuses %s", async (query) => {
    expect((await get("/v1/schedules", query)).status).toBe(400);
    expect((await get("/v1/schedules:count", query)).status).toBe(400);
  });

  test("A search refuses a period that ends before it begins, and a count refuses paging", async () => {
    expect((await get("/v1/schedules", `nextFrom=${iso(10)}&nextTo=${iso(5)}`)).json).toMatchObject({
      errors: [{ path: "nextTo", message: "must lie after `nextFrom`" }],
    });
    expect((await get("/v1/schedules:count", "limit=5")).status).toBe(400);
  });
});

describe("a token with a prefix", () => {
  test.each([
    "",
    "tag=x",
    "target=queue",
    "group=g",
    "createdBy=adminer",
    "calendar=days",
    `nextFrom=${iso(0)}`,
    "state=active",
  ])("A token with a prefix finds and counts its own keys only: %s", async (query) => {
    const own = keysOf(await get("/v1/schedules", query)).filter((key) => key.startsWith("a:"));
    expect(keysOf(await asTeam("/v1/schedules", query))).toEqual(own);
    expect((await asTeam("/v1/schedules:count", query)).json).toEqual({ count: own.length, more: false });
  });

  test("A token with a prefix finds no schedule under another prefix", async () => {
    expect((await asTeam("/v1/schedules", "prefix=b")).json).toEqual({ items: [] });
    expect((await asTeam("/v1/schedules:count", "prefix=b")).json).toEqual({ count: 0, more: false });
    expect((await asTeam("/v1/jobs", "prefix=b")).json).toEqual({ items: [] });
    expect((await asTeam("/v1/jobs:count", "prefix=b")).json).toEqual({ count: 0, more: false });
  });

  test("A token with a prefix finds its own jobs only", async () => {
    for (const key of ["a:1", "b:2"])
      expect((await api.send("POST", `/v1/schedules/${key}/fire`)).status).toBe(202);
    expect(keysOf(await get("/v1/jobs", "state=waiting"))).toEqual(expect.arrayContaining(["a:1", "b:2"]));
    for (const query of ["", "state=waiting", "tag=x", "target=queue%2Forders", "state=dead"])
      for (const key of keysOf(await asTeam("/v1/jobs", query))) expect(key).toMatch(/^a:/);
    expect(keysOf(await asTeam("/v1/jobs", "state=waiting"))).toEqual(["a:1"]);
    expect((await asTeam("/v1/jobs", "key=b%3A2")).status).toBe(403);
    expect((await get("/v1/jobs:count", "state=waiting")).json).toEqual({ count: 2, more: false });
    expect((await asTeam("/v1/jobs:count", "state=waiting")).json).toEqual({ count: 1, more: false });
    expect((await get("/v1/jobs:count", "key=b%3A2&state=waiting")).json).toEqual({ count: 1, more: false });
    expect((await asTeam("/v1/jobs:count", "key=b%3A2")).status).toBe(403);
    expect((await get("/v1/jobs:count", "limit=5")).status).toBe(400);
  });
});
