import { afterAll, beforeAll, expect, test } from "vitest";
import { groupsLookedMax } from "../../lib/history/groups/list-groups.ts";
import { type Issued, issueToken, withToken } from "./issued-token.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;
let shop: Issued;
beforeAll(async () => {
  api = await ownApi();
  shop = await issueToken(api, { name: "shop", prefix: "shop:", scope: "write" });
});
afterAll(() => api.stop());

const target = { queue: "demo" };

const putOf = (key: string, group: string) => ({ put: { key, when: "every 1h", target, group } });

async function put(...operations: object[]): Promise<void> {
  const { status } = await api.send("POST", "/v1/schedules:batch", { body: { operations, atomic: true } });
  expect(status).toBe(200);
}

async function page(query: string, by?: Issued): Promise<{ status: number; cursor: string; body: string }> {
  const { status, json, body } = await api.send("GET", "/v1/groups", { ...withToken(by), query });
  return { status, cursor: String(Object(json).cursor), body };
}

test("The cursor of a page that ended at a group of another team does not name the group", async () => {
  const names = Array.from({ length: groupsLookedMax }, (_, n) => `acquisition-${n}`);
  for (let from = 0; from < names.length; from += 1_000)
    await put(...names.slice(from, from + 1_000).map((name) => putOf(`bank:${name}`, name)));
  await put(putOf("shop:a", "zebra"));
  const first = await page("limit=1", shop);
  expect(first).toMatchObject({ status: 200, cursor: expect.stringMatching(/^[\w-]{40,}$/) });
  expect(Buffer.from(first.cursor, "base64url").toString("latin1")).not.toContain("acquisition");
  expect((await page(`limit=1&cursor=${first.cursor}`, shop)).body).toContain("zebra");
});

test("The length of a cursor does not tell the length of the name at which the page ended", async () => {
  const ends = ["k", "k-and-thirty-further-characters"];
  const lengths: number[] = [];
  for (const end of ends) {
    await put(putOf(`shop:${end}`, end), putOf(`shop:${end}2`, `${end}2`));
    const { cursor } = await page(`limit=1&prefix=${end}`, shop);
    lengths.push(cursor.length);
  }
  expect(lengths[0]).toBeGreaterThan(80);
  expect(lengths[1]).toBe(lengths[0]);
});

test("A cursor that the caller made up or changed is refused", async () => {
  await put(putOf("shop:1", "one"), putOf("shop:2", "two"));
  const { cursor } = await page("limit=1&prefix=", shop);
  const madeUp = Buffer.from(JSON.stringify(["groups", "AAAAAAAA/acquisition"])).toString("base64url");
  const bytes = Buffer.from(cursor, "base64url");
  for (const at of [0, 12, 28, bytes.length - 1]) bytes[at] = (bytes[at] ?? 0) ^ 1;
  for (const wrong of [madeUp, bytes.toString("base64url"), `${cursor}=`, cursor.slice(1), "unknown", "x"]) {
    const { status, body } = await page(`limit=1&cursor=${encodeURIComponent(wrong)}`, shop);
    expect([status, body], wrong).toEqual([
      400,
      expect.stringContaining("is not a cursor that this list gave out"),
    ]);
  }
});

test("A cursor is of the callers of one prefix, and a repeated page has the same cursor", async () => {
  for (const name of ["one", "two"])
    expect((await api.send("PUT", `/v1/calendars/${name}`, { body: { weekly: ["sun"] } })).status).toBe(201);
  const calendars = async (query: string, by?: Issued) => {
    const { status, json } = await api.send("GET", "/v1/calendars", { ...withToken(by), query });
    return { status, cursor: String(Object(json).cursor) };
  };
  const { cursor } = await calendars("limit=1", shop);
  expect((await calendars("limit=1", shop)).cursor).toBe(cursor);
  expect((await calendars(`limit=1&cursor=${cursor}`, shop)).status).toBe(200);
  expect((await calendars(`limit=1&cursor=${cursor}`)).status).toBe(400);
});
