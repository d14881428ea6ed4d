import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { madeUpCursor } from "./made-up-cursor.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

/** Edge cases of a token's prefix; `reach.test.ts` covers every route. */

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

test("A key with the token's prefix in its middle is not reached", async () => {
  // Any key can contain the prefix: the team's token would reach another team's key `x:ours:…`.
  expect((await api.send("PUT", "/v1/schedules/x:ours:a", { body })).status).toBe(201);
  expect((await asOurs("GET", "/v1/schedules/x:ours:a")).status).toBe(403);
  expect((await asOurs("DELETE", "/v1/schedules/x:ours:a")).status).toBe(403);
});

test("A search for the jobs of one key outside the token's prefix is refused", async () => {
  await api.send("PUT", "/v1/schedules/theirs:a", { body });
  await api.send("POST", "/v1/schedules/theirs:a/fire");
  // The key alone finds the schedule, so its jobs would be listed under any prefix.
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

test("A token of scope write sets no hold in Carillon's name, and may release Carillon's holds", async () => {
  await api.send("PUT", "/v1/schedules/held", { body });
  const named = { key: "held", owner: "carillon" };
  const held = await api.send("POST", "/v1/schedules:batch", {
    as: "write",
    body: { operations: [{ pause: named }, { resume: named }] },
  });
  // A hold of Carillon means that the schedule kept failing. One set by a caller would send the
  // engineer on call after a failure that did not happen.
  expect(held.json).toMatchObject({ results: [{ status: 403 }, { status: 200 }] });
  const alone = { as: "write", body: { owner: "carillon" } } as const;
  expect((await api.send("POST", "/v1/schedules/held/pause", alone)).status).toBe(403);
  expect((await api.send("POST", "/v1/schedules/held/resume", alone)).status).toBe(200);
});

describe.each(["group", "tag"])("a hold of a %s for more keys than the token reaches", (scope) => {
  const path = (name: string) => `/v1/${scope}s/${name}`;
  const put = (key: string, name: string) =>
    api.send("PUT", `/v1/schedules/${key}`, {
      body: { ...body, ...(scope === "group" ? { group: name } : { tags: [name] }) },
    });

  test("A hold for more keys than the token reaches is shown on every page, without the number of its members", async () => {
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
      holds: [{ ...wider, members: 2 }],
    });
  });

  test("A hold for more keys is hidden from a token that has no schedule left under the hold", async () => {
    await put(`ours:last:${scope}`, "left");
    await put(`theirs:last:${scope}`, "left");
    await api.send("POST", `${path("left")}/pause`);
    expect((await asOurs("GET", path("left"))).json).toMatchObject({ holds: [{ members: null }] });
    await asOurs("DELETE", `/v1/schedules/ours:last:${scope}`);
    expect((await asOurs("GET", path("left"))).status).toBe(404);
    const cursor = await madeUpCursor(api, "schedules", `ours:last:${scope}`, "ours:");
    expect((await asOurs("GET", path("left"), { query: `cursor=${cursor}` })).json).toMatchObject({
      holds: [],
    });
    expect((await api.send("GET", path("left"))).json).toMatchObject({ holds: [{ members: 1 }] });
  });

  test("A token with a prefix sees its own hold beside a hold for more keys, which has no number of members", async () => {
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
});

test("A dead command without a readable key is hidden from tokens with a prefix", async () => {
  const [row] = await api.sql<{ id: string }[]>`
    insert into carillon.dead_commands (message_id, place, key, refused_at, refusal, command)
    values ('m', 0, null, carillon.clock(), '{"kind":"invalid","message":"no","faults":[]}', '{"put":{"payload":"of any team"}}') returning id`;
  const path = `/v1/commands/dead/${row?.id}`;
  // The command, with its payload, may belong to any team.
  expect((await asOurs("GET", path)).status).toBe(404);
  expect((await asOurs("DELETE", path)).status).toBe(404);
  expect((await asOurs("GET", "/v1/commands/dead")).json).toEqual({ items: [] });
  expect((await api.send("GET", path)).status).toBe(200);
});

test("A dead command is retried only by a token that reaches the key in the command itself", async () => {
  const command = { put: { key: "theirs:b", ...body } };
  const [row] = await api.sql<{ id: string }[]>`
    insert into carillon.dead_commands (message_id, place, command_id, at, key, refused_at, refusal, command)
    values ('n', 0, 'c-1', carillon.clock(), 'ours:b', carillon.clock(), '{"kind":"invalid","message":"no","faults":[]}', ${api.sql.json(command)})
    returning id`;
  const path = `/v1/commands/dead/${row?.id}/retry`;
  // The stored key decides who may see the command. If it were wrong, a retry would write to
  // another team's schedule.
  expect((await asOurs("POST", path)).status).toBe(403);
  expect((await api.send("GET", "/v1/schedules/theirs:b")).status).toBe(404);
  expect((await api.send("POST", path)).status).toBe(200);
});

test("A refused inbox command without a key is hidden from tokens with a prefix", async () => {
  await api.sql`
    insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
    values (7, carillon.clock(), carillon.clock(), 'shop', null, '{"put":{"payload":"of any team"}}', 'No.', '[]')`;
  expect((await asOurs("GET", "/v1/inbox/errors/7")).status).toBe(404);
  expect((await asOurs("GET", "/v1/inbox/errors")).json).toEqual({ items: [] });
  expect((await api.send("GET", "/v1/inbox/errors/7")).status).toBe(200);
});

test("The forecast tells a token with a prefix nothing about the jobs of all teams", async () => {
  await api.sql`
    insert into carillon.minutes (minute, succeeded, dead)
    values (date_trunc('minute', carillon.clock()) - interval '2 hours', 100, 20)`;
  const of = async (answer: Promise<{ json: unknown }>) => Object((await answer).json).capacity;
  expect(await of(api.send("GET", "/v1/forecast"))).toMatchObject({ perMinute: 120 });
  expect(await of(asOurs("GET", "/v1/forecast"))).toBeNull();
});
