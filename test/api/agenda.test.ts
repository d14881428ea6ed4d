import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { minute } from "../support/instants.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

const get = (path: string, query = "") => api.send("GET", path, { query, as: "read" });

beforeAll(async () => {
  api = await ownApi();
  api.betweenRequestsMs = 0;
  await api.tick();
  const target = { queue: "demo" };
  for (const [key, when] of [
    ["a", "*/30 * * * *"],
    ["b", "0 12 * * *"],
  ])
    await api.send("PUT", `/v1/schedules/${key}`, { body: { target, when } });
});

afterAll(() => api.stop());

const noon = "from=2026-03-02T11:30:00Z&to=2026-03-02T12:30:00Z";

function faultsIn(json: unknown): string[] {
  if (typeof json !== "object" || json === null || !("errors" in json) || !Array.isArray(json.errors))
    return [];
  return json.errors.map(({ path }: { path: string }) => path).sort();
}

describe("GET /v1/occurrences", () => {
  test("A window is listed page by page, with its wall times in the requested zone", async () => {
    const first = await get("/v1/occurrences", `${noon}&timezone=europe/berlin&limit=2`);
    expect(first).toMatchObject({
      status: 200,
      json: {
        timezone: "Europe/Berlin",
        items: [
          { key: "a", occurrence: "2026-03-02T11:30:00.000Z", wall: "2026-03-02T12:30:00+01:00" },
          { key: "a", occurrence: "2026-03-02T12:00:00.000Z", outcome: "planned", job: null },
        ],
        cursor: expect.any(String),
      },
    });
    const { cursor } = first.json as { cursor: string };
    const second = await get("/v1/occurrences", `${noon}&timezone=europe/berlin&limit=2&cursor=${cursor}`);
    expect(second.json).toMatchObject({ items: [{ key: "b", occurrence: "2026-03-02T12:00:00.000Z" }] });
  });

  test("A held occurrence names the holds that it is due under, with owner, reason and end, and is listed by its outcome", async () => {
    const body = { target: { queue: "demo" }, when: "0 * * * *", group: "crew" };
    await api.send("PUT", "/v1/schedules/held", { body });
    const until = "2026-03-02T12:30:00.000Z";
    await api.send("POST", "/v1/schedules/held/pause", { body: { owner: "ann", reason: "stock", until } });
    await api.send("POST", "/v1/groups/crew/pause", {
      body: { owner: "bob", until: "2026-03-02T13:30:00Z" },
    });
    const { json } = await get(
      "/v1/occurrences",
      "from=2026-03-02T12:00:00Z&to=2026-03-02T14:30:00Z&prefix=held",
    );
    const since = expect.any(String);
    const ann = { owner: "ann", reason: "stock", since, until };
    const bob = { owner: "bob", reason: null, since, until: "2026-03-02T13:30:00.000Z", group: "crew" };
    const items = (json as { items: { outcome: string; heldBy?: unknown }[] }).items;
    expect(items.map(({ outcome, heldBy }) => [outcome, heldBy])).toEqual([
      ["held", [bob, ann]],
      ["held", [bob]],
      ["planned", undefined],
    ]);
    const query = "from=2026-03-02T12:00:00Z&to=2026-03-02T14:30:00Z&prefix=held&outcome=";
    const planned = await get("/v1/occurrences", `${query}planned`);
    expect(planned.json).toMatchObject({ items: [{ occurrence: "2026-03-02T14:00:00.000Z" }] });
    const held = await get("/v1/occurrences", `${query}held&limit=1`);
    expect(held.json).toMatchObject({ items: [{ occurrence: "2026-03-02T12:00:00.000Z", outcome: "held" }] });
    const { cursor } = held.json as { cursor: string };
    const other = await get("/v1/occurrences", `${query}planned&limit=1&cursor=${cursor}`);
    expect([other.status, faultsIn(other.json)]).toEqual([400, ["cursor"]]);
    await api.send("DELETE", "/v1/schedules/held");
  });

  test("A cursor is refused with another window", async () => {
    const { json } = await get("/v1/occurrences", `${noon}&limit=1`);
    const { cursor } = json as { cursor: string };
    const other = "from=2026-03-02T11:30:00Z&to=2026-03-02T12:31:00Z";
    const answer = await get("/v1/occurrences", `${other}&limit=1&cursor=${cursor}`);
    expect([answer.status, faultsIn(answer.json)]).toEqual([400, ["cursor"]]);
  });

  test.each([
    ["", ["from", "to"]],
    ["from=now&to=2026-03-02&timezone=Mars&target=x&more=1", ["from", "more", "target", "timezone", "to"]],
    ["from=2026-03-02T12:00:00Z&to=2026-03-02T12:00:00Z", ["to"]],
    ["from=2026-03-02T12:00:00Z&to=2026-03-02T13:00:00Z&outcome=moved", ["outcome"]],
    ["from=2026-03-02T12:00:00Z&to=2026-03-02T13:00:00Z&rule=7", ["rule"]],
    ["from=2026-03-02T12:00:00Z&to=2026-05-02T12:00:00Z", ["to"]],
  ])("All faults of a window are named at once (%s)", async (query, paths) => {
    const { status, json } = await get("/v1/occurrences", query);
    expect([status, faultsIn(json)]).toEqual([400, paths]);
  });

  test("The rule of a count lists and counts the occurrences of this cadence alone", async () => {
    const { json } = await get("/v1/occurrences:count", noon);
    const { items } = json as { items: { rule: string; occurrences: number }[] };
    for (const { rule, occurrences } of items) {
      const query = `${noon}&rule=${rule}`;
      expect((await get("/v1/occurrences:count", query)).json).toMatchObject({ cadences: 1, occurrences });
      const listed = (await get("/v1/occurrences", query)).json as { items: object[] };
      expect(listed.items).toHaveLength(occurrences);
    }
  });

  test("Occurrences are counted by cadence", async () => {
    expect(await get("/v1/occurrences:count", noon)).toMatchObject({
      status: 200,
      json: {
        occurrences: 3,
        leftOut: 0,
        cadences: 2,
        exact: true,
        items: [
          { when: "*/30 * * * *", timezone: "UTC", calendar: null, schedules: 1, occurrences: 2 },
          { when: "0 12 * * *", timezone: "UTC", schedules: 1, occurrences: 1 },
        ],
      },
    });
  });
});

