import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seriesAnswer } from "../../lib/api/views/series-shape.ts";
import { minute, monday } from "../support/instants.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;
let team: { authorization: string };

beforeAll(async () => {
  api = await ownApi();
  api.betweenRequestsMs = 0;
  await api.tick();
  const body = { when: "30 * * * *", target: { queue: "demo" }, tags: ["t"] };
  for (const key of ["ours:a", "theirs:a"]) await api.send("PUT", `/v1/schedules/${key}`, { body });
  await api.send("POST", "/v1/schedules/ours:a/fire");
  await api.send("POST", "/v1/schedules/theirs:a/fire");
  await api.send("POST", "/v1/schedules/theirs:a/fire");
  const made = await api.send("POST", "/v1/tokens", {
    body: { name: "team", scope: "read", prefix: "ours:" },
  });
  team = { authorization: `Bearer ${(made.json as { token: string }).token}` };
  await api.clock.advance(3 * minute);
});

afterAll(() => api.stop());

const series = (query: string, headers?: Record<string, string>) =>
  api.send("GET", "/v1/series", headers === undefined ? { as: "read", query } : { as: "", query, headers });

const madeIn = (json: unknown) => seriesAnswer.parse(json).items.reduce((sum, { made }) => sum + made, 0);

describe("GET /v1/series", () => {
  test("The series covers the last hour by default, newest first, with all jobs", async () => {
    const { status, json } = await series("");
    expect(status).toBe(200);
    const { items, minutesOf, asOf, cursor } = seriesAnswer.parse(json);
    expect([items.length, minutesOf, cursor]).toEqual([60, "settled", expect.any(String)]);
    expect(items[0]).toMatchObject({ at: asOf, over: false });
    expect(madeIn(json)).toBe(3);
  });

  test("The filters select jobs by their schedule, and each job counts at its occurrence", async () => {
    for (const [query, made] of [
      ["prefix=ours:", 1],
      ["prefix=theirs:", 2],
      ["tag=t", 3],
      ["target=queue", 3],
      ["key=theirs:a", 2],
      ["group=none", 0],
    ] as const) {
      const { json } = await series(query);
      expect([query, madeIn(json)]).toEqual([query, made]);
      expect(json).toMatchObject({ minutesOf: "occurrence" });
    }
  });

  test("A token with a prefix gets its own jobs alone, whatever it asks for", async () => {
    for (const query of ["", "tag=t", "target=queue", "prefix=ours:", "prefix=o"])
      expect(madeIn((await series(query, team)).json)).toBe(1);
    for (const query of ["prefix=theirs:", "key=theirs:a"])
      expect(await series(query, team)).toMatchObject({ status: 403 });
  });

  test("A cursor continues the series, and is refused with another filter or step", async () => {
    const first = await series("limit=2&tag=t&from=2026-03-02T09:58:00Z");
    const { cursor = "" } = seriesAnswer.parse(first.json);
    const second = await series(`limit=2&tag=t&from=2026-03-02T09:58:00Z&cursor=${cursor}`);
    const at = [first, second].flatMap(({ json }) => seriesAnswer.parse(json).items.map((item) => item.at));
    expect(at).toEqual([3, 2, 1, 0].map((n) => new Date(Date.parse(monday) + n * minute).toISOString()));
    for (const query of ["tag=t&step=5m", "prefix=ours:"])
      expect(await series(`${query}&cursor=${cursor}`)).toMatchObject({ status: 400 });
  });

  test("All faults of the query are named at once", async () => {
    const { status, json } = await series("step=2m&limit=1441&from=yesterday&colour=red");
    expect(status).toBe(400);
    const { errors } = json as { errors: { path: string }[] };
    expect(errors.map(({ path }) => path).toSorted()).toEqual(["colour", "from", "limit", "step"]);
    expect(await series("from=2026-03-02T10:00:00Z&to=2026-03-02T10:00:00Z")).toMatchObject({
      status: 400,
      json: { errors: [{ path: "to", message: "must lie after `from`" }] },
    });
  });
});
