import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeCursor } from "../../lib/api/request/cursor.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

/** The edges of what a token with a prefix reaches; `reach.test.ts` goes through every route. */

let api: OwnApi;
let secret: string;

const body = { when: "every 1d", target: { queue: "demo" } };

beforeAll(async () => {
  api = await ownApi();
  const made = await api.send("POST", "/v1/tokens", {
    body: { name: "ours:admin", scope: "admin", prefix: "ours:" },
  });
  secret = (made.json as { token: string }).token;
});

afterAll(() => api.stop());

const asOurs = (method: string, path: string, parts: SendParts = {}) =>
  api.send(method, path, { ...parts, headers: { authorization: `Bearer ${secret}` } });

test("a key that holds the token's prefix further on is not reached", async () => {
  // Any key can be made to hold it: a team's token would open the schedules that another team calls `x:ours:…`.
  expect((await api.send("PUT", "/v1/schedules/x:ours:a", { body })).status).toBe(201);
  expect((await asOurs("GET", "/v1/schedules/x:ours:a")).status).toBe(403);
  expect((await asOurs("DELETE", "/v1/schedules/x:ours:a")).status).toBe(403);
});

test("a search for the jobs of one key is refused where the token's prefix does not reach it", async () => {
  await api.send("PUT", "/v1/schedules/theirs:a", { body });
  await api.send("POST", "/v1/schedules/theirs:a/fire");
  // The key alone finds the schedule: its jobs would be listed whatever the prefix is.
  for (const query of [
    "key=theirs:a",
    "key=theirs:a&state=waiting",
    "key=theirs:a&state=dead",
    "key=theirs:none",
  ])
    expect((await asOurs("GET", "/v1/jobs", { query })).status, query).toBe(403);
  expect((await api.send("GET", "/v1/jobs", { query: "key=theirs:a" })).json).toMatchObject({
    items: [{ key: "theirs:a" }],
  });
});

test("a token that only writes holds nothing in Carillon's name, and releases what Carillon holds", async () => {
  await api.send("PUT", "/v1/schedules/held", { body });
  const named = { key: "held", owner: "carillon" };
  const held = await api.send("POST", "/v1/schedules:batch", {
    as: "write",
    body: { operations: [{ pause: named }, { resume: named }] },
  });
  // A hold of Carillon says that the schedule kept failing. Set by a caller, it would send the engineer on call after a failure that never was.
  expect(held.json).toMatchObject({ results: [{ status: 403 }, { status: 200 }] });
  const alone = { as: "write", body: { owner: "carillon" } } as const;
  expect((await api.send("POST", "/v1/schedules/held/pause", alone)).status).toBe(403);
  expect((await api.send("POST", "/v1/schedules/held/resume", alone)).status).toBe(200);
});

