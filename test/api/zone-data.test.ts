import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  await api.sql`truncate carillon.zone_data, carillon.zone_updates, carillon.zone_moves`;
});

afterAll(() => api.stop());

const runtime = process.versions["tz"];

describe("time zone data", () => {
  test("The release is null until the first tick, and then that of the tick's runtime", async () => {
    expect(await api.send("GET", "/v1/zone-data", { as: "read" })).toMatchObject({
      status: 200,
      json: { version: null, runtime, updates: [] },
    });
    await api.tick();
    const { json } = await api.send("GET", "/v1/zone-data", { as: "read" });
    expect(json).toEqual({
      version: runtime,
      runtime,
      updates: [
        {
          version: runtime,
          from: null,
          startedAt: expect.stringMatching(/Z$/),
          finishedAt: expect.stringMatching(/Z$/),
          zones: [],
          checked: 0,
          moved: 0,
        },
      ],
    });
  });

  test("Moved schedules are listed in pages, newest first", async () => {
    await api.sql`
      with made as (
        insert into carillon.zone_updates (version, from_versions, zones, started_at)
        values ('2999b', '{2999a}', '{Europe/Berlin}', carillon.clock()) returning id
      )
      insert into carillon.zone_moves (update_id, schedule_id, key, timezone, before, after)
      select id, g, 'k' || g, 'Europe/Berlin', array['2999-01-01T08:00Z'::timestamptz], array['2999-01-01T09:00Z'::timestamptz]
      from made, generate_series(1, 3) g order by g`;
    const first = await api.send("GET", "/v1/zone-data/2999b/moves", { query: "limit=2" });
    expect(first).toMatchObject({
      status: 200,
      json: {
        items: [
          {
            key: "k3",
            timezone: "Europe/Berlin",
            before: ["2999-01-01T08:00:00.000Z"],
            after: ["2999-01-01T09:00:00.000Z"],
          },
          { key: "k2" },
        ],
        kept: 10_000,
      },
    });
    const { cursor } = first.json as { cursor: string };
    const rest = await api.send("GET", "/v1/zone-data/2999b/moves", { query: `limit=2&cursor=${cursor}` });
    expect(rest.json).toMatchObject({ items: [{ key: "k1" }] });
    expect(rest.json).not.toHaveProperty("cursor");
  });

  test("A release that was never in force answers 404, and cursors of other lists are refused", async () => {
    expect(await api.send("GET", "/v1/zone-data/1999a/moves")).toMatchObject({ status: 404 });
    expect(await api.send("GET", "/v1/zone-data/2999b/moves", { query: "cursor=abc" })).toMatchObject({
      status: 400,
    });
    expect(await api.send("GET", "/v1/zone-data", { as: "" })).toMatchObject({ status: 401 });
  });
});
