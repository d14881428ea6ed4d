import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;
let team: SendParts;

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  const { json } = await api.send("POST", "/v1/tokens", {
    body: { name: "team", scope: "read", prefix: "team:" },
  });
  team = { headers: { authorization: `Bearer ${(json as { token: string }).token}` } };
  for (const [key, group] of [
    ["b:2", "order:1"],
    ["b:1", "order:1"],
    ["team:1", "order:1"],
    ["a:1", "order:2"],
    ["team:2", "other"],
    ["none", null],
  ])
    await put(`${key}`, group);
});

afterAll(() => api.stop());

async function put(key: string, group: string | null | undefined): Promise<void> {
  const body = { when: "every 1d", target: { queue: "demo" }, group };
  expect((await api.send("PUT", `/v1/schedules/${key}`, { body })).status).toBe(201);
}

interface Listed {
  items: { group: string; schedules: number; moreSchedules: boolean; sample: string }[];
  cursor?: string;
}

async function list(query = "", parts: SendParts = {}): Promise<Listed> {
  const { status, json } = await api.send("GET", "/v1/groups", { query, ...parts });
  expect(status).toBe(200);
  return json as Listed;
}

test("The groups are listed by name, with the number of their schedules and the first key", async () => {
  expect(await list()).toEqual({
    items: [
      { group: "order:1", schedules: 3, moreSchedules: false, sample: "b:1" },
      { group: "order:2", schedules: 1, moreSchedules: false, sample: "a:1" },
      { group: "other", schedules: 1, moreSchedules: false, sample: "team:2" },
    ],
  });
  expect((await list("prefix=order:2")).items.map(({ group }) => group)).toEqual(["order:2"]);
});

test("A page of groups continues after its last name, and its cursor is refused with another filter", async () => {
  const first = await list("limit=1&prefix=or");
  expect(first.items.map(({ group }) => group)).toEqual(["order:1"]);
  const second = await list(`limit=1&prefix=or&cursor=${first.cursor}`);
  expect(second).toEqual({ items: [expect.objectContaining({ group: "order:2" })] });
  const other = await api.send("GET", "/v1/groups", { query: `cursor=${first.cursor}` });
  expect(other.json).toMatchObject({ errors: [{ path: "cursor" }] });
});

test("A token with a prefix sees the groups that have a schedule under it, and counts only these", async () => {
  expect(await list("", team)).toEqual({
    items: [
      { group: "order:1", schedules: 1, moreSchedules: false, sample: "team:1" },
      { group: "other", schedules: 1, moreSchedules: false, sample: "team:2" },
    ],
  });
  expect(await list("prefix=order:2", team)).toEqual({ items: [] });
});

test("A group leaves the list with its last schedule", async () => {
  await put("leaving", "short");
  expect((await list("prefix=short")).items).toHaveLength(1);
  await api.send("DELETE", "/v1/schedules/leaving");
  expect(await list("prefix=short")).toEqual({ items: [] });
});
