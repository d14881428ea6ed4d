import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { type Issued, issueToken, withToken } from "../api/issued-token.ts";
import { type OwnApi, ownApi } from "../api/own-api.ts";
import { sendCommands } from "./send-commands.ts";

/** Refused commands of the queue, and the teams to which they are listed. */

let api: OwnApi;
let shop: Issued;
let bank: Issued;
beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  shop = await issueToken(api, { name: "shop", prefix: "shop:" });
  bank = await issueToken(api, { name: "bank", prefix: "bank:" });
});
afterAll(() => api.stop());
beforeEach(() => api.sql`delete from carillon.dead_commands`);

const page = z.object({
  items: z.array(z.object({ id: z.string(), key: z.string().nullable() })),
  cursor: z.string().optional(),
});
const listed = async (by?: Issued) =>
  page.parse((await api.send("GET", "/v1/commands/dead", withToken(by))).json).items;
const keys = async (by?: Issued) => (await listed(by)).map(({ key }) => key);
const free = { when: "every 1h", target: { queue: "demo" } };

test("A refused command of the queue has the key that its verb names, whatever its other members are", async () => {
  const commands = [
    { a: "bank:a", put: { key: "shop:1", ...free } },
    { a: { key: "bank:a" }, delete: "shop:2" },
    { a: "bank:a" },
    { pause: "bank:a", delete: "shop:4" },
    { put: ["bank:a"] },
    { put: { key: 7 } },
  ];
  for (const prefix of [null, "shop:"]) {
    await sendCommands(api, commands, prefix);
    expect((await keys()).toReversed()).toEqual(["shop:1", "shop:2", null, null, null, null]);
    expect(await keys(bank)).toEqual([]);
    expect(await keys(shop)).toEqual(["shop:2", "shop:1"]);
    await api.sql`delete from carillon.dead_commands`;
  }
});

test("A command of a team's queue for a key of another team is listed to callers of all keys only", async () => {
  await sendCommands(
    api,
    [{ put: { key: "bank:a", ...free } }, { patch: { key: "bank:b", colour: 1 } }],
    "shop:",
  );
  const [first] = await listed();
  expect(await keys()).toEqual(["bank:b", "bank:a"]);
  for (const team of [bank, shop]) {
    expect(await listed(team)).toEqual([]);
    expect((await api.send("GET", "/v1/problems", withToken(team))).json).toMatchObject({ problems: [] });
    const retry = await api.send("POST", `/v1/commands/dead/${first?.id}/retry`, withToken(team));
    expect(retry.status).toBe(404);
  }
});

test("A refused command of a queue of all keys is listed to the team of its key", async () => {
  await sendCommands(api, [{ put: { key: "bank:a", when: "no time", target: { queue: "demo" } } }]);
  expect(await keys(bank)).toEqual(["bank:a"]);
  expect(await keys(shop)).toEqual([]);
});

test("A page of a team's refused commands looks at 5,000 at most, and its cursor leads past those of other teams", async () => {
  const insert = (first: number, last: number, key: string) => api.sql`
    insert into carillon.dead_commands (message_id, place, key, refused_at, refusal)
    select n::text, 0, ${key}, carillon.clock(), '{"kind": "invalid", "message": "no"}' from generate_series(${first}::int, ${last}::int) n`;
  await insert(1, 3, "shop:old");
  await insert(4, 5_002, "bank:a");
  await insert(5_003, 5_003, "shop:new");
  const read = async (query: string) =>
    page.parse((await api.send("GET", "/v1/commands/dead", { ...withToken(shop), query })).json);
  const first = await read("limit=2");
  expect(first.items.map(({ key }) => key)).toEqual(["shop:new"]);
  const second = await read(`limit=2&cursor=${first.cursor}`);
  expect(second.items.map(({ key }) => key)).toEqual(["shop:old", "shop:old"]);
  const third = await read(`limit=2&cursor=${second.cursor}`);
  expect(third).toMatchObject({ items: [{ key: "shop:old" }] });
  expect(third.cursor).toBeUndefined();
});
