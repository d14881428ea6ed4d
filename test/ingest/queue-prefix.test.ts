import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "../api/own-api.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";
import { sendCommands } from "./send-commands.ts";

const target = { queue: "demo" };
const limit = 'reaches keys that begin with "evil:"';

describe("a command that is refused for the prefix of its queue", () => {
  let api: OwnApi;
  let team: string;
  let id: string;

  const asTeam = (method: string, path: string) =>
    api.send(method, path, { headers: { authorization: `Bearer ${team}` } });
  const payout = async () => (await api.send("GET", "/v1/schedules/good:payout")).json;
  const listed = async (query = "") => (await api.send("GET", "/v1/commands/dead", { query })).json;

  beforeAll(async () => {
    api = await ownApi();
    await api.tick();
    const body = { name: "team", scope: "admin", prefix: "good:" };
    team = ((await api.send("POST", "/v1/tokens", { body })).json as { token: string }).token;
    await api.send("PUT", "/v1/schedules/good:payout", { body: { when: "every 24h", target } });
    const at = new Date(api.clock.now().getTime() + 4 * 60_000).toISOString();
    await sendCommands(api, { at, patch: { key: "good:payout", target: { queue: "evil" } } }, "evil:");
    // Its other fault is found first, and may be gone by the time of a retry.
    await sendCommands(api, { put: { key: "good:new", when: 7, target } }, "evil:");
    const [row] = await api.sql<{ id: string }[]>`
      select id from carillon.dead_commands where key = 'good:payout'`;
    id = row?.id ?? "";
  });

  afterAll(() => api.stop());

  test("A retry of a command for a key beyond its queue is refused also for an admin of all keys", async () => {
    const before = await payout();
    expect(await api.send("POST", `/v1/commands/dead/${id}/retry`)).toMatchObject({
      status: 422,
      json: { detail: expect.stringContaining(limit) },
    });
    expect(await payout()).toEqual(before);
    expect(await listed()).toMatchObject({ items: [{ key: "good:new" }, { key: "good:payout" }] });
  });

  test("A command for a key beyond its queue is shown with the queue's prefix to tokens for all keys", async () => {
    expect(await listed("prefix=good:")).toMatchObject({
      items: [
        { key: "good:new", queuePrefix: "evil:" },
        { key: "good:payout", queuePrefix: "evil:", error: { detail: expect.stringContaining(limit) } },
      ],
    });
    expect((await api.send("GET", `/v1/commands/dead/${id}`)).json).toMatchObject({ queuePrefix: "evil:" });
  });

  test("A command for a key beyond its queue is not listed, read, retried or deleted by the team of that key", async () => {
    expect((await asTeam("GET", "/v1/commands/dead")).json).toEqual({ items: [] });
    const one = `/v1/commands/dead/${id}`;
    expect((await asTeam("GET", one)).status).toBe(404);
    expect((await asTeam("POST", `${one}/retry`)).status).toBe(404);
    expect((await asTeam("DELETE", one)).status).toBe(404);
    expect((await asTeam("GET", "/v1/problems")).json).toMatchObject({ problems: [] });
    expect((await api.send("GET", "/v1/problems")).json).toMatchObject({
      problems: expect.arrayContaining([expect.objectContaining({ kind: "dead-commands" })]),
    });
  });

  test("The limit of the queue holds for the key in the command itself, also if the recorded key is unknown", async () => {
    const command = { put: { key: "good:hidden", when: "every 1h", target } };
    const [row] = await api.sql<{ id: string }[]>`
      insert into carillon.dead_commands (message_id, place, command_id, at, queue_prefix, refused_at, refusal, command)
      values ('m', 0, 'c', carillon.clock(), 'evil:', carillon.clock(), '{"kind":"invalid","message":"no"}', ${api.sql.json(command)})
      returning id`;
    const answer = await api.send("POST", `/v1/commands/dead/${row?.id}/retry`);
    expect(answer).toMatchObject({ status: 403, json: { detail: expect.stringContaining(limit) } });
    expect((await api.send("GET", "/v1/schedules/good:hidden")).status).toBe(404);
  });

  test("A command for a key of its queue is listed to that team and retried once its cause is gone", async () => {
    const calendar = { name: "free" };
    await sendCommands(api, { put: { key: "good:own", when: "every 1h", target, calendar } }, "good:");
    const { items } = (await asTeam("GET", "/v1/commands/dead")).json as { items: { id: string }[] };
    expect(items).toMatchObject([{ key: "good:own", queuePrefix: "good:" }]);
    await api.send("PUT", "/v1/calendars/free", { body: { dates: ["12-25"] } });
    expect(await asTeam("POST", `/v1/commands/dead/${items[0]?.id}/retry`)).toMatchObject({
      status: 200,
      json: { key: "good:own", change: "created" },
    });
  });
});

describe("the dead-letter queue of a queue with a prefix", () => {
  let world: IngestWorld;

  beforeAll(async () => {
    world = await ingestWorld();
    world.deps.prefix = "evil:";
  });

  afterAll(() => world.stop());

  test("A dead letter that is moved back to the queue is refused again for the prefix of the queue", async () => {
    await world.command({ put: { key: "good:a", when: "every 1h", target } });
    const [letter] = await world.deadLetters(1);
    expect(letter?.attributes).toMatchObject({ reason: "forbidden", key: "good:a" });
    expect(await world.ingest([{ body: letter?.body }])).toEqual([]);
    const sql = world.carillon.sql;
    expect(await sql`select from carillon.schedules`).toHaveLength(0);
    expect(
      await sql`select key, queue_prefix, refusal->>'message' as message from carillon.dead_commands`,
    ).toEqual(
      Array(2).fill({ key: "good:a", queue_prefix: "evil:", message: expect.stringContaining(limit) }),
    );
  });
});
