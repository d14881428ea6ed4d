import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { type OwnApi, ownApi } from "../api/own-api.ts";
import { sendCommands } from "./send-commands.ts";

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi();
});
afterAll(() => api.stop());
beforeEach(() => api.sql`delete from carillon.dead_commands`);

const send = (commands: unknown) => sendCommands(api, commands);

const page = z.object({
  items: z.array(z.looseObject({ id: z.string(), key: z.string() })),
  cursor: z.string().optional(),
});

async function list(query = "") {
  const { status, json } = await api.send("GET", "/v1/commands/dead", { query });
  expect(status).toBe(200);
  return page.parse(json);
}

const target = { queue: "demo" };

test("dead commands are listed newest first, in pages, with the reason, and without payloads and secrets", async () => {
  const webhook = {
    url: "https://user:pass@example.com/",
    secret: "hush",
    headers: { authorization: "hush" },
  };
  await send([
    { put: { key: "a", when: 7, target } },
    { put: { key: "b", when: "every 1h", target: { webhook }, payload: { n: 1 }, colour: "red" } },
    { pause: "c" },
  ]);
  const first = await list("limit=2");
  expect(first.items.map(({ key }) => key)).toEqual(["c", "b"]);
  const second = await list(`limit=2&cursor=${first.cursor}`);
  expect(second.items.map(({ key }) => key)).toEqual(["a"]);
  expect(second.cursor).toBeUndefined();
  const [missing, unknown] = first.items;
  expect(missing).toMatchObject({ error: { status: 404 }, command: { pause: "c" } });
  expect(unknown).toMatchObject({
    error: { status: 400, errors: expect.arrayContaining([expect.objectContaining({ path: "put.colour" })]) },
  });
  expect(JSON.stringify(first)).not.toMatch(/hush|user:pass|"payload"/);
  const alone = await api.send("GET", `/v1/commands/dead/${unknown?.id}`);
  expect(alone.json).toMatchObject({ command: { put: { key: "b", payload: { n: 1 } } } });
  expect(alone.body).not.toMatch(/hush|user:pass/);
  expect((await list("prefix=b")).items.map(({ key }) => key)).toEqual(["b"]);
});

test("a dead command whose cause was corrected is retried with its own id and time", async () => {
  await send([
    { put: { key: "mended", when: "every 1h", target, calendar: { name: "free" } } },
    { pause: "mended" },
  ]);
  const [pause, put] = (await list()).items;
  const retry = (id: string | undefined) => api.send("POST", `/v1/commands/dead/${id}/retry`);
  expect(await retry(put?.id)).toMatchObject({ status: 422 });
  expect((await list()).items).toHaveLength(2);
  await api.send("PUT", "/v1/calendars/free", { body: { dates: ["12-25"] } });
  expect(await retry(put?.id)).toMatchObject({ status: 200, json: { key: "mended", change: "created" } });
  expect(await retry(put?.id)).toMatchObject({ status: 404 });
  expect(await retry(pause?.id)).toMatchObject({ status: 200, json: { change: "changed" } });
  expect((await list()).items).toEqual([]);
  expect((await api.send("GET", "/v1/schedules/mended")).json).toMatchObject({ state: "paused" });
  const [audit] =
    await api.sql`select origin from carillon.audit where subject = 'mended' order by id limit 1`;
  expect(audit).toMatchObject({
    origin: { via: "queue", token: expect.any(String), ip: expect.any(String) },
  });
});

test("a retry of a dead command whose key has a newer command is passed over, and the dead command is deleted", async () => {
  await send({ put: { key: "old", when: "every 1h", target, calendar: { name: "none" } } });
  await api.send("PUT", "/v1/schedules/old", { body: { when: "every 2h", target } });
  await api.send("PUT", "/v1/calendars/none", { body: { dates: ["12-25"] } });
  const [dead] = (await list()).items;
  expect(await api.send("POST", `/v1/commands/dead/${dead?.id}/retry`)).toMatchObject({
    status: 200,
    json: { change: "passed-over" },
  });
  expect((await api.send("GET", "/v1/schedules/old")).json).toMatchObject({ when: "every 2h" });
});

test("a retry of a dead command whose time lies ahead is refused again, and leaves no mark of that time", async () => {
  await api.send("PUT", "/v1/schedules/ahead", { body: { when: "every 2h", target } });
  await send({ at: "2100-01-01T00:00:00Z", put: { key: "ahead", when: "every 1h", target } });
  const [dead] = (await list()).items;
  expect(await api.send("POST", `/v1/commands/dead/${dead?.id}/retry`)).toMatchObject({
    status: 400,
    json: { errors: [{ path: "at", message: expect.stringContaining("lies in the future") }] },
  });
  // With a mark of the year 2100, each later command of the key would be passed over for it.
  await send({ put: { key: "ahead", when: "every 3h", target } });
  expect((await api.send("GET", "/v1/schedules/ahead")).json).toMatchObject({ when: "every 3h" });
});

test("a token sees, retries and deletes the dead commands of its prefix only", async () => {
  await send([{ pause: "team:a" }, { pause: "other" }]);
  const [other, own] = (await list()).items;
  await api.sql`update carillon.tokens set prefix = 'team:' where name = 'adminer'`;
  try {
    expect((await list()).items.map(({ key }) => key)).toEqual(["team:a"]);
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/retry"],
      ["DELETE", ""],
    ] as const)
      expect(await api.send(method, `/v1/commands/dead/${other?.id}${path}`)).toMatchObject({ status: 404 });
    expect(await api.send("DELETE", `/v1/commands/dead/${own?.id}`)).toMatchObject({ status: 204 });
  } finally {
    await api.sql`update carillon.tokens set prefix = null`;
  }
  expect(await api.send("DELETE", "/v1/commands/dead/x")).toMatchObject({ status: 404 });
  expect(await api.send("GET", "/v1/commands/dead", { as: "write" })).toMatchObject({ status: 403 });
});