describe.each(["group", "tag"])(
  "a hold of a %s that was set for more keys than the token reaches",
  (scope) => {
    const path = (name: string) => `/v1/${scope}s/${name}`;
    const put = (key: string, name: string) =>
      api.send("PUT", `/v1/schedules/${key}`, {
        body: { ...body, ...(scope === "group" ? { group: name } : { tags: [name] }) },
      });

    test("is shown where it binds a schedule of the token's, and does not say how many others it binds", async () => {
      for (const key of ["ours:1", "ours:2", "theirs:1"]) await put(`${key}:${scope}`, "shared");
      await api.send("POST", `${path("shared")}/pause`, { body: { reason: "stocktaking" } });
      const wider = { owner: "adminer", prefix: null, reason: "stocktaking", members: null };
      const { json } = await asOurs("GET", path("shared"), { query: "limit=1" });
      expect(json).toMatchObject({ holds: [wider], schedules: [{ key: `ours:1:${scope}` }] });
      const { cursor } = json as { cursor: string };
      const second = await asOurs("GET", path("shared"), { query: `limit=1&cursor=${cursor}` });
      expect(second.json).toMatchObject({ holds: [wider], schedules: [{ key: `ours:2:${scope}` }] });
      await asOurs("DELETE", `/v1/schedules/ours:2:${scope}`);
      const emptyPage = await asOurs("GET", path("shared"), { query: `cursor=${cursor}` });
      expect(emptyPage.json).toMatchObject({ holds: [wider], schedules: [] });
      expect((await api.send("GET", path("shared"))).json).toMatchObject({
        holds: [{ ...wider, members: 3 }],
      });
    });

    test("is not there for a token of which no schedule is left under it", async () => {
      await put(`ours:last:${scope}`, "left");
      await put(`theirs:last:${scope}`, "left");
      await api.send("POST", `${path("left")}/pause`);
      expect((await asOurs("GET", path("left"))).json).toMatchObject({ holds: [{ members: null }] });
      await asOurs("DELETE", `/v1/schedules/ours:last:${scope}`);
      expect((await asOurs("GET", path("left"))).status).toBe(404);
      const cursor = writeCursor("schedules", `ours:last:${scope}`);
      expect((await asOurs("GET", path("left"), { query: `cursor=${cursor}` })).json).toMatchObject({
        holds: [],
      });
      expect((await api.send("GET", path("left"))).json).toMatchObject({ holds: [{ members: 2 }] });
    });

    test("stands beside the token's own, which says how many it binds", async () => {
      for (const key of ["ours:3", "theirs:3"]) await put(`${key}:${scope}`, "both");
      await api.send("POST", `${path("both")}/pause`);
      await asOurs("POST", `${path("both")}/pause`);
      expect((await asOurs("GET", path("both"))).json).toMatchObject({
        holds: [
          { owner: "adminer", prefix: null, members: null },
          { owner: "ours:admin", prefix: "ours:", members: 1 },
        ],
      });
      await asOurs("DELETE", `/v1/schedules/ours:3:${scope}`);
      expect((await asOurs("GET", path("both"))).json).toMatchObject({ holds: [{ owner: "ours:admin" }] });
    });
  },
);

test("a dead command whose key was not understood is shown to no token with a prefix", async () => {
  const [row] = await api.sql<{ id: string }[]>`
    insert into carillon.dead_commands (message_id, place, key, refused_at, refusal, command)
    values ('m', 0, null, carillon.clock(), '{"kind":"invalid","message":"no","faults":[]}', '{"put":{"payload":"of any team"}}') returning id`;
  const path = `/v1/commands/dead/${row?.id}`;
  // It may be any team's, with its payload.
  expect((await asOurs("GET", path)).status).toBe(404);
  expect((await asOurs("DELETE", path)).status).toBe(404);
  expect((await asOurs("GET", "/v1/commands/dead")).json).toEqual({ items: [] });
  expect((await api.send("GET", path)).status).toBe(200);
});

test("a dead command is retried only by a token that reaches the key that the command itself names", async () => {
  const command = { put: { key: "theirs:b", ...body } };
  const [row] = await api.sql<{ id: string }[]>`
    insert into carillon.dead_commands (message_id, place, command_id, at, key, refused_at, refusal, command)
    values ('n', 0, 'c-1', carillon.clock(), 'ours:b', carillon.clock(), '{"kind":"invalid","message":"no","faults":[]}', ${api.sql.json(command)})
    returning id`;
  const path = `/v1/commands/dead/${row?.id}/retry`;
  // The key beside it says who may see it. Were that wrong, a retry would write to another team's schedule.
  expect((await asOurs("POST", path)).status).toBe(403);
  expect((await api.send("GET", "/v1/schedules/theirs:b")).status).toBe(404);
  expect((await api.send("POST", path)).status).toBe(200);
});

test("a refusal of the inbox without a key is shown to no token with a prefix", async () => {
  await api.sql`
    insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
    values (7, carillon.clock(), carillon.clock(), 'shop', null, '{"put":{"payload":"of any team"}}', 'No.', '[]')`;
  expect((await asOurs("GET", "/v1/inbox/errors/7")).status).toBe(404);
  expect((await asOurs("GET", "/v1/inbox/errors")).json).toEqual({ items: [] });
  expect((await api.send("GET", "/v1/inbox/errors/7")).status).toBe(200);
});
