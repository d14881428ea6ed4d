import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { consumers, setAside } from "../../lib/quarantine/quarantine.ts";
import { at, minute } from "../support/instants.ts";
import { madeUpCursor, placeOf } from "./made-up-cursor.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;
const ids = new Map<string, string>();

beforeAll(async () => {
  api = await ownApi();
  api.betweenRequestsMs = 0;
  const hash = createHash("sha256").update("team-token").digest();
  await api.sql`
    insert into carillon.tokens (id, hash, name, scope, prefix, created_at, created_by)
    values (gen_random_uuid(), ${hash}, 'team', 'write', 'team:', carillon.clock(), 'test')`;
  for (const key of ["team:a", "other:a", "x:team:a"]) {
    const body = { when: "every 1d", target: { queue: "demo" } };
    const { json } = await api.send("PUT", `/v1/schedules/${key}`, { body });
    ids.set(key, (json as { id: string }).id);
  }
});

afterAll(() => api.stop());

beforeEach(async () => {
  await api.sql`delete from carillon.quarantine`;
  await api.clock.setNow(at(0));
});

const asTeam = { as: "", headers: { authorization: "Bearer team-token" } } as const;
const error = new TypeError("x is not a function");
const ofSchedule = (key: string) => {
  const scheduleId = ids.get(key) ?? "";
  return { item: scheduleId, scheduleId, error };
};

const page = z.object({
  items: z.array(z.looseObject({ consumer: z.string(), item: z.string(), key: z.string().nullable() })),
  cursor: z.string().optional(),
});

/** All entries, page by page. */
async function list(query = "limit=100", parts: SendParts = {}) {
  const items: z.infer<typeof page>["items"] = [];
  for (let cursor = ""; ; ) {
    const { json } = await api.send("GET", "/v1/quarantine", {
      ...parts,
      query: `${query}${cursor === "" ? "" : `&cursor=${cursor}`}`,
    });
    const read = page.parse(json);
    items.push(...read.items);
    if (read.cursor === undefined) return items;
    cursor = read.cursor;
  }
}

const keys = async (...parts: Parameters<typeof list>) => (await list(...parts)).map(({ key }) => key);

async function retry(filter: object, parts: SendParts = {}) {
  const { status, json } = await api.send("POST", "/v1/quarantine:retry", { ...parts, body: { filter } });
  expect(status).toBe(202);
  return z.object({ done: z.number(), cursor: z.string().optional() }).parse(json);
}

/** Items that their consumers skip until a later time. */
const waiting = async () => {
  const rows = await api.sql<{ item: string }[]>`
    select item from carillon.quarantine where next_at > carillon.clock() order by item`;
  return rows.map(({ item }) => item);
};

/** Adds entries without a schedule that sort before all others. */
const foreign = (count: number) => api.sql`
  insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at)
  select 'calendar-replan', to_char(n, 'FM00000'), 'no', carillon.clock(), carillon.clock(), 1, 'infinity'
  from generate_series(1, ${count}::int) n`;

describe("GET /v1/quarantine", () => {
  test("Each entry of the quarantine has its reason, the time of its first failure, and that of its next retry", async () => {
    await setAside(api.sql, "ended", [ofSchedule("team:a")]);
    await api.clock.advance(minute);
    await setAside(api.sql, "ended", [ofSchedule("team:a")]);
    expect(await list("", { as: "read" })).toEqual([
      {
        consumer: "ended",
        item: ids.get("team:a"),
        scheduleId: ids.get("team:a"),
        key: "team:a",
        reason: "TypeError: x is not a function",
        firstAt: at(0).toISOString(),
        lastAt: at(minute).toISOString(),
        tries: 2,
        nextAt: at(3 * minute).toISOString(),
      },
    ]);
  });

  test("Each entry of the quarantine is listed once over all pages of any size", async () => {
    await setAside(api.sql, "ended", [ofSchedule("team:a"), ofSchedule("other:a")]);
    await setAside(api.sql, "lease", [{ item: "p/1\n", error }]);
    await setAside(api.sql, "inbox", [{ item: "9", error }]);
    const all = await list();
    expect(all).toHaveLength(4);
    for (const limit of [1, 2, 3]) expect(await list(`limit=${limit}`), String(limit)).toEqual(all);
  });

  test("The quarantine is filtered by consumer, item, key and prefix", async () => {
    await setAside(api.sql, "ended", [ofSchedule("team:a"), ofSchedule("other:a")]);
    await setAside(api.sql, "follower", [ofSchedule("team:a")]);
    await setAside(api.sql, "lease", [{ item: "77", error }]);
    expect(await keys("consumer=follower")).toEqual(["team:a"]);
    expect(await keys("key=other:a")).toEqual(["other:a"]);
    expect(await keys("key=team:a")).toEqual(["team:a", "team:a"]);
    expect(await keys("key=team:a&consumer=ended")).toEqual(["team:a"]);
    expect(await keys("prefix=other")).toEqual(["other:a"]);
    expect(await keys("item=77")).toEqual([null]);
    expect(await keys("key=nothing")).toEqual([]);
  });

  test("Entries of the quarantine for a deleted schedule are found by its key", async () => {
    const body = { when: "every 1d", target: { queue: "demo" } };
    const { json } = await api.send("PUT", "/v1/schedules/gone", { body });
    const scheduleId = (json as { id: string }).id;
    await api.send("DELETE", "/v1/schedules/gone");
    await setAside(api.sql, "lease", [{ item: "77", scheduleId, error }]);
    expect(await keys("key=gone")).toEqual(["gone"]);
  });

  test("A token with a prefix sees entries of its own schedules only", async () => {
    await setAside(api.sql, "ended", [ofSchedule("team:a"), ofSchedule("other:a"), ofSchedule("x:team:a")]);
    await setAside(api.sql, "lease", [{ item: "77", error }]);
    expect(await keys("", asTeam)).toEqual(["team:a"]);
    expect(await keys("prefix=other:", asTeam)).toEqual([]);
    expect((await api.send("GET", "/v1/quarantine", { ...asTeam, query: "key=other:a" })).status).toBe(403);
  });

  test("A token with a prefix sees each of its entries once over all pages", async () => {
    const [own, other] = [ofSchedule("team:a"), ofSchedule("other:a")];
    for (const consumer of ["ended", "follower", "plan"] as const)
      await setAside(api.sql, consumer, [own, other]);
    const all = (await list("limit=100", asTeam)).map(({ consumer }) => consumer);
    expect(all).toEqual(["ended", "follower", "plan"]);
    for (const limit of [1, 2, 3])
      expect((await list(`limit=${limit}`, asTeam)).map(({ consumer }) => consumer)).toEqual(all);
  });

  test("A token with a prefix continues by cursor past thousands of entries that it does not reach", async () => {
    await foreign(5_001);
    await setAside(api.sql, "ended", [ofSchedule("team:a")]);
    const { json } = await api.send("GET", "/v1/quarantine", asTeam);
    expect(page.parse(json)).toEqual({ items: [], cursor: expect.any(String) });
    expect(await keys("", asTeam)).toEqual(["team:a"]);
  });

  test("A filter of the quarantine by an unknown consumer is refused with the list of known ones", async () => {
    const { status, json } = await api.send("GET", "/v1/quarantine", { query: "consumer=tick" });
    expect(status).toBe(400);
    expect(json).toMatchObject({
      errors: [{ path: "consumer", message: `takes one of ${consumers.join(", ")}` }],
    });
  });
});

