import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { at, hour, minute } from "../support/instants.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  const hash = createHash("sha256").update("team-token").digest();
  await api.sql`
    insert into carillon.tokens (id, hash, name, scope, prefix, created_at, created_by)
    values (gen_random_uuid(), ${hash}, 'team', 'read', 'team:', carillon.clock(), 'test')`;
  for (let index = 0; index < 5; index++) await note("tick", index * hour, 6 * minute);
  await note("slow-workers", 2 * hour + minute, 8 * hour);
  await note("fast-workers", 4 * hour + minute, null);
});

afterAll(() => api.stop());

async function note(what: string, fromMs: number, lastedMs: number | null): Promise<void> {
  const to = lastedMs === null ? null : at(fromMs + lastedMs);
  await api.sql`
    insert into carillon.outages (what, from_at, to_at, noted_at) values (${what}, ${at(fromMs)}, ${to}, ${to ?? at(fromMs + minute)})`;
}

const page = z.object({
  items: z.array(z.looseObject({ what: z.string(), from: z.string(), to: z.string().nullable() })),
  cursor: z.string().optional(),
});

const seeShape = z.object({ path: z.string(), query: z.record(z.string(), z.string()) });

/** The outages of all pages, each with the hour in which it began. */
async function list(query = "", parts: SendParts = {}): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const more = cursor === "" ? "" : `&cursor=${cursor}`;
    const { status, json } = await api.send("GET", "/v1/outages", { ...parts, query: `${query}${more}` });
    expect(status).toBe(200);
    const { items, cursor: next } = page.parse(json);
    found.push(
      ...items.map(({ what, from }) => `${what} ${Math.floor((Date.parse(from) - at(0).getTime()) / hour)}`),
    );
    cursor = next;
  }
  return found;
}

const all = ["fast-workers 4", "tick 4", "tick 3", "slow-workers 2", "tick 2", "tick 1", "tick 0"];

describe("GET /v1/outages", () => {
  test("lists outages newest first, and every page goes on where the one before ended", async () => {
    expect(await list()).toEqual(all);
    for (const limit of [1, 2, 3]) expect(await list(`limit=${limit}`)).toEqual(all);
  });

  test("each outage names the request and the command that list the jobs that it delayed", async () => {
    const { json } = await api.send("GET", "/v1/outages", {
      query: `from=${at(4 * hour + minute).toISOString()}`,
    });
    const [lasting, over] = z
      .object({ items: z.array(z.object({ see: seeShape, command: z.string() })) })
      .parse(json).items;
    const from = at(4 * hour + minute).toISOString();
    expect(lasting).toEqual({
      see: { path: "/v1/jobs", query: { from, lateBy: "1s" } },
      command: `carillon jobs --late-by 1s --from ${from}`,
    });
    const { path, query } = over?.see ?? { path: "", query: {} };
    expect(query["to"]).toBe(at(4 * hour + 6 * minute).toISOString());
    const listed = await api.send("GET", path, { query: new URLSearchParams(query).toString() });
    expect(listed.status).toBe(200);
  });

  test("a time range keeps an outage that began before it and was not over", async () => {
    const range = `from=${at(3 * hour + 10 * minute).toISOString()}&to=${at(4 * hour + minute).toISOString()}`;
    expect(await list(range)).toEqual(["tick 4", "slow-workers 2"]);
    expect(await list(`${range}&limit=1`)).toEqual(["tick 4", "slow-workers 2"]);
    expect(await list(`from=${at(20 * hour).toISOString()}`)).toEqual(["fast-workers 4"]);
  });

  test("a token with a prefix reads all of them, since they name no keys", async () => {
    expect(await list("", { as: "", headers: { authorization: "Bearer team-token" } })).toEqual(all);
  });

  test("unknown fields and wrong instants are refused, all at once", async () => {
    const { status, json } = await api.send("GET", "/v1/outages", {
      query: "from=yesterday&what=tick&cursor=x",
    });
    expect(status).toBe(400);
    expect(JSON.stringify(json)).toMatch(/from.*what|what.*from/s);
  });
});
