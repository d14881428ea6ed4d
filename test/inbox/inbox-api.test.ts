import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { type OwnApi, ownApi } from "../api/own-api.ts";

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi();
  const hash = createHash("sha256").update("team-token").digest();
  await api.sql`
    insert into carillon.tokens (id, hash, name, scope, prefix, created_at, created_by)
    values (gen_random_uuid(), ${hash}, 'team', 'admin', 'team:', carillon.clock(), 'test')`;
});
afterAll(() => api.stop());
beforeEach(async () => {
  await api.sql`delete from carillon.inbox`;
  await api.sql`delete from carillon.inbox_refusals`;
});

const asTeam = { as: "", headers: { authorization: "Bearer team-token" } } as const;
const put = (key: string, when = "every 1h") =>
  api.sql`select carillon.put_schedule(jsonb_build_object('key', ${key}::text, 'when', ${when}::text, 'target', '{"queue": "demo"}'::jsonb))`;
const page = z.object({
  items: z.array(z.object({ id: z.string(), key: z.string().nullable(), problem: z.string() })),
  cursor: z.string().optional(),
});

async function keysOf(query: string, parts: object = {}): Promise<(string | null)[]> {
  const keys: (string | null)[] = [];
  for (let cursor = ""; ; ) {
    const { json } = await api.send("GET", "/v1/inbox/errors", {
      ...parts,
      query: `${query}${cursor === "" ? "" : `&cursor=${cursor}`}`,
    });
    const { items, cursor: next } = page.parse(json);
    keys.push(...items.map(({ key }) => key));
    if (next === undefined) return keys;
    cursor = next;
  }
}

describe("POST /v1/inbox:apply", () => {
  test("POST /v1/inbox:apply applies committed commands and returns their number", async () => {
    await put("one");
    await put("two", "every blue moon");
    const answer = await api.send("POST", "/v1/inbox:apply", { as: "write" });
    expect([answer.status, answer.json]).toEqual([200, { applied: 1, refused: 1, failed: 0, more: false }]);
    expect((await api.send("GET", "/v1/schedules/one")).json).toMatchObject({ version: 1 });
    expect((await api.send("POST", "/v1/inbox:apply")).json).toEqual({
      applied: 0,
      refused: 0,
      failed: 0,
      more: false,
    });
  });

  test("POST /v1/inbox:apply needs a token that may write, and reaches every key", async () => {
    expect((await api.send("POST", "/v1/inbox:apply", { as: "read" })).status).toBe(403);
    expect((await api.send("POST", "/v1/inbox:apply", asTeam)).status).toBe(403);
  });
});

describe("the tick's function", () => {
  test("the tick applies the inbox too, with the handlers and targets of the deployment", async () => {
    await put("by-tick");
    await api.sql`select carillon.put_schedule('{"key": "by-tick-2", "when": "in 1h", "target": {"handler": "no-such-handler"}}')`;
    await api.tick();
    expect((await api.send("GET", "/v1/schedules/by-tick")).status).toBe(200);
    expect(await keysOf("limit=1")).toEqual(["by-tick-2"]);
  });
});

describe("GET /v1/inbox/errors", () => {
  beforeEach(async () => {
    for (const key of ["team:1", "other:1", "team:2", "other:2", "team:3"]) await put(key, "nonsense");
    await api.send("POST", "/v1/inbox:apply");
  });

  test("refused commands are listed with their faults, newest first", async () => {
    const { status, json } = await api.send("GET", "/v1/inbox/errors", { query: "limit=1" });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      items: [
        {
          key: "team:3",
          caller: "postgres",
          command: { put: { key: "team:3", when: "nonsense", target: { queue: "demo" } } },
          errors: [{ path: "put.when" }],
        },
      ],
      cursor: expect.any(String),
    });
    expect(await keysOf("limit=2")).toEqual(["team:3", "other:2", "team:2", "other:1", "team:1"]);
  });

  test("a list of refused commands leaves out payloads and long commands, and a single one is shown with them", async () => {
    const payload = "x".repeat(240_000);
    const many = JSON.stringify({ key: "large", when: "nonsense", target: { queue: "demo" }, payload });
    await api.sql`select carillon.put_schedule(${many}::text::jsonb) from generate_series(1, 60)`;
    const tags = Array.from({ length: 20_000 }, (_, n) => `tag-${n}`);
    const long = JSON.stringify({ key: "long", when: "every 1h", target: { queue: "demo" }, tags });
    await api.sql`select carillon.put_schedule(${long}::text::jsonb)`;
    await api.send("POST", "/v1/inbox:apply");
    const { status, json, body } = await api.send("GET", "/v1/inbox/errors", { query: "limit=100" });
    expect([status, body.length < 100_000]).toEqual([200, true]);
    const { items } = z
      .object({ items: z.array(z.looseObject({ id: z.string(), key: z.string() })) })
      .parse(json);
    const [first, second] = ["long", "large"].map((key) => items.find((each) => each.key === key));
    expect(first).toMatchObject({ key: "long", command: null });
    expect(second).toMatchObject({
      command: { put: { key: "large", when: "nonsense", target: { queue: "demo" } } },
    });
    expect(body).not.toContain("xxxx");
    const alone = async (id = "") => (await api.send("GET", `/v1/inbox/errors/${id}`)).json;
    expect(await alone(first?.id)).toMatchObject({ key: "long", command: { put: { tags } } });
    expect(await alone(second?.id)).toMatchObject({ key: "large", command: { put: { payload } } });
    expect((await api.send("GET", "/v1/inbox/errors/0")).status).toBe(404);
    expect((await api.send("GET", `/v1/inbox/errors/${first?.id}`, asTeam)).status).toBe(404);
  });

  test("A refused command is forgotten by an admin who reaches its key, and once only", async () => {
    const { json } = await api.send("GET", "/v1/inbox/errors", { query: "prefix=other:&limit=1" });
    const { items } = z.object({ items: z.array(z.object({ id: z.string() })) }).parse(json);
    const path = `/v1/inbox/errors/${items[0]?.id}`;
    expect((await api.send("DELETE", path, { as: "write" })).status).toBe(403);
    expect((await api.send("DELETE", path, asTeam)).status).toBe(404);
    expect((await api.send("DELETE", path)).status).toBe(204);
    expect((await api.send("GET", path)).status).toBe(404);
    expect((await api.send("DELETE", path)).status).toBe(404);
    expect((await api.send("DELETE", "/v1/inbox/errors/0")).status).toBe(404);
  });

  test("a list of refused commands is limited to the prefix of the query and of the token", async () => {
    expect(await keysOf("limit=1&prefix=team:")).toEqual(["team:3", "team:2", "team:1"]);
    expect(await keysOf("limit=2", asTeam)).toEqual(["team:3", "team:2", "team:1"]);
    expect(await keysOf("limit=2&prefix=team:2", asTeam)).toEqual(["team:2"]);
    expect(await keysOf("limit=2&prefix=other:", asTeam)).toEqual([]);
  });

  test("a list of refused commands takes its own cursors and valid prefixes only, and only from admins", async () => {
    expect((await api.send("GET", "/v1/inbox/errors", { as: "write" })).status).toBe(403);
    for (const query of ["cursor=abc", "prefix=a/b", "limit=0", "colour=blue"])
      expect((await api.send("GET", "/v1/inbox/errors", { query })).status, query).toBe(400);
  });
});