describe("POST /v1/quarantine:retry", () => {
  test("A retry of the quarantine makes matching entries due, and no others", async () => {
    await setAside(api.sql, "ended", [ofSchedule("team:a"), ofSchedule("other:a")]);
    await setAside(api.sql, "lease", [{ item: "77", error }]);
    expect(await retry({ key: "team:a" })).toEqual({ done: 1 });
    expect(await waiting()).toEqual([ids.get("other:a"), "77"].toSorted());
    expect(await retry({ consumer: "lease", item: "77" })).toEqual({ done: 1 });
    expect(await waiting()).toEqual([ids.get("other:a")]);
    const { status, json } = await api.send("POST", "/v1/quarantine:retry", { as: "write" });
    expect([status, json]).toEqual([202, { done: 3 }]);
    expect(await waiting()).toEqual([]);
  });

  test("A retry of the quarantine keeps the number of attempts, and the time of an entry that is due already", async () => {
    await setAside(api.sql, "ended", [ofSchedule("team:a")]);
    await api.clock.advance(10 * minute);
    await retry({});
    expect(await list()).toMatchObject([{ tries: 1, nextAt: at(minute).toISOString() }]);
  });

  test("A retry of the quarantine skips an entry that its consumer is retrying now, without waiting for a lock", async () => {
    await setAside(api.sql, "ended", [ofSchedule("team:a"), ofSchedule("other:a")]);
    await api.sql.begin(async (tx) => {
      await tx`select from carillon.quarantine where item = ${ids.get("team:a") ?? ""} for update`;
      expect(await retry({})).toEqual({ done: 1 });
    });
    expect(await waiting()).toEqual([ids.get("team:a")]);
  });

  test("One request retries up to a thousand entries of the quarantine, and its cursor continues with the others", async () => {
    await foreign(1_001);
    const { done, cursor } = await retry({});
    expect(done).toBe(1_000);
    expect(await waiting()).toEqual(["01001"]);
    expect(await retry({}, { query: `cursor=${cursor}` })).toEqual({ done: 1 });
    expect(await waiting()).toEqual([]);
  });

  test("A token with a prefix retries entries of its own schedules only", async () => {
    await setAside(api.sql, "ended", [ofSchedule("team:a"), ofSchedule("other:a")]);
    await setAside(api.sql, "lease", [{ item: "77", error }]);
    expect(await retry({}, asTeam)).toEqual({ done: 1 });
    expect(await waiting()).toEqual([ids.get("other:a"), "77"].toSorted());
    for (const filter of [{ key: "other:a" }, { prefix: "other:" }]) {
      const refused = await api.send("POST", "/v1/quarantine:retry", { ...asTeam, body: { filter } });
      expect(refused.status).toBe(403);
    }
  });

  test("A retry of the quarantine needs the scope write", async () => {
    expect((await api.send("POST", "/v1/quarantine:retry", { as: "read" })).status).toBe(403);
  });
});

test("The quarantine refuses the cursor of another list or filter, and a forged one", async () => {
  await setAside(api.sql, "ended", [ofSchedule("team:a"), ofSchedule("other:a")]);
  const { json } = await api.send("GET", "/v1/quarantine", { query: "limit=1" });
  const { cursor = "" } = page.parse(json);
  const [list, place] = await placeOf(api, cursor);
  const forged = await madeUpCursor(api, list, `${place}\u0000`);
  for (const query of [`cursor=${cursor}&consumer=ended`, `cursor=${forged}`])
    expect((await api.send("GET", "/v1/quarantine", { query })).status, query).toBe(400);
  const other = await api.send("POST", "/v1/quarantine:retry", { query: `cursor=${cursor}` });
  expect(other.status).toBe(400);
});