describe("GET /v1/schedules/{key}/occurrences", () => {
  test("Without a window the strip has the last day; each occurrence has its sentence", async () => {
    await api.clock.advance(31 * minute);
    await api.tick();
    const { status, json } = await get("/v1/schedules/a/occurrences");
    expect(status).toBe(200);
    expect(json).toMatchObject({
      key: "a",
      deleted: null,
      items: [{ occurrence: "2026-03-02T10:30:00.000Z", outcome: "waiting", sentence: expect.any(String) }],
    });
  });

  test("A strip without an end continues up to the instant of its first page", async () => {
    const window = "from=2026-03-02T10:00:00Z&to=2026-03-02T13:00:00Z&limit=2";
    const { json } = await get("/v1/schedules/a/occurrences", window);
    const { cursor } = json as { cursor: string };
    const second = await get("/v1/schedules/a/occurrences", `${window}&cursor=${cursor}`);
    expect(second.json).toMatchObject({
      items: [{ occurrence: "2026-03-02T11:30:00.000Z" }, { occurrence: "2026-03-02T12:00:00.000Z" }],
    });
  });

  test("A strip of a key that no schedule has or had is missing; a window may not be too long", async () => {
    expect((await get("/v1/schedules/none/occurrences")).status).toBe(404);
    const from = "from=2026-01-02T10:00:00Z";
    const long = await get("/v1/schedules/a/occurrences", from);
    expect([long.status, faultsIn(long.json)]).toEqual([400, ["from"]]);
    const given = await get("/v1/schedules/a/occurrences", `${from}&to=2026-03-02T10:00:00Z`);
    expect([given.status, faultsIn(given.json)]).toEqual([400, ["to"]]);
  });
});

describe("POST /v1/occurrences:last", () => {
  test("The last occurrences of many keys come in the order of the keys", async () => {
    const body = { keys: ["b", "a", "none"], n: 5 };
    expect(await api.send("POST", "/v1/occurrences:last", { body, as: "read" })).toMatchObject({
      status: 200,
      json: {
        items: [
          { key: "b", runs: [] },
          { key: "a", runs: [{ occurrence: "2026-03-02T10:30:00.000Z", outcome: "waiting" }] },
          { key: "none", scheduleId: null, runs: [] },
        ],
      },
    });
  });

  test("More than 100 keys, or more than 20 occurrences of each, are refused", async () => {
    const body = { keys: Array.from({ length: 101 }, (_, n) => `k${n}`), n: 21 };
    const { status, json } = await api.send("POST", "/v1/occurrences:last", { body });
    expect([status, faultsIn(json)]).toEqual([400, ["keys", "n"]]);
  });
});
