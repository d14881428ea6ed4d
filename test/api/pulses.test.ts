import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  const target = { queue: "demo", batch: 100 };
  const body = {
    when: "every 10s",
    delivery: "pulse",
    target,
    spread: "0s",
    group: "sensors",
    tags: ["poll"],
  };
  expect(await api.send("PUT", "/v1/schedules/poll", { body })).toMatchObject({
    status: 201,
    json: { delivery: "pulse", spread: "0s", target, state: "active", holds: [] },
  });
});
afterAll(() => api.stop());

const errorsOf = (json: unknown) =>
  typeof json === "object" && json !== null && "errors" in json ? json.errors : undefined;

describe("a pulse, over HTTP", () => {
  test("A pulse is listed, also in its group", async () => {
    for (const query of ["group=sensors", "tag=poll", "state=active", "target=queue", "prefix=po"])
      expect((await api.send("GET", "/v1/schedules", { query })).json).toMatchObject({
        items: [{ key: "poll", delivery: "pulse" }],
      });
    expect((await api.send("GET", "/v1/groups/sensors")).json).toMatchObject({
      schedules: [{ key: "poll" }],
    });
  });

  test("A pulse lists its coming occurrences, as a preview does", async () => {
    const { json } = await api.send("GET", "/v1/schedules/poll", {});
    const { json: next } = await api.send("GET", "/v1/schedules/poll/next", { query: "n=2" });
    expect(next).toMatchObject({ occurrences: [Reflect.get(Object(json), "nextAt"), expect.any(String)] });
    const preview = { when: "every 7s", delivery: "pulse", key: "a", n: 2 };
    const { status, json: told } = await api.send("POST", "/v1/preview", { body: preview });
    expect([status, Reflect.get(Object(told), "occurrences")]).toEqual([
      200,
      [expect.stringMatching(/:\d\d\.000Z$/), expect.stringMatching(/:\d\d\.000Z$/)],
    ]);
  });

  test("A fire that a caller requests makes a job of a pulse, and its cadence makes none", async () => {
    const fired = await api.send("POST", "/v1/schedules/poll/fire", {});
    expect(fired).toMatchObject({ status: 202, json: { kind: "manual", state: "waiting" } });
    const { json } = await api.send("GET", "/v1/schedules/poll/jobs", {});
    expect(json).toMatchObject({ items: [{ kind: "manual" }] });
  });

  test("A pulse cannot be backfilled", async () => {
    const now = api.clock.now();
    const body = { from: new Date(now.getTime() - 60_000).toISOString(), to: now.toISOString() };
    expect((await api.send("POST", "/v1/schedules/poll/backfill", { body })).status).toBe(422);
  });

  test.each(["cron(0 0 29 2 ? 2100-2199/4)", "at 2100-01-01T00:00:00Z"])(
    "A pulse is refused whose cadence is no interval, also %s, which can be read at a late time only",
    async (when) => {
      const body = { when: [when], delivery: "pulse", target: { queue: "demo" } };
      const put = { put: { key: "far", ...body } };
      const fault = { path: "when", message: expect.stringContaining("takes one interval") };
      expect(await api.send("PUT", "/v1/schedules/far", { body })).toMatchObject({
        status: 422,
        json: { errors: [fault] },
      });
      expect((await api.send("PATCH", "/v1/schedules/poll", { body: { when } })).status).toBe(422);
      expect((await api.send("POST", "/v1/preview", { body: { when, delivery: "pulse" } })).status).toBe(422);
      expect(
        (await api.send("POST", "/v1/schedules:batch", { body: { operations: [put] } })).json,
      ).toMatchObject({
        results: [{ status: 422 }],
      });
    },
  );

  test("A bad pulse in a batch fails only its operation", async () => {
    const pulse = { when: "every 10s", delivery: "pulse", target: { queue: "demo" } };
    const operations = [
      { put: { key: "one", ...pulse } },
      { put: { key: "two", ...pulse, overlap: "skip" } },
      { patch: { key: "one", payload: 1 } },
      { patch: { key: "one", target: { handler: "order-unshipped", queue: null } } },
    ];
    const { json } = await api.send("POST", "/v1/schedules:batch", { body: { operations } });
    expect(json).toMatchObject({
      results: [{ status: 201 }, { status: 422 }, { status: 200 }, { status: 422 }],
    });
    const [row] = await api.sql<{ rest: string }[]>`
      select p.rest from carillon.pulses p join carillon.schedules s on s.id = p.schedule_id where s.key = 'one'`;
    expect(row?.rest).toContain('"data":1');
  });

  test("A field that pulses do not allow is refused with its path", async () => {
    const body = { when: "@daily", delivery: "pulse", target: { lambda: "f" }, holdAfter: 3 };
    const { status, json } = await api.send("PUT", "/v1/schedules/never", { body });
    expect(status).toBe(422);
    expect(errorsOf(json)).toMatchObject([{ path: "holdAfter" }, { path: "when" }, { path: "target" }]);
  });
});
